"""What the plan needs of a model; ``models/`` implements it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agentchat.core.messages import History, Reply
from agentchat.core.tools.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request: ``forced`` names the tool the model must call now, if any.

    ``reminder`` is added after the history, for this request only. ``chat`` is the chat's uuid.
    """

    system: str
    history: History
    tools: tuple[Tool, ...] = ()
    forced: str | None = None
    reminder: str | None = None
    chat: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A call as far as it has arrived: ``arguments`` is all of its JSON text so far."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RetryDelay:
    """The request is sent again after ``seconds``; ``why`` is for the user to read."""

    seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something about this request that the user should know, in one line."""

    text: str


Piece = TextDelta | ReasoningDelta | CallDelta | RetryDelay | Notice


class Model(Protocol):
    """A model server, or something that answers like one."""

    @property
    def name(self) -> str:
        """What the user reads as the model's name."""

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        """Send one request, report pieces as they arrive, return the whole reply.

        Failures come back as ``Reply.error`` with the text so far, ending in what to do;
        calls have ids that are unique in ``request.history``. Cancelling the task closes
        the connection.
        """

    def warm_up(self) -> None:
        """Begin to load what the first request needs, in the background; needs an event loop."""

    async def close(self) -> None:
        """Close the connections, once no request is running any more."""
