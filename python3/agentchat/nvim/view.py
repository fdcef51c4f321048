"""Draws one chat in Neovim: operations collected and sent in batches, at most 30 a second."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Protocol

from agentchat.core.diff.changeset import FileChange
from agentchat.core.text import drop_overwritten, escape
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.view import ChatStatus, ToolBlock
from agentchat.nvim.lua_api import LuaApi, LuaFunction
from agentchat.nvim.render.approval import preview_table, prompt_table, proposal_table
from agentchat.nvim.render.listings import mentions

log = logging.getLogger(__name__)

FRAME_SECONDS = 1 / 30
TITLE_CHARACTERS = 200
LINES_PER_FRAME = 200
LINE_CHARACTERS = 2_000

Build = Callable[[], Any]


class NvimView:
    """Draws one chat. Text waits for the next frame, everything else is sent immediately."""

    def __init__(self, bridge: LuaApi, chat: str, root: str) -> None:
        self._out = Outbox(bridge)
        self._chat = chat
        self._root = root
        self._ops: list[list[Any]] = []
        self._status = ChatStatus()
        self._mentions: list[dict[str, Any]] = []
        self._output: dict[str, LiveOutput] = {}
        self._frame: asyncio.TimerHandle | None = None

    def user(self, text: str) -> None:
        """Show what the user sent."""
        self._draw("message", "user", text)

    def give_back(self) -> None:
        """Put what the user sent and nobody took back into the prompt."""
        self.flush()
        self._out.call("chat.refuse", self._chat)

    def begin_reply(self) -> None:
        """Begin a message of the model."""
        self._draw("message", "agent", "")

    def text(self, piece: str) -> None:
        """Add to the model's message at the next frame."""
        self._stream("text", piece)

    def reasoning(self, piece: str) -> None:
        """Add to the model's reasoning at the next frame."""
        self._stream("reasoning", piece)

    def finish_reply(self) -> None:
        """The model's message is complete."""
        self._draw("finish")

    def block(self, call_id: str, change: ToolBlock) -> None:
        """Show or change the block of one call; live output waits for the next frame."""
        fields = {name: value for name, value in asdict(change).items() if value is not None}
        if change.append is not None:
            output = self._output.setdefault(call_id, LiveOutput(change.tool or ""))
            if change.state is None:
                output.add(change.append)
                self._schedule()
                return
            fields.update(stream=output.take(), append=change.append.split("\n"))
        if change.title is not None:
            fields["title"] = escape(" ".join(change.title.split()))[:TITLE_CHARACTERS]
        if change.body is not None and call_id in self._output:
            self._show_output(call_id, self._output.pop(call_id))
        if change.state == "streaming":
            self._stream_block(call_id, fields)
        else:
            self._draw("block", call_id, fields)

    def note(self, level: str, text: str) -> None:
        """Add a line of the plugin's own to the transcript."""
        self._draw("message", "error" if level == "error" else "note", text)

    def retry(self, text: str) -> None:
        """Show in one line, which the next retry replaces, that a request is sent again."""
        self._draw("retry", text)

    def notify(self, level: str, text: str) -> None:
        """Show one line to the user."""
        self._draw("notify", level, text)

    def status(self, status: ChatStatus) -> None:
        """Show the chat's state, if it changed."""
        if status != self._status:
            self._status = status
            self._draw("status", {k: v for k, v in asdict(status).items() if v is not None})

    def event(self, name: str, data: Mapping[str, Any]) -> None:
        """Fire a ``User`` event after all that was drawn before."""
        self._draw(*_event(name, data))

    def tools(self, chat: Chat) -> None:
        """Show which tools and groups a prompt can mention, if that changed."""
        names = mentions(chat)
        if names != self._mentions:
            self._mentions = names
            self._draw("tools", names)

    def ask(self, prompt: str, question: ApprovalRequest) -> None:
        """Show a question."""
        self.flush()
        build = partial(prompt_table, prompt, question, self._root)
        self._out.call_built("approval.show", self._chat, build=build)

    def close_prompt(self, prompt: str) -> None:
        """Take a question away."""
        self._out.call("approval.close", self._chat, prompt)

    def stage(self, pending: Preview) -> None:
        """Show a staged preview."""
        build = partial(preview_table, pending, self._root)
        self._out.call_built("review.show", self._chat, build=build)

    def propose(self, subject: str, file: FileChange) -> None:
        """Show the proposed text of a file for editing."""
        table = proposal_table(subject, file, self._root)
        self._out.call("approval.edit_proposal", self._chat, table)

    def unstage(self, pending: Preview) -> None:
        """Take a preview away."""
        self._out.call("review.close", self._chat, pending.id)

    def flush(self) -> None:
        """Send what waits, now."""
        if self._frame is not None:
            self._frame.cancel()
            self._frame = None
        for call_id, output in self._output.items():
            self._show_output(call_id, output)
        if self._ops:
            ops, self._ops = self._ops, []
            self._out.call("chat.apply", self._chat, ops)

    def _show_output(self, call_id: str, output: LiveOutput) -> None:
        """Show what is new of a call's output, and fire the event for it."""
        text = output.take()
        if text:
            data = {"tool": output.tool, "call_id": call_id, "text": text.strip("\r\n")}
            self._ops.append(["block", call_id, {"stream": text}])
            self._ops.append(_event("AgentToolProgress", data))

    def _draw(self, *op: Any) -> None:
        self._ops.append(list(op))
        asyncio.get_running_loop().call_soon(self.flush)

    def _stream(self, kind: str, piece: str) -> None:
        if self._ops and self._ops[-1][0] == kind:
            self._ops[-1][1] += piece
        else:
            self._ops.append([kind, piece])
        self._schedule()

    def _stream_block(self, call_id: str, fields: dict[str, Any]) -> None:
        if self._ops and self._ops[-1][:2] == ["block", call_id]:
            self._ops[-1][2].update(fields)
        else:
            self._ops.append(["block", call_id, fields])
        self._schedule()

    def _schedule(self) -> None:
        if self._frame is None:
            loop = asyncio.get_running_loop()
            self._frame = loop.call_later(FRAME_SECONDS, self.flush)


