"""Draws one chat in Neovim: collects operations and sends them in batches."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from dataclasses import fields as dataclass_fields
from functools import partial
from typing import Any, Protocol

from agentchat.core.diff.changeset import FileChange
from agentchat.core.text import escape_hidden_characters
from agentchat.core.tools.todo import TodoItem
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.view import ChangesPage, ChatStatus, ToolBlock
from agentchat.nvim.lua_api import LuaFunction
from agentchat.nvim.render.approval import preview_table, proposal_table, request_table
from agentchat.nvim.render.changes import changes_table
from agentchat.nvim.render.listings import mentions
from agentchat.nvim.render.live_output import LiveOutput

log = logging.getLogger(__name__)

FRAME_SECONDS = 1 / 30
"""Streamed text and the blocks of calls are sent at most so often: more only costs time."""
COLLECT_SECONDS = 0.01
"""The first piece after a pause waits so long for what belongs to it."""
BATCH_SECONDS = 0.1
"""Calls that begin and end faster than frames follow are drawn once, at most so much later."""
OPS_PER_CALL = 40
"""Operations in one call of Lua; between two calls Neovim takes the user's keys."""
LINES_PER_OP = 25
"""So many lines of a block count as one more operation."""
FRAMED_EVENTS = frozenset({"AgentToolStarted", "AgentToolFinished"})
LIST_ITEMS = 1_000
"""Items of a list of a document in one message, which Neovim takes over in about a millisecond."""
TITLE_CHARACTERS = 200

BLOCK_FIELDS = tuple(field.name for field in dataclass_fields(ToolBlock))

Build = Callable[[], dict[str, Any]]


