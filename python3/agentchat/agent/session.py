"""One chat: its queue of messages, its turns, its jobs and its state.

A session does one thing at a time: first the waiting jobs (undo, redo, recovery) one after
the other, then a turn if the user sent a message, and so on until nothing is left. Messages sent
meanwhile wait in one queue; the running turn takes them before its next request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from agentchat.agent.jobs import Job
from agentchat.agent.modes.mode import STAGE_MODE
from agentchat.agent.session_parts import SessionParts
from agentchat.agent.status import chat_status
from agentchat.agent.stream import STOPPED_TURN, replay
from agentchat.agent.undo.pending_previews import PendingPreviews
from agentchat.agent.undo.recovery import LeftoverFiles, Recovery
from agentchat.core.errors import Unreachable, UserError
from agentchat.core.tools.mentions import CapturedContext
from agentchat.core.tools.todo import parse_todo
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.hunk_decisions import HunkDecision
from agentchat.core.turn.loop import TurnEnd, internal_error_message
from agentchat.core.turn.validate import model_schema
from agentchat.core.workspace import SandboxSetting
from agentchat.journal import records as r
from agentchat.journal.reader import todo_record

log = logging.getLogger(__name__)

NOT_CONNECTED = "Not sent: the workspace still cannot be reached, see above."
COMPACT_BUSY = "A summary can be taken back when the chat is idle: stop it first with :AgentStop."

CLOSE_SECONDS = 5.0
"""How long closing a chat waits for running work before it cancels that."""


class Session:
    """Runs one chat, whose parts it is given. Lives on one event loop."""

    def __init__(self, parts: SessionParts) -> None:
        self.chat = parts.chat
        self.commands = parts.commands
        self.rules_files = parts.rules_files
        self.tools = parts.tools
        self.approvals = parts.approvals
        self.preview_actions = parts.preview_actions
        self._workspace = parts.workspace
        self._view = parts.view
        self._journal = parts.journal
        self._model = parts.model_source
        self.chat_agent, self._plan_turn = parts.chat_agent, parts.plan_turn
        self._agent = parts.agent
        self._frontend = parts.observed_frontend
        self._background, self._warm_up = parts.background, parts.warm_up
        self._jobs = parts.jobs
        self._window = parts.window
        self._expander = parts.expander
        self._preparation = parts.preparation
        self._queue = parts.queue
        self._previews = parts.previews
        self._code_inserts = parts.code_inserts
        self._stage, self._mode = parts.stage, parts.mode
        self._isolation = parts.isolation
        self._undo_commands, self._changes = parts.undo_commands, parts.changes
        self._interpreter = parts.interpreter
        self._compaction = parts.compaction
        self._in_turn = False
        self._unreachable = ""
        self._working = False
        parts.observer.session = self
        self.chat.todo.on_change = self._show_todo
        if self._agent is not None:
            self._agent.wake, self._agent.stop_turn = self._start_work, self._interpreter.stop

    # --- commands of the user ---------------------------------------------------------------------

    def send(
        self,
        text: str,
        captured: Mapping[str, CapturedContext] = MappingProxyType({}),
        data: str = "",
    ) -> None:
        """Take what the user typed: it begins a turn, or joins the next request of the running one.

        Args:
            captured: what the editor had for the context mentions in ``text``.
            data: text that follows it, in which nothing is a mention or a command.
        """
        self._queue.add(text, captured, data)
        self._start_work()

    def withdraw(self, text: str) -> None:
        """Take back a message that no request has carried yet."""
        self._queue.withdraw(text)

    def stop(self) -> None:
        """Stop the running turn, its request, tools and questions, or else cancel the newest job.

        Messages that no request has carried yet go back to the prompt.
        """
        has_messages = self._queue.drop_messages()
        self.chat.requested_focus = None
        if self._agent is not None:
            self._agent.drop_calls()
        if self._in_turn:
            self._interpreter.stop()
            return
        self._jobs.cancel()
        if has_messages:
            # No turn has begun whose end returns them.
            self._view.restore_prompt()

    def undo(self, turn: int | None = None) -> None:
        """Undo the file changes of a turn, by default of the newest that has some."""
        self.add_command(Job("undo", partial(self._undo_commands.undo, turn), is_command=True))

    def show_changes(self, turn: int | None, *, newest: bool = False) -> None:
        """Show what a turn changed, or the newest one, or else the chat."""
        work = self._changes.show(self.chat.turn if newest else turn)
        self._background.start(work, "the changes")

    def take_back(self, turn: int | None, stamp: str, hunks: Sequence[HunkDecision]) -> None:
        """Take hunks of a file back that ``show_changes`` has shown."""
        work = partial(self._changes.take_back, turn, stamp, hunks)
        self.add_command(Job("undo", work, is_command=True))

    def redo(self) -> None:
        """Redo the last undo."""
        self.add_command(Job("redo", self._undo_commands.redo, is_command=True))

    def compact(self, focus: str = "") -> None:
        """Propose a summary of the older part; while a turn runs, before its next request.

        Args:
            focus: what the summary must keep in particular.
        """
        if self._in_turn:
            self._compaction.propose_later(focus)
        else:
            work = partial(self._compaction.propose, focus)
            self.add_command(Job("compact", work, is_command=True))

    def undo_compaction(self) -> None:
        """Send the messages again that the newest summary replaces."""
        if self._in_turn or self._jobs.busy:
            self._view.notify("warn", COMPACT_BUSY)
        else:
            self._compaction.undo()

    def insert_code(self, path: str, line: int, last: int, code: Sequence[str]) -> None:
        """Stage a preview that puts code below a line of a file, for the lines up to the last."""
        work = self._code_inserts.insert(path, line, last, code)
        self._background.start(work, "inserting code")

    def edit_todo(self, text: str) -> None:
        """Take the todo list as the user wrote it, one item a line."""
        self.chat.todo.replace(parse_todo(text))
        self.add_note("The user edited the todo list.")

    def answer(self, request_id: str, response: ApprovalResponse) -> None:
        """Take the answer to an approval request; an answer to a closed one does nothing."""
        self.approvals.answer(request_id, response)

    def set_mode(self, mode: str) -> None:
        """Change the mode; answer the open request if the new mode decides it.

        The mode ``stage`` begins when its overlay works; if none does, the mode stays.
        """
        if mode != STAGE_MODE:
            self._mode.change(mode)
            self._view.show_tools(self.chat)  # a mode hides some
        elif self._in_turn:
            self._background.start(self._mode.enter_stage(), "stage mode")
        else:  # a message that the user sends meanwhile waits for it
            self._add_job(Job("stage mode", self._mode.enter_stage))

    def set_sandbox(self, setting: SandboxSetting) -> None:
        """Confine commands as the settings say, from the next message on."""
        self._preparation.sandbox = setting

    async def idle(self) -> None:
        """Return when no job and no turn runs or waits."""
        await self._background.wait()

    # --- opening and closing ----------------------------------------------------------------------

    def restore(self) -> None:
        """Continue where the journal of this chat ends: tools, turn number, notes to the model."""
        self.tools.restore()
        self._undo_commands.restore()
        self.chat.turn = self._journal.restored.timeline.turn
        self.chat.context.restore(self._journal.restored.steps, self.chat.history)
        self.chat.spending.chat = self._journal.restored.used
        self.chat.todo.restore(self._journal.restored.todo)
        mode = self._journal.restored.mode
        if mode == STAGE_MODE:
            self.set_mode(mode)
        else:
            self._mode.restore(mode)

    def replay(self) -> None:
        """Draw the history in the background: the user can send meanwhile."""
        self._view.show_todo(self.chat.todo.items)
        work = replay(
            self.chat.history, self._view, self.chat.toolset, self._journal.restored.calls
        )
        self._warm_up.start(work, "drawing the history")

    def warm_up(self) -> None:
        """Connect to the workspace and read the rules in the background."""
        self._warm_up.start(self._connect(), "connecting")
        self._warm_up.start(self.approvals.refresh(), "reading the rules")
        self._warm_up.start(self._make_schemas(), "making the schemas of the tools")
        if self.chat_agent is not None:
            self.chat_agent.warm_up()

    def recover(self, leftovers: LeftoverFiles) -> None:
        """Bring what the last process left to an end, or back; turns wait until that is done."""
        recovery = Recovery(
            self._workspace,
            view=self._view,
            journal=self._journal,
            leftovers=leftovers,
            observer=self,
        )
        if recovery.is_needed:
            self._add_job(Job("recovery", recovery.recover))
        if self._stage.has_changes():
            self._add_job(Job("reading the staged changes", self._stage.restore))
        pending = PendingPreviews(
            previews=self._previews, view=self._view, journal=self._journal, observer=self
        )
        if pending.is_needed:
            self._add_job(Job("showing the pending previews", pending.restore))

    async def close(self) -> None:
        """Stop everything, forget the grants and wait for running work."""
        self.stop()
        self.chat.policy.grants.clear()
        await self._warm_up.close()
        await self._background.close(CLOSE_SECONDS)
        await self._stage.close()
        if self._isolation is not None:
            await self._isolation.close()
        if self.chat_agent is not None:
            await self.chat_agent.close()

    # --- the parts of the chat report here --------------------------------------------------------

    def refresh(self) -> None:
        """Show the status of the chat."""
        self._window.update()
        status = chat_status(
            self.chat,
            self._model,
            running=self._in_turn or self._jobs.busy,
            asking=self._frontend is not None and self._frontend.asking,
            requests=self.approvals.count,
            agent=self.chat_agent.status() if self.chat_agent is not None else None,
        )
        self._view.show_status(status)

    def add_note(self, text: str) -> None:
        """Add what the model must know at the next request."""
        self._queue.add_note(text)

    # --- jobs and turns, one at a time ------------------------------------------------------------

    def add_command(self, job: Job) -> None:
        """Run a command of the user when no turn runs; refuse it while one does."""
        if self._in_turn:
            text = f"Nothing to {job.name} while a turn runs: stop it first with :AgentStop."
            self._view.notify("warn", text)
        else:
            self._add_job(job)

    def _add_job(self, job: Job) -> None:
        self._jobs.add(job)
        self._start_work()

    def _start_work(self) -> None:
        if not self._working:
            self._working = True
            self._background.start(self._work(), "the chat")
        self.refresh()

    async def _work(self) -> None:
        """Run jobs and turns until nothing waits."""
        try:
            while self._jobs.busy or self._has_turn:
                if self._jobs.busy:
                    await self._jobs.run()
                else:
                    await self._run_turn()
        finally:
            self._working = False
            self.refresh()

    @property
    def _has_turn(self) -> bool:
        """Whether a message of the user or a call of the agent waits for a turn."""
        has_calls = self._agent is not None and self._agent.has_calls
        return has_calls or self._queue.has_messages

    def _show_todo(self) -> None:
        """Record and show the todo list, after it was changed."""
        self._journal.add(todo_record(self.chat.todo.items))
        self._view.show_todo(self.chat.todo.items)

    async def _make_schemas(self) -> None:
        """Make what the first request says of the tools; later ones have it already."""
        tools = self.chat.toolset.offered()
        await asyncio.to_thread(lambda: [model_schema(tool) for tool in tools])

    async def _connect(self) -> None:
        try:
            await self._preparation.connect()
        except Unreachable as error:
            if not self._in_turn:  # a turn reports it itself
                self._unreachable = str(error)
                self._view.add_note("error", str(error))

    async def _run_turn(self) -> None:
        self._in_turn, end = True, TurnEnd("error")
        try:
            self._begin_turn()
            end = await self._play_turn()
        except Exception as error:
            log.exception("the turn failed")
            end = TurnEnd("error", internal_error_message(error))
        finally:
            self._in_turn = False
            self._end_turn(end)

    def _begin_turn(self) -> None:
        self.chat.turn += 1
        if self._agent is not None:
            self._agent.begin_turn()
        self.refresh()
        self._view.fire_event("AgentTurnStarted", {"turn": self.chat.turn})

    def _end_turn(self, end: TurnEnd) -> None:
        """Show how the turn ended; what waited for its end can begin."""
        self._view.show_tools(self.chat)  # a search may have found some
        self._expander.end_turn()
        if self._agent is not None:
            self._agent.end_turn(self.chat.history, end)
        if self.chat.requested_focus is not None:  # the turn made no request any more
            focus, self.chat.requested_focus = self.chat.requested_focus, None
            self.compact(focus)
        if end.message:
            known = end.message == self._unreachable
            self._view.add_note("error", NOT_CONNECTED if known else end.message)
        else:
            self._unreachable = ""
            if end.reason == "cancelled":
                self._view.add_note("info", STOPPED_TURN)
        if end.reason != "stop" and not end.stopped and self._queue.drop_messages():
            # The error that ended this turn would end the next one, too.
            self._view.restore_prompt()
        self.refresh()
        self._view.fire_event("AgentTurnFinished", {"reason": end.reason})

    async def _play_turn(self) -> TurnEnd:
        end = TurnEnd("error")
        try:
            self._journal.add(r.TurnStarted(self.chat.turn))
            end = await self._interpreter.play(self._plan_turn(self.chat))
            self._journal.add(r.TurnFinished(self.chat.turn, end.reason))
        except UserError as error:
            end = TurnEnd("error", end.message or str(error), end.stopped)
        return end