def _event(name: str, data: Mapping[str, Any]) -> list[Any]:
    return ["event", name, dict(data)]


class LiveOutput:
    """Collects text of one call; a flood keeps its newest lines only.

    The full output is the tool's business: it replaces the text when the call ends.
    """

    def __init__(self, tool: str = "") -> None:
        self.tool = tool
        self._lines: deque[str] = deque(maxlen=LINES_PER_FRAME)
        self._rest = ""
        self._break = False

    def add(self, text: str) -> None:
        """Take some more text."""
        *lines, rest = (self._rest + text).split("\n")
        self._lines.extend(line[:LINE_CHARACTERS] for line in lines[-LINES_PER_FRAME:])
        self._rest = rest[-LINE_CHARACTERS:]

    def take(self) -> str:
        """Return what came since the last time.

        A line end at its end is held back until something follows it, and so is a carriage
        return: what follows replaces the line.
        """
        text = _newest_states("\n".join([*self._lines, self._rest]))
        if not text:
            return ""
        self._lines.clear()
        self._rest = "\r" if text.endswith("\r") else ""
        text = text.rstrip("\r")
        if not text:
            return ""
        text = "\n" + text if self._break else text
        self._break = text.endswith("\n")
        return text.removesuffix("\n")


def _newest_states(text: str) -> str:
    """Return a piece of output without what it overwrites itself.

    A carriage return stays where it may overwrite what came before the piece.
    """
    first = text.partition("\n")[0].rstrip("\r")
    return "\r" * ("\r" in first) + drop_overwritten(text)


class Caller(Protocol):
    """What calls a function of Lua, now."""

    def call(self, name: LuaFunction, *args: Any) -> None:
        """Call it soon."""

    def notify(self, level: str, text: str) -> None:
        """Show one line: level is ``info``, ``warn`` or ``error``."""


class Outbox:
    """Calls leave in the order they came; what is built in a thread holds up those behind it.

    A diff of many files takes tenths of a second to be compared and coloured. Meanwhile other chats
    go on.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._waiting: deque[tuple[LuaFunction, tuple[Any, ...], Build | None]] = deque()
        self._task: asyncio.Task[None] | None = None

    def call(self, name: LuaFunction, *args: Any) -> None:
        """Call a function after all that was called before."""
        if self._waiting:
            self._waiting.append((name, args, None))
        else:
            self._caller.call(name, *args)

    def call_built(self, name: LuaFunction, *args: Any, build: Build) -> None:
        """Call a function with what ``build`` returns as its last argument.

        ``build`` runs in a thread. If it raises, that is logged and shown, and nothing is called.
        """
        self._waiting.append((name, args, build))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        while self._waiting:
            name, args, build = self._waiting[0]
            try:
                built = () if build is None else (await asyncio.to_thread(build),)
                self._caller.call(name, *args, *built)
            except Exception as error:
                log.exception("%s was not called", name)
                text = f"Something cannot be shown: {error!r}. See the log."
                self._caller.notify("error", text)
            self._waiting.popleft()
        self._task = None