class NvimView:
    """Draws one chat. Streamed text and the blocks of calls wait for the next frame.

    Changes of one block in one frame are sent as one.
    """

    def __init__(self, lua: Caller, chat: str, root: str) -> None:
        self._outbox = Outbox(lua)
        self._chat = chat
        self._root = root
        self._ops: list[list[Any]] = []
        self._status = ChatStatus()
        self._mentions: list[dict[str, Any]] = []
        self._output: dict[str, LiveOutput] = {}
        self._blocks: dict[str, dict[str, Any]] = {}
        """The fields of each block in ``_ops``, to which later changes can be added."""
        self._frame: asyncio.TimerHandle | None = None
        self._flushed_at = 0.0
        self._due = 0.0
        """When the frame is sent, as far as is known."""
        self._latest = 0.0
        """The time to which more calls can delay it."""
        self._is_flushing = False
        self._closed = False
        self.is_drawn = asyncio.Event()
        """Whether Neovim has drawn the messages of ``prepend``."""

    def close(self) -> None:
        """Draw nothing more: the buffer is gone, and the chat may be in a new one already."""
        self._closed = True
        self.is_drawn.set()

    def add_user_message(self, text: str) -> None:
        """Show what the user sent."""
        self._draw("message", "user", text)

    def recall_prompts(self, texts: Sequence[str], title: str) -> None:
        """Offer what the user sent earlier again."""
        self._draw("recall", list(texts), title)

    async def prepend(self, draw: Callable[[], None], *, continues: bool) -> None:
        """Show messages above all others; send no more of them than Neovim has drawn."""
        self.flush()
        draw()
        frames = list(_frames(self._take_ops()))
        for number, frame in enumerate(frames, 1):
            if self._closed:
                return
            self.is_drawn.clear()
            part = {"first": number == 1, "last": number == len(frames), "continues": continues}
            self._outbox.call("chat.prepend", self._chat, frame, part)
            await self.is_drawn.wait()

    def restore_prompt(self) -> None:
        """Put messages that no request has carried back into the prompt."""
        self.flush()
        self._status = ChatStatus(turn=-1)  # Lua shows an idle chat now, whatever this was
        if not self._closed:
            self._outbox.call("chat.refuse", self._chat)

    def begin_reply(self) -> None:
        """Begin a message of the model."""
        self._draw("message", "agent", "")

    def add_text(self, piece: str) -> None:
        """Add to the model's message at the next frame."""
        self._stream("text", piece)

    def add_reasoning(self, piece: str) -> None:
        """Add to the model's reasoning at the next frame."""
        self._stream("reasoning", piece)

    def end_reasoning(self, title: str) -> None:
        """Show in the header of the reasoning how long it took."""
        self._draw("thought", title)

    def finish_reply(self) -> None:
        """The model's message is complete."""
        self._ops.append(["finish"])
        self._schedule_batch()

    def update_block(self, call_id: str, change: ToolBlock) -> None:
        """Show or change the block of one call."""
        fields = {name: getattr(change, name) for name in BLOCK_FIELDS}
        fields = {name: value for name, value in fields.items() if value is not None}
        if change.append is not None:
            output = self._output.setdefault(call_id, LiveOutput(change.tool or ""))
            if change.state is None:
                output.add(change.append)
                self._schedule()
                return
            fields.update(stream=output.take(), append=change.append.split("\n"))
        if change.title is not None:
            fields["title"] = escape_hidden_characters(" ".join(change.title.split()))[
                :TITLE_CHARACTERS
            ]
        if change.body is not None and call_id in self._output:
            self._show_output(call_id, self._output.pop(call_id))
        self._draw_block(call_id, fields)
        self._schedule_batch()

    def add_note(self, level: str, text: str) -> None:
        """Add a line of the plugin's own to the transcript."""
        self._draw("message", "error" if level == "error" else "note", text)

    def show_activity(self, text: str, seconds: float = 0) -> None:
        """Show in one line what the chat waits for, until anything else is drawn."""
        self._draw("activity", text, seconds)

    def notify(self, level: str, text: str) -> None:
        """Show one line to the user."""
        self._draw("notify", level, text)

    def show_status(self, status: ChatStatus) -> None:
        """Show the chat's state, if it changed: at once whether it runs, waits or is idle."""
        if status == self._status:
            return
        is_same_state, self._status = status.state == self._status.state, status
        fields = {k: v for k, v in asdict(status).items() if v is not None}
        if is_same_state:
            self._ops.append(["status", fields])
            self._schedule_batch()
        else:
            self._draw("status", fields)

    def fire_event(self, name: str, data: Mapping[str, Any]) -> None:
        """Fire a ``User`` event after everything that was drawn before."""
        if name in FRAMED_EVENTS:
            self._ops.append(_event(name, data))
            self._schedule_batch()
        else:
            self._draw(*_event(name, data))

    def show_tools(self, chat: Chat) -> None:
        """Update the tools and groups that a prompt can mention, if they changed."""
        names = mentions(chat)
        if names != self._mentions:
            self._mentions = names
            self._draw("tools", names)

    def show_todo(self, items: Sequence[TodoItem]) -> None:
        """Show the todo list above the prompt."""
        self._draw("todo", [{"text": item.text, "status": item.status} for item in items])

    def show_request(self, id: str, request: ApprovalRequest) -> None:
        """Show an approval request."""
        self.flush()
        build = partial(request_table, id, request, self._root)
        self._outbox.call_built("approval.show", self._chat, build=build)

    def close_request(self, id: str) -> None:
        """Close an approval request."""
        self._outbox.call("approval.close", self._chat, id)

    def show_preview(self, preview: Preview) -> None:
        """Show a staged preview."""
        build = partial(preview_table, preview, self._root)
        self._outbox.call_built("review.show", self._chat, build=build)

    def show_changes(self, page: ChangesPage) -> None:
        """Show what was changed."""
        build = partial(changes_table, page, self._root)
        self._outbox.call_built("changes.show", self._chat, build=build)

    def show_proposed_text(self, subject: str, file: FileChange) -> None:
        """Show the proposed text of a file for editing."""
        table = proposal_table(subject, file, self._root)
        self._outbox.call("approval.edit_proposal", self._chat, table)

    def close_preview(self, preview: Preview) -> None:
        """Close a preview."""
        self._outbox.call("review.close", self._chat, preview.id)

    def flush(self) -> None:
        """Send everything that waits."""
        self._is_flushing = False
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        for call_id, output in self._output.items():
            self._show_output(call_id, output)
        if self._ops:
            self._flushed_at = asyncio.get_running_loop().time()
            for frame in _frames(self._take_ops()):
                if not self._closed:
                    self._outbox.call("chat.apply", self._chat, frame)

    def _take_ops(self) -> list[list[Any]]:
        ops, self._ops = self._ops, []
        self._blocks.clear()
        return ops

    def _show_output(self, call_id: str, output: LiveOutput) -> None:
        """Show the new output of a call, and fire its event."""
        text = output.take()
        if text:
            data = {"tool": output.tool, "call_id": call_id, "text": text.strip("\r\n")}
            self._draw_block(call_id, {"stream": text})
            self._ops.append(_event("AgentToolProgress", data))

    def _draw(self, *op: Any) -> None:
        self._ops.append(list(op))
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def _stream(self, kind: str, piece: str) -> None:
        if self._ops and self._ops[-1][0] == kind:
            self._ops[-1][1] += piece
        else:
            self._ops.append([kind, piece])
        self._schedule()

    def _draw_block(self, call_id: str, fields: dict[str, Any]) -> None:
        earlier = self._blocks.get(call_id)
        if earlier is None or "stream" in fields or "append" in fields:
            self._blocks[call_id] = fields
            self._ops.append(["block", call_id, fields])
            return
        if "body" in fields:  # replaces the output before it
            earlier.pop("stream", None)
            earlier.pop("append", None)
        earlier.update(fields)

    def _schedule(self) -> None:
        """Flush at the next frame; after a pause, as soon as what belongs together is there."""
        now = asyncio.get_running_loop().time()
        soon = max(self._flushed_at + FRAME_SECONDS, now + COLLECT_SECONDS)
        self._latest = soon if self._frame is None else min(soon, self._due)
        self._set_due(self._latest)

    def _schedule_batch(self) -> None:
        """Flush when nothing has followed for a frame, or when the batch is old."""
        now = asyncio.get_running_loop().time()
        if self._frame is None:
            self._latest = now + BATCH_SECONDS
        self._set_due(min(now + FRAME_SECONDS, self._latest))

    def _set_due(self, due: float) -> None:
        self._due = due
        if self._frame is not None and due < self._frame.when():
            self._frame.cancel()
            self._frame = None
        if self._frame is None:
            self._frame = asyncio.get_running_loop().call_at(due, self._end_frame)

    def _end_frame(self) -> None:
        self._frame = None
        if asyncio.get_running_loop().time() < self._due:
            self._set_due(self._due)
        else:
            self.flush()


