"""Renders a chat as Markdown, for reading and for export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentchat.core.messages import History, Message, Reply, ToolResult, UserText

LONGEST_RESULT = 200
"""Lines of a result that are rendered."""


def render_markdown(history: History, title: str = "") -> list[str]:
    """Return the lines of a chat: what was said, with each call and its result in a fence.

    Args:
        title: the heading; without one there is none.
    """
    lines = [f"# {title}", ""] if title else []
    before: Message | None = None
    for message in history.messages:
        paragraphs = list(_paragraphs(message, before))
        before = message if paragraphs else before
        for paragraph in paragraphs:
            lines += [*paragraph.rstrip().split("\n"), ""]
    return lines


def _paragraphs(message: Message, before: Message | None) -> Iterator[str]:
    if isinstance(message, UserText):
        yield "## You"
        yield message.display_text or message.text
    elif isinstance(message, Reply):
        if not isinstance(before, Reply | ToolResult):  # the rounds of a turn share a header
            yield "## Agent"
        if message.text.strip():
            yield message.text.strip()
        for call in message.calls:
            yield f"**{call.name}**\n\n{_fence([call.arguments], 'json')}"
        if message.error:
            yield f"> {message.error}"
    elif isinstance(message, ToolResult):
        lines = message.text.split("\n")
        if len(lines) > LONGEST_RESULT:
            left_out = len(lines) - LONGEST_RESULT
            lines = [*lines[:LONGEST_RESULT], f"[{left_out} more lines]"]
        yield f"Result of {message.name}: {message.status.value}\n\n{_fence(lines)}"


def _fence(lines: Iterable[str], language: str = "") -> str:
    """Return lines as a code block: its fence is longer than any in them."""
    text = "\n".join(lines)
    longest = max(map(len, re.findall(r"^ *(`{3,})", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
