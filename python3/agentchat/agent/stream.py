"""Draws what was said in a chat that is opened again, a screenful at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import from_json

from agentchat.core.messages import History, Message, Reply, Status, ToolResult, UserText
from agentchat.core.text import excerpt
from agentchat.core.tools.model import (
    CallDelta,
    Model,
    ModelRequest,
    Notice,
    Piece,
    ReasoningDelta,
    TextDelta,
    Waiting,
)
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.view import Block, Screen
from agentchat.journal.writer import JournalWriter

KEEP_SECONDS = 0.5

STATES = {
    Status.SUCCESS: "done",
    Status.ERROR: "failed",
    Status.REJECTED: "rejected",
    Status.CANCELLED: "cancelled",
    Status.DENIED: "denied",
}


class Teller:
    """Draws one chat's replies and results; each call is finished once."""

    def __init__(self, screen: Screen, scribe: JournalWriter) -> None:
        self._screen = screen
        self._scribe = scribe
        self._kept = 0.0
        self._open: set[str] = set()
        self._begun = False
        self._tools: dict[str, Tool] = {}
        self._said = ""

    async def ask(self, model: Model, request: ModelRequest) -> Reply:
        """Send a request and show the reply as it comes; being stopped keeps the text so far."""
        self._begun, self._said = False, ""
        self._tools = {tool.name: tool for tool in request.tools}
        try:
            return await model.ask(request, self._piece)
        except asyncio.CancelledError:
            self._abandon()
            return Reply(text=self._said, finish="cancelled")

    def replied(self, reply: Reply) -> None:
        """Show what the stream did not: a whole answer, calls, an error."""
        if reply.text and not self._said:
            # The journal has the whole reply already.
            self._begin()
            self._screen.text(reply.text)
        self._screen.finish_reply()
        for call in reply.calls:
            self._call(CallDelta(call.id, call.name, call.arguments))
            self._screen.block(call.id, Block(state="waiting"))
        note = _note(reply)
        if note:
            self._screen.note("info", note)

    def finished(self, result: ToolResult) -> None:
        """Show how a call ended, the first time it is told."""
        if result.call_id not in self._open:
            return
        self._open.discard(result.call_id)
        self._screen.block(result.call_id, last_look(result))
        data: dict[str, Any] = {
            "tool": result.name,
            "call_id": result.call_id,
            "status": result.status.value,
        }
        if result.details is not None:
            data["details"] = dict(result.details)
        self._screen.event("AgentToolFinished", data)

    def _piece(self, piece: Piece) -> None:
        show: Mapping[type, Callable[[Any], None]] = {
            TextDelta: lambda p: self._text(p.text),
            ReasoningDelta: lambda p: self._reasoning(p.text),
            CallDelta: self._call,
            Waiting: self._waiting,
            Notice: lambda p: self._screen.note("info", p.text),
        }
        show[type(piece)](piece)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._screen.begin_reply()

    def _text(self, text: str) -> None:
        self._begin()
        self._said += text
        self._screen.text(text)
        now = time.monotonic()
        if now - self._kept >= KEEP_SECONDS:
            # What was shown for a second must survive a crash.
            self._kept = now
            self._scribe.record_progress(self._said)

    def _reasoning(self, text: str) -> None:
        self._begin()
        self._screen.reasoning(text)

    def _waiting(self, piece: Waiting) -> None:
        text = f"{piece.why} Trying again in {piece.seconds:g} s; <C-c> stops."
        self._screen.note("info", text)

    def _call(self, call: CallDelta) -> None:
        self._begin()
        self._open.add(call.id)
        title = call_look(self._tools.get(call.name), call.name, call.arguments)
        self._screen.block(call.id, Block(title=title, tool=call.name, state="streaming"))

    def _abandon(self) -> None:
        for call_id in self._open:
            self._screen.block(call_id, Block(state="cancelled"))
        self._open.clear()


def call_look(tool: Tool | None, name: str, arguments: str) -> str:
    """Return a call in one line; ``arguments`` is its JSON text as far as it has arrived."""
    return tool.render_call(_so_far(arguments)) if tool else name


def last_look(result: ToolResult) -> Block:
    """Return how the block of a call looks once it is over."""
    state = STATES[result.status]
    text = result.text if result.shown is None else result.shown
    if result.status is Status.CANCELLED:
        # What it printed until then stays.
        return Block(state=state, append=text)
    body = excerpt(text, result.stored) if result.stored else text.split("\n")
    return Block(state=state, body=body)


def _note(reply: Reply) -> str:
    if reply.finish == "cancelled" or reply.error:
        return ""
    if not (reply.text or reply.calls):
        return "The model gave no answer."
    return "The answer was cut off by the length limit." if reply.finish == "length" else ""


def _so_far(arguments: str) -> dict[str, Any]:
    try:
        value = from_json(arguments or "{}", allow_partial="trailing-strings")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


AT_ONCE = 20
"""Messages in one batch: the editor draws it in a few milliseconds."""

PAUSE_SECONDS = 1 / 30


async def replay(history: History, screen: Screen, toolbox: Toolbox) -> None:
    """Draw the messages, oldest first; no event says that any of it happens now."""
    for at, message in enumerate(history.messages):
        _draw(message, screen, toolbox)
        if at % AT_ONCE == AT_ONCE - 1:
            await asyncio.sleep(PAUSE_SECONDS)


def _draw(message: Message, screen: Screen, toolbox: Toolbox) -> None:
    if isinstance(message, UserText):
        screen.user(message.shown or message.text)
    elif isinstance(message, Reply):
        _reply(message, screen, toolbox)
    elif isinstance(message, ToolResult):
        screen.block(message.call_id, last_look(message))


def _reply(reply: Reply, screen: Screen, toolbox: Toolbox) -> None:
    screen.begin_reply()
    if reply.reasoning:
        screen.reasoning(reply.reasoning)
    if reply.text:
        screen.text(reply.text)
    screen.finish_reply()
    for call in reply.calls:
        title = call_look(toolbox.find(call.name), call.name, call.arguments)
        screen.block(call.id, Block(title=title, tool=call.name, state="waiting"))
    if reply.error:
        screen.note("error", reply.error)
