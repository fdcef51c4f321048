"""The contract of a model; ``models/`` implements it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Protocol

from agentchat.core.frozen import frozen
from agentchat.core.messages import History, Reply, Usage
from agentchat.core.tools.tool import Tool


@frozen
class ModelRequest:
    """One request; ``forced`` is the tool that the model must call, if any.

    ``reminder`` is added after the history, for this request only. ``chat`` is the chat's uuid.
    ``used_ids`` are those of earlier calls that ``history`` does not hold.

    Args:
        catalogue: all tools that the chat may offer in time, in an order that does not change when
            tools are offered or withdrawn: for servers that cache what comes after the tools.
        deferrable: the names of those in it that are offered once a search has found them.
        forbidden: the names of offered tools whose calls the mode refuses.
    """

    _: KW_ONLY

    system: str
    history: History
    tools: tuple[Tool, ...] = ()
    forced: str | None = None
    reminder: str | None = None
    chat: str = ""
    used_ids: frozenset[str] = frozenset()
    catalogue: tuple[Tool, ...] = ()
    deferrable: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


@frozen
class TextDelta:
    """A piece of the answer's text."""

    text: str


@frozen
class ReasoningDelta:
    """A piece of the model's reasoning."""

    text: str


@frozen
class CallDelta:
    """An incomplete call; ``arguments`` is all of its JSON text so far."""

    id: str
    name: str
    arguments: str


@frozen
class RetryDelay:
    """The request is sent again after ``seconds``; ``reason`` is for the user."""

    seconds: float
    reason: str


@frozen
class Notice:
    """One line about this request for the user."""

    text: str


@frozen
class StoppedUsage:
    """The least that a request used which was cancelled while its answer came."""

    usage: Usage


Piece = TextDelta | ReasoningDelta | CallDelta | RetryDelay | Notice | StoppedUsage


class Model(Protocol):
    """A model server, or a replacement for one."""

    @property
    def name(self) -> str:
        """The model's name for the user."""

    @property
    def window(self) -> int | None:
        """The context window in tokens, ``None`` as long as it is not known."""

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        """Send one request, report pieces as they arrive, return the whole reply.

        A failure is returned as ``Reply.error`` with the text so far; its message ends with what
        to do. If the conversation is too long for the model, ``finish`` is ``overflow``. Ids of
        calls are unique in the chat. Cancelling the task closes the connection; what was used by
        then is the last piece.
        """

    async def learn_window(self) -> None:
        """Find out how large the context window is, if that is possible."""

    def warm_up(self) -> None:
        """Load what the first request needs, in the background; needs an event loop."""

    async def close(self) -> None:
        """Close the connections when no request is running any more."""
