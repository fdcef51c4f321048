"""Mentions in a prompt: ``@tool``, ``@group``, and context like ``#buffer`` or ``#file:PATH``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentchat.core.messages import Image, UserText
from agentchat.core.tools.toolset import Toolset

MENTION = re.compile(r"(?<![\w@])@(?:\{(?P<braced>[\w.-]+)\}|(?P<bare>\w(?:[\w.-]*\w)?))")


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """What the model reads, and the tools and groups that were named."""

    text: str
    names: tuple[str, ...]


def read_mentions(text: str, toolbox: Toolset) -> ParsedPrompt:
    """Replace mentions of known tools and groups by words; unknown ones stay plain text."""
    names: list[str] = []

    def words(match: re.Match[str]) -> str:
        name = match["braced"] or match["bare"]
        if not toolbox.can_be_mentioned(name):
            return match[0]
        names.append(name)
        group = toolbox.group(name)
        if group is None:
            return f"the {name} tool"
        return group.prompt or f"the {name} tools"

    return ParsedPrompt(MENTION.sub(words, text), tuple(dict.fromkeys(names)))


CONTEXT_MENTION = re.compile(
    r"(?<![\w#])#(?:file:(?:\{(?P<braced>[^{}\n]+)\}|(?P<bare>[^\s{}]+))"
    r"|(?:buffer(?::\d+)?|selection|diagnostics|diff)(?![\w:-]))"
)
_AFTER_A_PATH = ".,;:!?)]'\""
"""What ends a sentence rather than a path."""


@dataclass(frozen=True, slots=True)
class ContextMention:
    """One mention as it was typed; ``path`` is that of a ``#file``."""

    mention: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class CapturedContext:
    """What the editor had when a mention was sent.

    ``path`` is a file whose text is read; without one, ``text`` is all there is. ``problem``
    says why there is nothing.
    """

    name: str = ""
    path: str = ""
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What a mention stands for: ``name`` replaces it in the sentence, the rest goes below."""

    name: str
    text: str = ""
    images: tuple[Image, ...] = ()


def context_mentions(text: str) -> tuple[ContextMention, ...]:
    """Return the context mentions of a text, each once, in order."""
    return tuple(dict.fromkeys(one for _, _, one in _iter_mentions(text)))


def add_attachments(message: UserText, given: Mapping[str, Attachment]) -> UserText:
    """Return the message with its attachments below it; mentions without one stay as typed."""
    if not given:
        return message
    pieces, end = [], 0
    for start, stop, one in _iter_mentions(message.text):
        attachment = given.get(one.mention)
        if attachment is not None:
            pieces += [message.text[end:start], attachment.name]
            end = stop
    said = "".join([*pieces, message.text[end:]])
    blocks = [_block(one) for one in given.values()]
    images = tuple(image for one in given.values() for image in one.images)
    return UserText("\n\n".join([said, *blocks]), message.display_text, message.images + images)


def _iter_mentions(text: str) -> Iterator[tuple[int, int, ContextMention]]:
    """Yield where each mention begins and ends."""
    for match in CONTEXT_MENTION.finditer(text):
        if match["bare"] is None:
            yield match.start(), match.end(), ContextMention(match[0], match["braced"] or "")
            continue
        path = match["bare"].rstrip(_AFTER_A_PATH)
        if path:
            end = match.start("bare") + len(path)
            yield match.start(), end, ContextMention(text[match.start() : end], path)


def _block(one: Attachment) -> str:
    """Return an attachment between tags that nothing inside it can close."""
    tag = "context"
    while f"</{tag}>" in one.text:
        tag += "_"
    return f'<{tag} name="{one.name}">\n{one.text.rstrip()}\n</{tag}>'
