"""Shows replies while they stream, the results of their calls, and the history on resume."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentchat.core.errors import UserError
from agentchat.core.messages import (
    History,
    Message,
    Note,
    Reply,
    Status,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from agentchat.core.model import (
    CallDelta,
    Model,
    ModelRequest,
    Notice,
    Piece,
    ReasoningDelta,
    RetryDelay,
    StoppedUsage,
    TextDelta,
)
from agentchat.core.permissions.isolation import ISOLATED
from agentchat.core.text import clip, excerpt
from agentchat.core.tools.tool import ShownArguments, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.validate import without_reserved
from agentchat.core.turn.view import BlockState, ToolBlock, View
from agentchat.journal.reader import PastCalls
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.5
"""How often the text of a reply that is arriving is journaled."""

RECALLED = 200
"""Prompts of a resumed chat that can be recalled."""

PART_LINES = 100
"""Lines of messages that are drawn together on resume: about what a window shows."""

MOST_PART_LINES = 10 * PART_LINES
"""From so many lines on, a part also begins between two calls that only read."""

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

_WRITTEN_LATER = re.compile(
    r"^[ \t]*(?:<tool_?calls?>|<\|tool_calls?(?:_begin)?\|>|\[TOOL_CALLS\]|<function=\w)",
    re.MULTILINE,
)
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)

STOPPED_TURN = "Stopped by you."
"""The mark in the chat where a turn was stopped."""

_STATES: Mapping[Status, BlockState] = {
    Status.SUCCESS: "done",
    Status.ERROR: "failed",
    Status.REJECTED: "rejected",
    Status.CANCELLED: "cancelled",
    Status.DENIED: "denied",
}


class ReplyStream:
    """Shows one chat's replies as they arrive, and journals the text so far.

    Text is journaled as soon as it is shown, but at most every ``PROGRESS_SECONDS``; a timer
    journals what arrives in between.
    """

    def __init__(self, view: View, journal: JournalWriter) -> None:
        self._view = view
        self._journal = journal
        self._timer: asyncio.TimerHandle | None = None
        self._is_journaled = True
        self._calls: set[str] = set()
        self._begun = False
        self._tools: dict[str, Tool] = {}
        self._text = ""
        self._usage: Usage | None = None
        self._thinking = Stopwatch()

    async def ask(self, model: Model, request: ModelRequest) -> Reply:
        """Send a request and show the reply as it arrives; a stop returns the text so far."""
        self._begun, self._text, self._usage = False, "", None
        self._thinking = Stopwatch()
        self._calls.clear()
        self._tools = {tool.name: tool for tool in request.tools}
        try:
            reply = await model.ask(request, self._show_piece)
            self._end_reasoning()
            return replace(reply, thinking_seconds=self._thinking.total)
        except asyncio.CancelledError:
            self._end_reasoning()
            self._cancel_calls()
            return Reply(text=self._text, finish="cancelled", usage=self._usage, model=model.name)
        finally:
            self._stop_timer()

    def finish(self, reply: Reply) -> None:
        """Show what the stream did not: text that arrived at once, calls, an error."""
        if reply.text and not self._text:
            # No progress record: the journal has the whole reply already.
            self._begin()
            self._view.add_text(reply.text)
        self._view.finish_reply()
        for call in reply.calls:
            delta = CallDelta(call.id, call.name, call.arguments)
            self._show_call(delta, "waiting")
        note = _note(reply)
        if note:
            self._view.add_note("info", note)

    def _show_piece(self, piece: Piece) -> None:
        match piece:
            case TextDelta():
                self._end_reasoning()
                self._show_text(piece.text)
            case ReasoningDelta():
                self._begin()
                self._thinking.start()
                self._view.add_reasoning(piece.text)
            case CallDelta():
                self._end_reasoning()
                self._show_call(piece)
            case RetryDelay():
                self._view.show_activity(piece.reason, piece.seconds)
            case Notice():
                self._view.add_note("info", piece.text)
            case StoppedUsage():
                self._usage = piece.usage

    def _end_reasoning(self) -> None:
        seconds = self._thinking.stop()
        if seconds is not None:
            self._view.end_reasoning(thinking_title(seconds))

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._view.begin_reply()

    def _show_text(self, text: str) -> None:
        self._begin()
        self._text += text
        self._is_journaled = False
        self._view.add_text(text)
        if self._timer is None:
            self._journal_progress()

    def _journal_progress(self) -> None:
        self._journal.add_progress(self._text)
        self._is_journaled = True
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(PROGRESS_SECONDS, self._end_interval)

    def _end_interval(self) -> None:
        """Journal the text that arrived since the last record, if any."""
        self._timer = None
        if not self._is_journaled:
            try:
                self._journal_progress()
            except UserError as error:
                # The record of the whole reply fails the same way, and ends the turn.
                log.warning("the text so far is not journaled: %s", error)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _show_call(self, call: CallDelta, state: BlockState = "streaming") -> None:
        self._begin()
        self._calls.add(call.id)
        title = call_title(self._tools.get(call.name), call, is_partial=state == "streaming")
        self._view.update_block(call.id, ToolBlock(title=title, tool=call.name, state=state))

    def _cancel_calls(self) -> None:
        for call_id in self._calls:
            self._view.update_block(call_id, ToolBlock(state="cancelled"))


class Stopwatch:
    """Measures the periods in which reasoning arrives."""

    def __init__(self) -> None:
        self.total = 0.0
        """Seconds of all periods that have ended."""
        self._since: float | None = None

    def start(self) -> None:
        """Begin a period, unless one runs."""
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> float | None:
        """End the running period and return its seconds; None if none runs."""
        if self._since is None:
            return None
        seconds, self._since = time.monotonic() - self._since, None
        self.total += seconds
        return seconds


def thinking_title(seconds: float) -> str:
    """Return the header of reasoning that is complete."""
    whole = round(seconds)
    if whole < 1:
        return "thought briefly"
    minutes, rest = divmod(whole, 60)
    return f"thought for {minutes} min {rest} s" if minutes else f"thought for {whole} s"


def show_result(result: ToolResult, view: View) -> None:
    """Show how a call ended."""
    view.update_block(result.call_id, result_block(result))
    data: dict[str, Any] = {
        "tool": result.name,
        "call_id": result.call_id,
        "status": result.status.value,
    }
    if result.details is not None:
        data["details"] = result.details
    if result.full_text_path is not None:
        data |= {"truncated": True, "stored_path": result.full_text_path}
    view.fire_event("AgentToolFinished", data)


def call_title(tool: Tool | None, call: CallDelta | ToolCall, *, is_partial: bool = False) -> str:
    """Return a call in one line; ``is_partial`` while its arguments still arrive."""
    if tool is None:
        return clip(call.name)
    given = without_reserved(_partial_object(call.arguments))
    return tool.title(ShownArguments(given, call.id, is_partial))


def result_block(result: ToolResult) -> ToolBlock:
    """Return the block of a call that has ended."""
    details = result.details
    is_isolated = isinstance(details, Mapping) and bool(details.get(ISOLATED))
    block = ToolBlock(state=_STATES[result.status], tag=ISOLATED if is_isolated else None)
    if result.diff:
        block = replace(block, diff=result.diff.split("\n"), counts=result.counts)
    text = result.text if result.display_text is None else result.display_text
    if result.status is Status.CANCELLED:
        # Output printed before the stop stays.
        return replace(block, append=text)
    body = excerpt(text, result.full_text_path) if result.full_text_path else text.split("\n")
    return replace(block, body=body)


async def replay(
    history: History, view: View, toolbox: Toolset, calls: PastCalls | None = None
) -> None:
    """Draw the messages without firing events: the newest part first, older ones above it."""
    texts = [_shown(message) for message in history.messages if isinstance(message, UserText)]
    calls = calls or PastCalls()
    view.recall_prompts(texts[-RECALLED:], texts[0] if texts else "")
    for part in _parts(history.messages):
        messages = history.messages[part.start : part.stop]

        def draw(messages: Sequence[Message] = messages) -> None:
            for message in messages:
                _draw(message, view, toolbox, calls)

        continues = part.start > 0 and not isinstance(messages[0], UserText)
        await view.prepend(draw, continues=continues)


def _parts(messages: Sequence[Message]) -> Iterator[range]:
    """Yield the parts in which messages are drawn, the newest first.

    A part begins where what is before it does not matter: with a message of the user, or with a
    reply that says something after a call.
    """
    end, lines = len(messages), 0
    for index in reversed(range(len(messages))):
        lines += _count_lines(messages[index])
        if index == 0 or (lines >= PART_LINES and _may_begin(messages, index, lines)):
            yield range(index, end)
            end, lines = index, 0


def _may_begin(messages: Sequence[Message], index: int, lines: int) -> bool:
    message = messages[index]
    if isinstance(message, Reply) and isinstance(messages[index - 1], ToolResult):
        return bool(message.text or message.reasoning) or lines >= MOST_PART_LINES
    return isinstance(message, UserText)


def _count_lines(message: Message) -> int:
    """Return about how many lines a message has in the chat."""
    diff = message.diff.count("\n") if isinstance(message, ToolResult) else 0
    return 2 + diff + (0 if isinstance(message, Note) else message.text.count("\n"))


def _shown(message: UserText) -> str:
    return message.display_text or message.text


def _draw(message: Message, view: View, toolbox: Toolset, calls: PastCalls) -> None:
    if isinstance(message, UserText):
        view.add_user_message(_shown(message))
    elif isinstance(message, Reply):
        _draw_reply(message, view, toolbox)
    elif isinstance(message, ToolResult):
        seconds = calls.seconds.get(message.call_id)
        view.update_block(message.call_id, replace(result_block(message), seconds=seconds))
        if message.call_id in calls.stopped:
            view.add_note("info", STOPPED_TURN)


def _draw_reply(reply: Reply, view: View, toolbox: Toolset) -> None:
    view.begin_reply()
    if reply.reasoning:
        view.add_reasoning(reply.reasoning)
        if reply.thinking_seconds:
            view.end_reasoning(thinking_title(reply.thinking_seconds))
    if reply.text:
        view.add_text(reply.text)
    view.finish_reply()
    for call in reply.calls:
        title = call_title(toolbox.find(call.name), call)
        view.update_block(call.id, ToolBlock(title=title, tool=call.name, state="waiting"))
    if reply.error:
        view.add_note("error", reply.error)
    elif reply.finish == "cancelled":
        view.add_note("info", STOPPED_TURN)


def _note(reply: Reply) -> str:
    if reply.finish in ("cancelled", "done") or reply.error:
        return ""
    if not (reply.text or reply.calls):
        return "The model gave no answer."
    if reply.finish == "length":
        return "The answer was cut off by the length limit."
    is_written = _WRITTEN_CALL.match(reply.text) or _WRITTEN_LATER.search(_unfenced(reply.text))
    return UNPARSED_CALL if not reply.calls and is_written else ""


def _unfenced(text: str) -> str:
    """Return a text without its fenced blocks: what is in them is an example."""
    return _FENCED.sub("", text)


def _partial_object(arguments: str) -> dict[str, Any]:
    # Slow to load, and of no use before a model writes a call.
    from pydantic_core import from_json

    try:
        value = from_json(arguments or "{}", allow_partial="trailing-strings", allow_inf_nan=False)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
