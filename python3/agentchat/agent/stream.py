"""Shows replies while they stream, the results of their calls, and both again on resume."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from agentchat.core.messages import History, Message, Reply, Status, ToolResult, UserText
from agentchat.core.text import clip, excerpt
from agentchat.core.tools.model import (
    CallDelta,
    Model,
    ModelRequest,
    Notice,
    Piece,
    ReasoningDelta,
    RetryDelay,
    TextDelta,
)
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.validate import without_reserved
from agentchat.core.turn.view import BlockState, ToolBlock, View
from agentchat.journal.writer import JournalWriter

KEEP_SECONDS = 0.5

REPLAY_BATCH = 20
"""Messages drawn at a time on resume: the editor draws them in a few milliseconds."""

REPLAY_PAUSE_SECONDS = 1 / 30

UNPARSED_CALL = (
    "The model wrote a tool call as text. It was not run: the server did not parse it. Check that "
    "the server's tool parser fits the model, or choose a model that supports tools."
)
_WRITTEN_CALL = re.compile(
    r"""\s*(?:<tool_?calls?>|<\|tool_calls?(?:_begin)?\|>|\[TOOL_CALLS\]|<function=\w
    |```(?:json|tool_call)?\s*\{\s*"name"\s*:\s*"[^"]*",\s*"(?:arguments|parameters)"
    |\{\s*"name"\s*:\s*"[^"]*",\s*"(?:arguments|parameters)")""",
    re.VERBOSE,
)
"""The beginning of a reply in the notations of a call that models are trained on."""

STOPPED_TURN = "Stopped by you."
"""The mark in the chat where a turn was stopped."""

STATES: Mapping[Status, BlockState] = {
    Status.SUCCESS: "done",
    Status.ERROR: "failed",
    Status.REJECTED: "rejected",
    Status.CANCELLED: "cancelled",
    Status.DENIED: "denied",
}


class ReplyStream:
    """Draws one chat's replies as they arrive."""

    def __init__(self, view: View, scribe: JournalWriter) -> None:
        self._view = view
        self._scribe = scribe
        self._kept = 0.0
        self._calls: set[str] = set()
        self._begun = False
        self._tools: dict[str, Tool] = {}
        self._arrived = ""

    async def ask(self, model: Model, request: ModelRequest) -> Reply:
        """Send a request and show the reply as it comes; being stopped keeps the text so far."""
        self._begun, self._arrived = False, ""
        self._calls.clear()
        self._tools = {tool.name: tool for tool in request.tools}
        try:
            return await model.ask(request, self._show_piece)
        except asyncio.CancelledError:
            self._abandon()
            return Reply(text=self._arrived, finish="cancelled")

    def finish(self, reply: Reply) -> None:
        """Show what the stream did not: a whole answer, calls, an error."""
        if reply.text and not self._arrived:
            # The journal has the whole reply already.
            self._begin()
            self._view.text(reply.text)
        self._view.finish_reply()
        for call in reply.calls:
            self._show_call(CallDelta(call.id, call.name, call.arguments))
            self._view.block(call.id, ToolBlock(state="waiting"))
        note = _note(reply)
        if note:
            self._view.note("info", note)

    def _show_piece(self, piece: Piece) -> None:
        match piece:
            case TextDelta():
                self._show_text(piece.text)
            case ReasoningDelta():
                self._begin()
                self._view.reasoning(piece.text)
            case CallDelta():
                self._show_call(piece)
            case RetryDelay():
                text = f"{piece.why} Trying again in {piece.seconds:g} s; <C-c> stops."
                self._view.retry(text)
            case Notice():
                self._view.note("info", piece.text)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._view.begin_reply()

    def _show_text(self, text: str) -> None:
        self._begin()
        self._arrived += text
        self._view.text(text)
        now = time.monotonic()
        if now - self._kept >= KEEP_SECONDS:
            # What was shown for a second must survive a crash.
            self._kept = now
            self._scribe.record_progress(self._arrived)

    def _show_call(self, call: CallDelta) -> None:
        self._begin()
        self._calls.add(call.id)
        title = call_title(self._tools.get(call.name), call.name, call.arguments)
        self._view.block(call.id, ToolBlock(title=title, tool=call.name, state="streaming"))

    def _abandon(self) -> None:
        for call_id in self._calls:
            self._view.block(call_id, ToolBlock(state="cancelled"))


def show_result(result: ToolResult, view: View) -> None:
    """Show how a call ended."""
    view.block(result.call_id, result_block(result))
    data: dict[str, Any] = {
        "tool": result.name,
        "call_id": result.call_id,
        "status": result.status.value,
    }
    if result.details is not None:
        data["details"] = dict(result.details)
    view.event("AgentToolFinished", data)


def call_title(tool: Tool | None, name: str, arguments: str) -> str:
    """Return a call in one line; ``arguments`` is its JSON text as far as it has arrived."""
    return tool.title(without_reserved(_partial_object(arguments))) if tool else clip(name)


def result_block(result: ToolResult) -> ToolBlock:
    """Return how the block of a call looks once it is over."""
    state = STATES[result.status]
    text = result.text if result.shown is None else result.shown
    if result.status is Status.CANCELLED:
        # What it printed until then stays.
        return ToolBlock(state=state, append=text)
    body = excerpt(text, result.stored) if result.stored else text.split("\n")
    return ToolBlock(state=state, body=body)


async def replay(history: History, view: View, toolbox: Toolset) -> None:
    """Draw the messages, oldest first; no event says that any of it happens now."""
    for number, message in enumerate(history.messages, 1):
        _draw(message, view, toolbox)
        if number % REPLAY_BATCH == 0:
            await asyncio.sleep(REPLAY_PAUSE_SECONDS)


def _draw(message: Message, view: View, toolbox: Toolset) -> None:
    if isinstance(message, UserText):
        view.user(message.shown or message.text)
    elif isinstance(message, Reply):
        _draw_reply(message, view, toolbox)
    elif isinstance(message, ToolResult):
        view.block(message.call_id, result_block(message))


def _draw_reply(reply: Reply, view: View, toolbox: Toolset) -> None:
    view.begin_reply()
    if reply.reasoning:
        view.reasoning(reply.reasoning)
    if reply.text:
        view.text(reply.text)
    view.finish_reply()
    for call in reply.calls:
        title = call_title(toolbox.find(call.name), call.name, call.arguments)
        view.block(call.id, ToolBlock(title=title, tool=call.name, state="waiting"))
    if reply.error:
        view.note("error", reply.error)
    elif reply.finish == "cancelled":
        view.note("info", STOPPED_TURN)


def _note(reply: Reply) -> str:
    if reply.finish == "cancelled" or reply.error:
        return ""
    if not (reply.text or reply.calls):
        return "The model gave no answer."
    if reply.finish == "length":
        return "The answer was cut off by the length limit."
    return UNPARSED_CALL if not reply.calls and _WRITTEN_CALL.match(reply.text) else ""


def _partial_object(arguments: str) -> dict[str, Any]:
    try:
        value = from_json(arguments or "{}", allow_partial="trailing-strings", allow_inf_nan=False)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
