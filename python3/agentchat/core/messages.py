"""The messages of a chat, as frozen values, and its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from enum import StrEnum
from typing import Any, Literal

from agentchat.core.frozen import frozen

FinishReason = Literal[
    "stop", "tool_calls", "length", "content_filter", "overflow", "cancelled", "unknown", "done"
]
"""Why a reply ended; ``overflow``: the conversation was too long for the model, ``cancelled``: the
user stopped it, ``unknown``: the server did not say, ``done``: an agent of another program, which
says nothing, has made its calls."""


class Status(StrEnum):
    """How a call ended; the value is what ``AgentToolFinished`` carries."""

    SUCCESS = "success"
    ERROR = "error"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    DENIED = "denied"


@frozen
class Image:
    """An image for a vision model: ``mime`` like ``image/png``, raw ``data`` bytes."""

    mime: str
    data: bytes


VendorData = Mapping[str, Any]
"""What a server sent along with a part and wants back unchanged, under the protocol's name."""


@frozen
class TextPart:
    """Text of a reply; ``opaque`` goes back to the provider and model of the reply only."""

    text: str
    opaque: VendorData = field(default_factory=dict, hash=False)


@frozen
class ThinkingPart:
    """Reasoning of a reply; the text may be empty where a server sends it encrypted only."""

    text: str
    opaque: VendorData = field(default_factory=dict, hash=False)


@frozen
class ToolCall:
    """One call in a reply.

    ``id`` is unique in the chat, ``provider_id`` is what the server sent (and gets back);
    ``arguments`` is the JSON text as sent. ``cut_off`` marks a call whose stream ended, or hit
    the length limit, before it was complete. ``opaque``: see ``TextPart``.
    """

    id: str
    name: str
    arguments: str
    provider_id: str = ""
    cut_off: bool = False
    opaque: VendorData = field(default_factory=dict, hash=False)


@frozen
class Usage:
    """Tokens of one request as the server counted them; ``cost`` in US dollars if known.

    ``prompt_tokens`` is the whole prompt, what was read from a cache or written to it included.
    ``is_lower_bound``: the answer broke off before the server had counted, so it is at least that.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cost: float | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    is_lower_bound: bool = False


@frozen
class UserText:
    """The user's text with mentions replaced; ``display_text`` is the text as typed."""

    text: str
    display_text: str = ""
    images: tuple[Image, ...] = ()


@frozen
class Note:
    """A message of the plugin to the model, for example about what the user did meanwhile."""

    text: str


ReplyPart = TextPart | ThinkingPart | ToolCall


@frozen
class Reply:
    """The model's answer to one request: its parts in the order in which they came.

    ``error`` is set when the stream failed, with the parts so far kept. ``provider`` and
    ``model`` say who gave the answer: nobody else gets the parts' ``opaque`` data.
    """

    parts: tuple[ReplyPart, ...]
    finish: FinishReason
    error: str | None
    usage: Usage | None
    model: str
    provider: str
    thinking_seconds: float
    """How long the reasoning took to arrive."""

    def __init__(
        self,
        text: str = "",
        calls: tuple[ToolCall, ...] = (),
        reasoning: str = "",
        finish: FinishReason = "stop",
        error: str | None = None,
        usage: Usage | None = None,
        model: str = "",
        provider: str = "",
        parts: tuple[ReplyPart, ...] | None = None,
        thinking_seconds: float = 0.0,
    ) -> None:
        """Make a reply of ``parts``, or of one text, one reasoning and calls."""
        if parts is None:
            thinking = (ThinkingPart(reasoning),) if reasoning else ()
            parts = (*thinking, *((TextPart(text),) if text else ()), *calls)
        elif text or calls or reasoning:
            raise TypeError("A reply is made of parts, or of text, calls and reasoning: not both.")
        values = (parts, finish, error, usage, model, provider, thinking_seconds)
        for item, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, item.name, value)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The whole reasoning, as far as the server shows it."""
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def counted(self) -> Usage | None:
        """The usage, if the server counted all of it."""
        return None if self.usage is None or self.usage.is_lower_bound else self.usage


@frozen
class ToolResult:
    """The one answer to a call: ``text`` is what the model reads."""

    call_id: str
    name: str
    text: str
    status: Status = Status.SUCCESS
    details: Any = None
    """JSON data for other programs, usually fields by name."""
    images: tuple[Image, ...] = ()
    display_text: str | None = None
    """The text that the chat shows instead of ``text``, if different."""
    full_text_path: str | None = None
    """Path of the file with the full text, if ``text`` is only a part."""
    diff: str = ""
    """What it changed in files, for the chat; see ``core.diff.diff_text``."""
    counts: str = ""
    """How many lines it added and removed, like ``+3 -1`` or ``+3 -1 staged``."""

    @property
    def is_error(self) -> bool:
        """Whether the call did not succeed."""
        return self.status is not Status.SUCCESS

    def detail(self, name: str) -> Any:
        """Return a field of the details, or None if there is none of this name."""
        return self.details.get(name) if isinstance(self.details, Mapping) else None


STOPPED = "The user stopped you here: your reply was cut off."
"""The note to the model after a reply that the user stopped."""

Message = UserText | Note | Reply | ToolResult


@frozen
class History:
    """All messages, oldest first."""

    messages: tuple[Message, ...] = field(default=())

    def add(self, *messages: Message) -> History:
        """Return the history with ``messages`` at its end."""
        return History(self.messages + messages)

    def usage(self) -> Usage | None:
        """Return the usage of the newest reply whose tokens the server counted."""
        replies = (m for m in reversed(self.messages) if isinstance(m, Reply))
        return next((reply.counted for reply in replies if reply.counted is not None), None)

    def with_stops(self) -> History:
        """Return the history with a note after each reply that the user stopped."""
        if not any(map(_is_stopped, self.messages)):
            return self
        notes = ((m, Note(STOPPED)) if _is_stopped(m) else (m,) for m in self.messages)
        return History(tuple(message for pair in notes for message in pair))

    def unanswered(self) -> tuple[ToolCall, ...]:
        """Return the calls of the newest reply, in order, that have no result yet."""
        answered: set[str] = set()
        for message in reversed(self.messages):
            if isinstance(message, ToolResult):
                answered.add(message.call_id)
            elif isinstance(message, Reply):
                return tuple(call for call in message.calls if call.id not in answered)
        return ()


def _is_stopped(message: Message) -> bool:
    return isinstance(message, Reply) and message.finish == "cancelled"
