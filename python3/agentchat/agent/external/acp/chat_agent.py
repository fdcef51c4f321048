"""The agent of one chat: the model whose replies are what the agent does by itself."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import agentchat
from agentchat.agent.external.acp.calls import AgentCall
from agentchat.agent.external.acp.connection import AgentWorker, end_in_time
from agentchat.agent.external.acp.files import AgentFiles
from agentchat.agent.external.acp.known_agents import AgentDefinition, resolve
from agentchat.agent.external.acp.questions import Asks, Questions
from agentchat.core.diff.diff_text import count_text, diff_lines_of
from agentchat.core.errors import ToolError, UserError
from agentchat.core.messages import History, Note, Reply, Status, ToolResult, UserText
from agentchat.core.model import Model, ModelRequest, Notice, Piece, ReasoningDelta, TextDelta
from agentchat.core.tools.todo import TodoItem, TodoStatus
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import ToolBlock, View
from agentchat.core.workspace import Workspace
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter

STOP_SECONDS = 5.0
STUBBORN = "{} does not stop; its process was ended."
FORGOT = "{} was started again: it does not know what was said before."
NOT_RESUMED = (
    "A saved chat with {0} cannot be continued yet: :AgentChat! agent://{0} starts a new one."
)
NO_IMAGES = "{} takes no images."
REJECTED = "Rejected {}: {}"
ENDS: Mapping[str, str] = {
    "max_tokens": "The answer was cut off by the length limit.",
    "max_turn_requests": "The agent stopped: it made as many requests as it may in one turn.",
    "refusal": "The agent refused to go on.",
}
TODO: Mapping[str, TodoStatus] = {
    "pending": "pending", "in_progress": "running", "completed": "done",
}  # fmt: skip

Update = Mapping[str, Any]


class ChatAgent:
    """The model of a chat that is an agent, and the source of this model.

    Args:
        say: sends a message of the user as the next prompt.
    """

    window: int | None = None

    def __init__(
        self,
        definition: AgentDefinition,
        chat: Chat,
        *,
        workspace: Workspace,
        approvals: Asks,
        view: View,
        journal: JournalWriter,
        say: Callable[[str], None],
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self._chat = chat
        self._workspace = workspace
        self._view = view
        self._journal = journal
        self._say = say
        self._questions = Questions(
            self.name, chat, workspace=workspace, approvals=approvals, view=view, journal=journal,
            reject=self._reject, cancel=self._cancel_by_answer,
        )  # fmt: skip
        self._files = AgentFiles(workspace, journal, self._questions)
        self._connection = AgentWorker(
            {
                "permission": self._permit,
                "read_file": self._files.read,
                "write_file": self._files.write,
                "exited": self._take_exit,
            }
        )
        self._starting: asyncio.Future[None] | None = None
        self._about: Mapping[str, Any] = {}
        self._session, self._pid = "", 0
        self._prompt: asyncio.Future[Any] | None = None
        self._cancelling: asyncio.Future[None] | None = None
        self._updates: asyncio.Queue[Update | None] = asyncio.Queue()
        self._calls: dict[str, AgentCall] = {}
        self._begun: AgentCall | None = None
        """The call that the last reply ended with."""
        self._results: list[ToolResult] = []
        self._told = len(chat.history.messages)
        self._was_saved = bool(chat.history.messages)
        self._has_prompted = False
        self.state = "starting"

    # --- the model of the chat --------------------------------------------------------------------

    def current(self) -> Model:
        """Return the agent: a chat is with one for its life."""
        return self

    def warm_up(self) -> None:
        """Start the agent in the background, unless the chat is a saved one."""
        if not self._was_saved:
            self._begin_start()

    async def learn_window(self) -> None:
        """Nothing to learn: the agent keeps its own conversation."""

    async def close(self) -> None:
        """End the agent and all that it started."""
        self._connection.close()

    def status(self) -> dict[str, Any]:
        """Return what ``status()`` says of the agent."""
        about = self._about.get("agentInfo")
        version = about.get("version") if isinstance(about, Mapping) else ""
        return {
            "name": self.name,
            "version": str(version or ""),
            "session": self._session,
            "state": self.state,
        }

    def take_results(self) -> tuple[ToolResult, ...]:
        """Return the results that came since the last time."""
        results, self._results = tuple(self._results), []
        return results

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        """Return the agent's next reply; a stop ends its turn first."""
        try:
            if self._prompt is None:
                await self._begin_prompt(request.history, on_piece)
            if self._show_begun():
                return self._reply("", "", finish="tool_calls")
            return await self._next_reply(on_piece)
        except (ToolError, UserError) as error:
            await self._end_prompt()
            return Reply(error=str(error), model=self.name)
        except asyncio.CancelledError:
            await self._stop()
            raise

    # --- its turn ---------------------------------------------------------------------------------

    async def _begin_prompt(self, history: History, on_piece: Callable[[Piece], None]) -> None:
        if self._was_saved:
            raise UserError(NOT_RESUMED.format(self.name))
        await self._start()
        blocks = self._blocks(history)
        self._calls.clear()
        self._results.clear()
        self._files.begin_turn()
        self._cancelling = None
        self._updates = asyncio.Queue()
        if self._has_prompted and self.state == "restarted":
            on_piece(Notice(FORGOT.format(self.name)))
        self.state, self._has_prompted = "ready", True
        self._prompt = asyncio.ensure_future(
            self._connection.request("prompt", {"blocks": blocks}, self._updates.put_nowait)
        )
        self._prompt.add_done_callback(lambda _: self._updates.put_nowait(None))

    def _blocks(self, history: History) -> list[dict[str, Any]]:
        """Return what the agent has not been told, as content blocks."""
        new, self._told = history.messages[self._told :], len(history.messages)
        said = [message for message in new if isinstance(message, (UserText, Note))]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text} for message in said]
        images = [i for message in said if isinstance(message, UserText) for i in message.images]
        capabilities = self._about.get("agentCapabilities") or {}
        if images and not (capabilities.get("promptCapabilities") or {}).get("image"):
            raise UserError(NO_IMAGES.format(self.name))
        for image in images:
            data = base64.b64encode(image.data).decode()
            blocks.append({"type": "image", "mimeType": image.mime, "data": data})
        return blocks

    async def _next_reply(self, on_piece: Callable[[Piece], None]) -> Reply:
        text, reasoning = "", ""
        while (update := await self._updates.get()) is not None:
            kind, said = update.get("sessionUpdate"), _text(update)
            if kind == "agent_message_chunk" and said:
                text += said
                on_piece(TextDelta(said))
            elif kind == "agent_thought_chunk" and said:
                reasoning += said
                on_piece(ReasoningDelta(said))
            elif kind in ("tool_call", "tool_call_update"):
                call = self._take_call(update)
                if call is not None and not call.shown.is_set():
                    self._begun = call
                    calls = (call.as_tool_call(),)
                    return self._reply(text, reasoning, calls=calls, finish="tool_calls")
                if call is not None and self._has_ended(call):
                    return self._reply(text, reasoning, finish="tool_calls")
            elif kind == "plan":
                self._chat.todo.replace(_todo(update))
        return await self._last_reply(text, reasoning, on_piece)

    def _reply(self, text: str, reasoning: str, **more: Any) -> Reply:
        return Reply(text, reasoning=reasoning, model=self.name, **more)

    async def _last_reply(
        self, text: str, reasoning: str, on_piece: Callable[[Piece], None]
    ) -> Reply:
        """Return the reply that ends the turn."""
        prompt, self._prompt = self._prompt, None
        assert prompt is not None
        self._questions.cancel_all()
        self._reject_open()
        if self._cancelling is not None:
            await self._cancelling
            return self._reply(text, reasoning, finish="cancelled")
        try:
            answer = prompt.result()
        except ToolError as error:
            return self._reply(text, reasoning, error=str(error))
        note = ENDS.get(str(answer.get("stopReason")))
        if note:
            on_piece(Notice(note))
        return self._reply(text, reasoning, finish="done")

    async def _stop(self) -> None:
        """End the agent's turn: its questions first, then the turn, then the process."""
        if self._prompt is None:
            return
        await self._cancel(self._prompt)
        await self._end_prompt()

    async def _end_prompt(self) -> None:
        prompt, self._prompt = self._prompt, None
        self._questions.cancel_all()
        if prompt is not None:
            await asyncio.wait({prompt})
            prompt.exception()  # marks it as retrieved

    def _cancel_by_answer(self) -> None:
        """Stop the agent because the user answered a question with *cancel*."""
        if self._cancelling is None and self._prompt is not None:
            self._cancelling = asyncio.ensure_future(self._cancel(self._prompt))

    async def _cancel(self, prompt: asyncio.Future[Any]) -> None:
        self._questions.cancel_all()
        asking = asyncio.ensure_future(self._connection.request("cancel", {}))
        if not await end_in_time(prompt, STOP_SECONDS):
            await self._kill()
        asking.cancel()

    async def _kill(self) -> None:
        self._view.add_note("error", STUBBORN.format(self.name))
        await self._connection.request("kill", {})

    # --- its calls --------------------------------------------------------------------------------

    def _take_call(self, update: Update) -> AgentCall | None:
        """Take over what an update says of a call; updates come in any order."""
        number = update.get("toolCallId")
        if not isinstance(number, str) or not number:
            return None
        call = self._calls.setdefault(number, AgentCall(number))
        call.update(update)
        if call.shown.is_set() and call.end is None:
            body = call.text.split("\n") if call.text else None
            self._view.update_block(call.id, ToolBlock(title=call.line, body=body))
        return call

    def _has_ended(self, call: AgentCall) -> bool:
        """Whether this update ends a call, which has one result."""
        if call.end is None or call.is_over:
            return False
        self._finish(call, Status.REJECTED if call.is_rejected else call.end)
        return True

    def _finish(self, call: AgentCall, status: Status) -> None:
        call.is_over = True
        self._journal.add(r.CallFinished(call.id, status.value))
        change = call.change() if status is Status.SUCCESS else None
        result = ToolResult(call.id, call.tool, call.text, status)
        if change is not None:
            diff = "\n".join(diff_lines_of(change))
            result = replace(result, diff=diff, counts=count_text(change))
        self._results.append(result)

    def _reject_open(self) -> None:
        """Close the calls that the user rejected: some agents say nothing more of these."""
        for call in self._calls.values():
            if call.is_rejected and not call.is_over:
                self._finish(call, Status.REJECTED)

    def _show_begun(self) -> bool:
        """Show the call that the last reply began as running; return whether it has ended, too."""
        call, self._begun = self._begun, None
        if call is None:
            return False
        self._journal.add(r.CallStarted(call.id, call.tool, call.arguments()))
        body = call.text.split("\n") if call.text else None
        self._view.update_block(call.id, ToolBlock(state="running", body=body))
        self._view.fire_event("AgentToolStarted", {"tool": call.tool, "call_id": call.id})
        call.shown.set()
        return self._has_ended(call)

    # --- its requests -----------------------------------------------------------------------------

    async def _permit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        given, options = params.get("toolCall"), params.get("options")
        given = given if isinstance(given, Mapping) else {}
        number = given.get("toolCallId")
        number = number if isinstance(number, str) and number else f"question-{time.time_ns()}"
        # It goes through the queue, so that its block comes after the text before it.
        self._updates.put_nowait(
            {**given, "sessionUpdate": "tool_call_update", "toolCallId": number}
        )
        call = self._calls.setdefault(number, AgentCall(number))
        call.update(given)
        choices = (
            [o for o in options if isinstance(o, Mapping)] if isinstance(options, list) else []
        )
        if self._prompt is not None:  # a question belongs to a block that is in the chat
            shown = asyncio.ensure_future(call.shown.wait())
            await asyncio.wait({shown, self._prompt}, return_when=asyncio.FIRST_COMPLETED)
            shown.cancel()
        answer = await self._questions.answer(call, choices)
        if answer["outcome"]["outcome"] == "selected" and not call.is_rejected:
            await self._files.allow(call)
        return answer

    def _reject(self, call: AgentCall, reason: str) -> None:
        if reason:
            self._say(REJECTED.format(call.title or call.tool, reason))

    async def _take_exit(self, params: Mapping[str, Any]) -> None:
        self.state = "exited"
        self._view.fire_event("AgentAcpExited", {"agent": self.name, "code": params.get("code")})

    # --- its process ------------------------------------------------------------------------------

    def _begin_start(self) -> asyncio.Future[None]:
        if self._starting is None or self._starting.done():
            self._starting = asyncio.ensure_future(self._open())
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._starting

    async def _start(self) -> None:
        """Return when the agent runs; raises ToolError or UserError with a line for the user."""
        starting = self._starting
        is_gone = self.state == "exited" or not self._connection.alive
        if starting is None or (starting.done() and is_gone):
            starting = self._begin_start()
        await asyncio.shield(starting)

    async def _open(self) -> None:
        was_running, self.state = bool(self._session), "starting"
        try:
            await self._open_session()
        except BaseException:
            self.state = "exited"
            raise
        self.state = "restarted" if was_running else "ready"
        status = self.status()
        data = {"agent": self.name, "version": status["version"], "pid": self._pid}
        self._view.fire_event("AgentAcpStarted", data)

    async def _open_session(self) -> None:
        definition = self.definition
        program = await asyncio.to_thread(resolve, definition, self._workspace.root)
        opened = await self._connection.request(
            "open",
            {
                "name": self.name,
                "argv": list(program.argv),
                "env": dict(program.env),
                "cwd": self._workspace.root,
                "timeout": definition.timeout,
                "mode": definition.modes.get("ask", ""),
                "client": agentchat.__version__,
            },
        )
        self._about, self._session = opened["about"], opened["session"]
        self._pid = int(opened["pid"])
        version = self.status()["version"]
        self._journal.add(r.AgentStarted(self.name, version, program.argv, self._session))


def _text(update: Update) -> str:
    content = update.get("content")
    text = content.get("text") if isinstance(content, Mapping) else None
    return text if isinstance(text, str) else ""


def _todo(update: Update) -> tuple[TodoItem, ...]:
    entries = update.get("entries")
    known = [e for e in entries if isinstance(e, Mapping)] if isinstance(entries, list) else []
    return tuple(
        TodoItem(
            " ".join(str(entry.get("content") or "").split()),
            TODO.get(str(entry.get("status")), "pending"),
        )
        for entry in known
    )
