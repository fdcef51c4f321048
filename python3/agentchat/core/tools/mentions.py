"""Mentions in a prompt: ``@tool``, ``@group``, and context like ``#buffer`` or ``#file:PATH``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from agentchat.core.frozen import frozen
from agentchat.core.messages import Image, UserText
from agentchat.core.tools.toolset import Toolset

MENTION = re.compile(r"(?<![\w@])@(?:\{(?P<braced>[\w.-]+)\}|(?P<bare>\w(?:[\w.-]*\w)?))")


@frozen
class ParsedPrompt:
    """The text for the model, and the tools and groups that it mentions."""

    text: str
    names: tuple[str, ...]


def mentioned_names(text: str) -> tuple[str, ...]:
    """Return every word of a text that would mention a tool or group of this name."""
    return tuple(match["braced"] or match["bare"] for match in MENTION.finditer(text))


def read_mentions(text: str, toolset: Toolset) -> ParsedPrompt:
    """Replace mentions of known tools and groups by their description; others stay plain text."""
    names: list[str] = []

    def description(match: re.Match[str]) -> str:
        name = match["braced"] or match["bare"]
        if not toolset.can_be_mentioned(name):
            return match[0]
        names.append(name)
        group = toolset.group(name)
        if group is None:
            return f"the {name} tool"
        return group.prompt or f"the {name} tools"

    return ParsedPrompt(MENTION.sub(description, text), tuple(dict.fromkeys(names)))


CONTEXT_MENTION = re.compile(
    r"(?<![\w#])#(?:(?P<kind>file|dir|symbol|url|[\w.-]+(?=:[A-Za-z][\w+.-]*:)):(?:\{(?P<braced>[^{}\n]+)\}|(?P<bare>[^\s{}]+))"
    r"|(?:buffer(?::\d+)?|selection|diagnostics|diff)(?![\w:-]))"
)
_AFTER_A_VALUE = ".,;:!?)]'\""
"""Characters at the end of a mention that belong to the sentence, not to the path."""
_LINES = re.compile(r"(?P<path>.+):(?P<first>[1-9]\d*)(?:-(?P<last>[1-9]\d*))?\Z")


@frozen
class ContextMention:
    """One mention as typed; ``kind`` and ``value`` are those of ``#file:PATH`` and the like.

    A kind that is not known is the name of a server, and the value the URI of its resource.
    """

    mention: str
    kind: str = ""
    value: str = ""

    def file_range(self) -> tuple[str, int, int]:
        """Return path, first and last line of ``#file:PATH:10-40``; 0 and 0 for a whole file."""
        match = _LINES.match(self.value)
        if match is None:
            return self.value, 0, 0
        first = int(match["first"])
        return match["path"], first, int(match["last"] or first)


@frozen
class CapturedContext:
    """The editor's answer to a mention, captured when the prompt was sent.

    ``path`` is a file to read; without one, ``text`` is the context. ``problem`` says why there
    is none.
    """

    name: str = ""
    path: str = ""
    text: str = ""
    problem: str = ""


@frozen
class Attachment:
    """The context of a mention: ``name`` replaces the mention, the rest goes below the message."""

    name: str
    text: str = ""
    images: tuple[Image, ...] = ()


def context_mentions(text: str) -> tuple[ContextMention, ...]:
    """Return the context mentions of a text, each once, in order."""
    return tuple(dict.fromkeys(mention for _, _, mention in _iter_mentions(text)))


def add_attachments(message: UserText, attachments: Mapping[str, Attachment]) -> UserText:
    """Return the message with its attachments below it; mentions without one stay as typed."""
    if not attachments:
        return message
    pieces, end = [], 0
    for start, stop, mention in _iter_mentions(message.text):
        attachment = attachments.get(mention.mention)
        if attachment is not None:
            pieces += [message.text[end:start], attachment.name]
            end = stop
    text = "".join([*pieces, message.text[end:]])
    blocks = [context_block(attachment) for attachment in attachments.values()]
    images = tuple(image for attachment in attachments.values() for image in attachment.images)
    return UserText("\n\n".join([text, *blocks]), message.display_text, message.images + images)


def _iter_mentions(text: str) -> Iterator[tuple[int, int, ContextMention]]:
    """Yield each mention with its start and end."""
    for match in CONTEXT_MENTION.finditer(text):
        kind = match["kind"] or ""
        if match["bare"] is None:
            mention = ContextMention(match[0], kind, match["braced"] or "")
            yield match.start(), match.end(), mention
            continue
        value = _without_end_of_sentence(kind, match["bare"])
        if value:
            end = match.start("bare") + len(value)
            yield match.start(), end, ContextMention(text[match.start() : end], kind, value)


def _without_end_of_sentence(kind: str, bare: str) -> str:
    """Return the value of a mention without what ends its sentence: ``#dir:.`` has no other."""
    plain = bare.rstrip(_AFTER_A_VALUE.replace(".", ""))
    if kind == "dir" and not plain.strip("./"):
        return re.sub(r"\.{3,}$", "..", plain)
    return bare.rstrip(_AFTER_A_VALUE)


def context_block(attachment: Attachment) -> str:
    """Return an attachment between tags that its own text cannot close."""
    tag = "context"
    while f"</{tag}>" in attachment.text:
        tag += "_"
    return f'<{tag} name="{attachment.name}">\n{attachment.text.rstrip()}\n</{tag}>'