def _frames(ops: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Yield the operations in frames that Neovim draws in a few milliseconds."""
    frame: list[list[Any]] = []
    weight = 0
    for op in ops:
        frame.append(op)
        weight += 1 + _count_lines(op) // LINES_PER_OP
        if weight >= OPS_PER_CALL:
            yield frame
            frame, weight = [], 0
    if frame:
        yield frame


def _count_lines(op: list[Any]) -> int:
    if op[0] == "block":
        return len(op[2].get("body", ())) + len(op[2].get("diff", ()))
    return op[1].count("\n") if op[0] in ("text", "reasoning") else 0


def _event(name: str, data: Mapping[str, Any]) -> list[Any]:
    return ["event", name, dict(data)]


class Caller(Protocol):
    """Calls functions of Lua."""

    def call(self, name: LuaFunction, *args: Any) -> None:
        """Call a function soon."""

    def notify(self, level: str, text: str) -> None:
        """Show one line: level is ``info``, ``warn`` or ``error``."""


class Outbox:
    """Calls functions in order; calls wait behind one whose argument a thread still builds.

    Comparing and highlighting a large diff takes tenths of a second, during which other chats go
    on.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._waiting: deque[tuple[LuaFunction, tuple[Any, ...], Build | None]] = deque()
        self._task: asyncio.Task[None] | None = None

    def call(self, name: LuaFunction, *args: Any) -> None:
        """Call a function after all earlier calls."""
        if self._waiting:
            self._waiting.append((name, args, None))
        else:
            self._caller.call(name, *args)

    def call_built(self, name: LuaFunction, *args: Any, build: Build) -> None:
        """Call a function with the table that ``build`` returns as its last argument.

        ``build`` runs in a thread. An exception in it is logged and shown instead of the call.
        Long lists of the table's ``doc`` go before it in parts.
        """
        self._waiting.append((name, args, build))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        while self._waiting:
            name, args, build = self._waiting[0]
            try:
                built = () if build is None else (await asyncio.to_thread(build),)
                for table in built:
                    self._send_long_lists(table.get("doc", {}))
                self._caller.call(name, *args, *built)
            except Exception as error:
                log.exception("%s was not called", name)
                text = f"Something cannot be shown: {error!r}. See the log."
                self._caller.notify("error", text)
            self._waiting.popleft()
        self._task = None

    def _send_long_lists(self, document: dict[str, Any]) -> None:
        """Send long lists in parts, and leave their names in the document."""
        for field, items in document.items():
            if len(items) > LIST_ITEMS:
                name = uuid.uuid4().hex
                for start in range(0, len(items), LIST_ITEMS):
                    self._caller.call("list.add", name, items[start : start + LIST_ITEMS])
                document[field] = {"$list": name}
