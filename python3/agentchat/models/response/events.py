"""The events of an answer: what their JSON holds, and who reads it into a reply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from agentchat.core.messages import Usage
from agentchat.core.model import Piece
from agentchat.models.response.refusal import one_line
from agentchat.models.response.reply import ReplyAssembly

Framing = Literal["sse", "json-lines"]
"""How a body is divided into events."""

MOST_TOKENS = 10**12
"""A larger count (JSON allows ``Infinity``) is not one."""


def string(value: object) -> str:
    """Return ``value`` if it is a string."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """Return ``value`` if it is a JSON object."""
    return value if isinstance(value, dict) else {}


def mappings(values: object) -> list[dict[str, Any]]:
    """Return the JSON objects in a list."""
    return [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []


def integer(value: object) -> int | None:
    """Return ``value`` if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(fields: Mapping[str, Any], key: str) -> int:
    """Return a number of tokens."""
    value = fields.get(key)
    return int(value) if isinstance(value, (int, float)) and 0 < value < MOST_TOKENS else 0


def error_in(event: Mapping[str, Any]) -> str | None:
    """Return the message of an event that reports an error, else None."""
    if event.get("error"):
        return error_message(event["error"])
    if event.get("object") == "error" or event.get("type") == "error":
        return error_message(event)
    return None


def error_message(error: object) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code")
    return one_line(str(error or "no reason given"))


class EventReader(ABC):
    """Reads the events of one answer in one protocol, or a whole answer, into ``reply``."""

    protocol: ClassVar[str]
    framing: ClassVar[Framing] = "sse"

    def __init__(self, reply: ReplyAssembly) -> None:
        self.reply = reply

    def is_answer(self, event: object) -> bool:
        """Whether an event is a part of an answer, and no mere sign of life."""
        return isinstance(event, dict) and (self._is_part(event) or error_in(event) is not None)

    def read(self, event: object) -> list[Piece]:
        """Take the JSON of one event, or of a whole answer; return what is new in it."""
        if not isinstance(event, dict):
            return []
        self.reply.usage = self._usage(event) or self.reply.usage
        if self.reply.is_finished or self.reply.error is not None:
            return []
        error = error_in(event)
        if error is not None:
            self.reply.fail(error)
            return []
        return list(self._read(event))

    @abstractmethod
    def _is_part(self, event: dict[str, Any]) -> bool:
        """Whether an event without an error is a part of an answer."""

    @abstractmethod
    def _usage(self, event: dict[str, Any]) -> Usage | None:
        """Return the tokens used so far, if the event counts them."""

    @abstractmethod
    def _read(self, event: dict[str, Any]) -> Iterable[Piece]:
        """Take an event without an error into the reply; return what is new in it."""
