"""What is said in a chat: frozen values, oldest first in a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "cancelled", "unknown"]
"""Why a reply ended; ``cancelled``: the user stopped it, ``unknown``: the server did not say."""


class Status(StrEnum):
    """How a call ended; the value is what ``AgentToolFinished`` carries."""

    SUCCESS = "success"
    ERROR = "error"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Image:
    """An image for a vision model: ``mime`` like ``image/png``, raw ``data`` bytes."""

    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call in a reply.

    ``id`` is unique in the chat, ``provider_id`` is what the server sent (and gets back);
    ``arguments`` is the JSON text as sent. ``cut_off`` marks a call whose stream ended, or hit
    the length limit, before it was complete.
    """

    id: str
    name: str
    arguments: str
    provider_id: str = ""
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request as the server counted them; ``cost`` in US dollars if known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class UserText:
    """What the user typed, mentions already replaced; ``shown`` is the text as typed."""

    text: str
    shown: str = ""
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Something the plugin tells the model on its own (what the user did meanwhile)."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's answer to one request.

    ``error`` is set when the stream failed, with the text so far kept in ``text``.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: FinishReason = "stop"
    error: str | None = None
    usage: Usage | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to a call: ``text`` is what the model reads."""

    call_id: str
    name: str
    text: str
    status: Status = Status.SUCCESS
    details: Mapping[str, Any] | None = None
    images: tuple[Image, ...] = ()
    shown: str | None = None
    """What the chat shows instead of ``text``, where that differs."""
    stored: str | None = None
    """Path of the file with all of the text, where the model got a part of it."""

    @property
    def is_error(self) -> bool:
        """Whether the model should take this as a failure."""
        return self.status is not Status.SUCCESS


Message = UserText | Note | Reply | ToolResult


@dataclass(frozen=True, slots=True)
class History:
    """All that was said, oldest first."""

    messages: tuple[Message, ...] = field(default=())

    def add(self, *messages: Message) -> History:
        """Return the history with ``messages`` at its end."""
        return History(self.messages + messages)

    def usage(self) -> Usage | None:
        """Return what the newest reply that was counted used."""
        replies = (m for m in reversed(self.messages) if isinstance(m, Reply))
        return next((reply.usage for reply in replies if reply.usage is not None), None)

    def unanswered(self) -> tuple[ToolCall, ...]:
        """Return the calls of the newest reply, in order, that have no result yet."""
        answered: set[str] = set()
        for message in reversed(self.messages):
            if isinstance(message, ToolResult):
                answered.add(message.call_id)
            elif isinstance(message, Reply):
                return tuple(call for call in message.calls if call.id not in answered)
        return ()
