"""An agent of another program as the model of a chat: its calls come from outside.

Each call is a turn of its own. The agent's reply to the first request of the turn is that one call,
which is judged, asked about, run and journaled as any other; to the next request it has nothing
more to say, so the turn ends and the call gets its answer. The answer is all that the agent reads:
what the user wrote in the chat meanwhile, and what the plugin has to tell a model, is in it.

When the agent has left, the user may go on in the chat with a model of their own.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import (
    History,
    Image,
    Message,
    Note,
    Reply,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.core.model import Model, ModelRequest, Piece
from agentchat.core.text import clip
from agentchat.core.turn.loop import CANCELLED, TurnEnd

LONGEST_NAME = 60
DELIVERED_LATER = "{} gets this with the result of its next call."
FROM_USER = "The user wrote in Neovim: {}"


@frozen
class CallAnswer:
    """What the agent gets for a call: a text, and images if the tool returned some."""

    text: str
    is_error: bool = False
    images: tuple[Image, ...] = ()


@dataclass(slots=True)
class AwaitedCall:
    """A call whose answer the agent awaits."""

    call: ToolCall
    answer: asyncio.Future[CallAnswer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def finish(self, answer: CallAnswer) -> None:
        """Give the answer, unless there is one or nobody waits for it any more."""
        if not self.answer.done():
            self.answer.set_result(answer)


class ExternalAgent:
    """The model of a chat as long as the agent is connected; then that is ``successor``.

    The session sets ``wake``, which begins a turn, and ``stop_turn``, which ends the running one.

    Args:
        name: what the agent calls itself.
    """

    window: int | None = None

    def __init__(self, name: str, successor: Callable[[], Model] | None = None) -> None:
        self.name = clip(" ".join(name.split()), LONGEST_NAME) or "agent"
        self.is_connected = True
        self.wake: Callable[[], None] = lambda: None
        self.stop_turn: Callable[[], None] = lambda: None
        self._successor = successor
        self._waiting: deque[AwaitedCall] = deque()
        self._current: AwaitedCall | None = None
        self._is_sent = False
        self._reminder = ""
        self._told = 0
        """How many messages of the chat the agent knows."""

    # --- the agent --------------------------------------------------------------------------------

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallAnswer:
        """Make a call and return its answer; cancelling withdraws the call."""
        text = json.dumps(arguments, ensure_ascii=False)
        awaited = AwaitedCall(ToolCall(f"call_{uuid.uuid4().hex[:16]}", name, text))
        self._waiting.append(awaited)
        self.wake()
        try:
            return await awaited.answer
        except asyncio.CancelledError:
            self._withdraw(awaited)
            raise

    def disconnect(self) -> None:
        """Note that the agent has left: nothing of it goes on."""
        self.is_connected = False
        self.drop_calls()
        if self._current is not None:
            self.stop_turn()

    def _withdraw(self, awaited: AwaitedCall) -> None:
        if awaited is self._current:
            self.stop_turn()
        elif awaited in self._waiting:
            self._waiting.remove(awaited)

    # --- the session ------------------------------------------------------------------------------

    @property
    def has_calls(self) -> bool:
        """Whether a call waits for a turn."""
        return bool(self._waiting)

    def drop_calls(self) -> None:
        """Answer the calls that wait as the user's stop does."""
        while self._waiting:
            self._waiting.popleft().finish(CallAnswer(CANCELLED, is_error=True))

    def begin_turn(self) -> None:
        """Take the next call for the turn that begins."""
        self._current = self._waiting.popleft() if self._waiting else None
        self._is_sent = False
        self._reminder = ""

    def end_turn(self, history: History, end: TurnEnd) -> None:
        """Answer the call of the turn that has ended."""
        current, self._current = self._current, None
        if current is None:
            return
        messages = history.messages
        result = next((m for m in reversed(messages) if _answers(m, current.call)), None)
        news, images = self._news(history)
        if isinstance(result, ToolResult):
            text, is_error, images = result.text, result.is_error, (*result.images, *images)
        else:
            text, is_error = end.message or CANCELLED, True
        parts = filter(None, (text, *news, self._reminder))
        current.finish(CallAnswer("\n\n".join(parts), is_error, images))

    def _news(self, history: History) -> tuple[list[str], tuple[Image, ...]]:
        """Return what the user and the plugin have said since the last answer."""
        new, self._told = history.messages[self._told :], len(history.messages)
        images = [image for m in new if isinstance(m, UserText) for image in m.images]
        return list(filter(None, map(_news_text, new))), tuple(images)

    # --- the model of the chat --------------------------------------------------------------------

    def current(self) -> Model:
        """Return the agent, or when it has left what comes after it; raises UserError."""
        if self.is_connected or self._successor is None:
            return self
        return self._successor()

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        """Reply with the call of this turn, then with nothing."""
        if self._current is None:
            return Reply(text=DELIVERED_LATER.format(self.name), model=self.name)
        if self._is_sent:
            self._reminder = request.reminder or ""
            return Reply(finish="done", model=self.name)
        self._is_sent = True
        return Reply(calls=(self._current.call,), finish="tool_calls", model=self.name)

    async def learn_window(self) -> None:
        """Nothing to learn: the agent keeps its own conversation."""

    def warm_up(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""


def _answers(message: Message, call: ToolCall) -> bool:
    return isinstance(message, ToolResult) and message.call_id == call.id


def _news_text(message: Message) -> str:
    """Return what the agent must hear of a message, if anything."""
    if isinstance(message, UserText):
        return FROM_USER.format(message.text)
    return message.text if isinstance(message, Note) else ""
