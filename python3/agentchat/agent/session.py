"""One chat: its queue of messages, its turns and its state.

A session does one thing at a time: the jobs that wait (undo, redo, recovery, replay), one after
the other, then a turn if the user sent something, and so on until nothing is left. What the user
sends meanwhile waits in one queue; the running turn takes it before its next request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from agentchat.agent.attachments import Attachments
from agentchat.agent.chat_tools import ChatTools, ToolFiles
from agentchat.agent.execution.previews import Previews
from agentchat.agent.execution.tool_runner import ResultStore, ToolRunner
from agentchat.agent.interpreter import Interpreter
from agentchat.agent.jobs import BackgroundJobs, Job, Jobs, Work
from agentchat.agent.message_queue import MessageQueue
from agentchat.agent.permissions.approvals import Approvals
from agentchat.agent.permissions.rule_store import RuleStore
from agentchat.agent.plan_mode import PlanMode
from agentchat.agent.preparation import Preparation
from agentchat.agent.preview_actions import PreviewActions, ResolveCommand
from agentchat.agent.status import ModelSource, ObservedFrontend, chat_status
from agentchat.agent.stream import STOPPED_TURN, replay
from agentchat.agent.undo.commands import UndoCommands
from agentchat.agent.undo.recovery import LeftoverFiles, Recovery
from agentchat.core.errors import Unreachable, UserError
from agentchat.core.tools.mentions import CapturedContext
from agentchat.core.tools.ports import Frontend, Workspace
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Action, ApprovalRequest, ApprovalResponse
from agentchat.core.turn.loop import TurnEnd, turn
from agentchat.core.turn.view import View
from agentchat.journal.timeline import UnfinishedChange
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0
"""How long a chat that is closed waits for what runs, before that is cancelled."""


class Session:
    """Runs one chat. Lives on one event loop."""

    def __init__(
        self,
        chat: Chat,
        *,
        workspace: Workspace,
        view: View,
        journal: JournalWriter,
        storage: ResultStore,
        model: ModelSource,
        max_parallel: int,
        frontend: Frontend | None = None,
        rulebook: RuleStore | None = None,
        tool_files: ToolFiles | None = None,
    ) -> None:
        self.chat = chat
        self._workspace = workspace
        self._view = view
        self._journal = journal
        self._model = model
        self._frontend = ObservedFrontend(frontend, self) if frontend is not None else None
        self._background = BackgroundJobs(view)
        self._jobs = Jobs(view)
        self._plan_mode = PlanMode(chat)
        self.tools = ChatTools(chat, view, journal, tool_files)
        self._preparation = Preparation(chat, workspace, self.tools)
        attachments = Attachments(workspace, storage, frontend)
        self._queue = MessageQueue(view, self._preparation, self.tools, attachments)
        self.judging = Approvals(chat, view, rulebook, self.refresh)
        previews = Previews(
            chat.pending, workspace, view, journal, self.refresh, self._queue.add_note
        )
        runner = ToolRunner(
            workspace,
            view,
            journal,
            previews,
            storage,
            toolbox=chat.toolbox,
            frontend=self._frontend,
        )
        self._undoing = UndoCommands(
            chat.toolbox,
            workspace=workspace,
            screen=view,
            journal=journal,
            runner=runner,
            tell=self._queue.add_note,
        )
        self.resolving = PreviewActions(
            chat.pending,
            approvals=self.judging,
            previews=previews,
            view=view,
            tell=self._queue.add_note,
            spawn=self._background.start,
        )
        self._interpreter = Interpreter(
            workspace=workspace,
            view=view,
            scribe=journal,
            runner=runner,
            previews=previews,
            approvals=self.judging,
            queue=self._queue,
            preparation=self._preparation,
            model=model,
            max_parallel=max_parallel,
            changed=self.refresh,
        )
        self._in_turn = False
        self._working = False
        self._warming_up: list[asyncio.Task[None]] = []
        self._unfinished: tuple[UnfinishedChange, ...] = ()
        self._touched: frozenset[str] = frozenset()

    # What the user does.

    def send(
        self, text: str, captured: Mapping[str, CapturedContext] = MappingProxyType({})
    ) -> None:
        """Take what the user typed: it begins a turn, or joins the next request of the running one.

        Args:
            captured: what the editor had for the context mentions in ``text``.
        """
        self._queue.put(text, captured)
        self._work_off()

    def stop(self) -> None:
        """End the running turn, its request, tools and questions, or else the newest job.

        What was sent and is not taken yet goes back to the prompt.
        """
        dropped = self._queue.drop()
        if self._in_turn:
            self._interpreter.stop()
            return
        self._jobs.cancel()
        if dropped:
            # No turn has begun that would say how it ended.
            self._view.give_back()

    def undo(self, turn: int | None = None) -> None:
        """Take the file changes of a turn back, by default of the newest that has some."""
        self._take_back("undo", partial(self._undoing.undo, turn))

    def redo(self) -> None:
        """Take the last undo back."""
        self._take_back("redo", self._undoing.redo)

    def answer(self, request_id: str, response: ApprovalResponse) -> None:
        """Take the answer to an approval request; a stale one does nothing."""
        if not self.judging.answer(request_id, response):
            log.info("an answer (%s) came for a request that is not open", response.choice)

    def resolve(self, action: Action, reason: str) -> None:
        """Apply or discard the newest preview: the user's command is the consent."""
        self.resolving.resolve(ResolveCommand(action, reason))

    def set_mode(self, mode: str) -> None:
        """Change the mode; an open question that the new mode settles is answered by it."""
        self._plan_mode.change(mode)
        self.judging.judge_again()
        self.refresh()

    def set_sandbox(self, wanted: str) -> None:
        """Confine commands as the settings want it (``off``, ``auto``, ``required``)."""
        self._preparation.sandbox = wanted

    @property
    def question(self) -> ApprovalRequest | None:
        """The approval request that is open."""
        return self.judging.request

    # How a chat is opened and closed.

    def catch_up(self) -> None:
        """Go on where the journal of this chat ends: its tools, turns, and notes to the model."""
        self.tools.catch_up()
        happened = self._undoing.catch_up()
        self.chat.turn = happened.turn
        self._unfinished = happened.unfinished
        self._touched = frozenset(step.path for step in happened.steps)

    def replay(self) -> None:
        """Draw the history; turns wait until that is done."""
        work = partial(replay, self.chat.history, self._view, self.chat.toolbox)
        self._add(Job("drawing", work))

    def warm_up(self) -> None:
        """Get workspace and rules ready in the background: not while the user waits for it."""
        self._warming_up = [
            self._background.start(self._connect(), "connecting"),
            self._background.start(self.judging.refresh(), "reading the rules"),
        ]

    def recover(self, leftovers: LeftoverFiles) -> None:
        """End what a process that was killed left half made; turns wait until that is done."""
        if self._unfinished or (self._touched and not self._workspace.host):
            self._add(Job("recovery", partial(self._recover, leftovers)))

    async def close(self) -> None:
        """End the chat: stop it, forget its grants, wait for what runs."""
        self.stop()
        self.chat.policy.grants.clear()
        for task in self._warming_up:
            task.cancel()
        await self._background.close(CLOSE_SECONDS)

    # What it does, one thing at a time.

    def refresh(self) -> None:
        """Show the chat's state."""
        status = chat_status(
            self.chat,
            self._model,
            running=self._in_turn or self._jobs.busy,
            asking=self._frontend is not None and self._frontend.asking,
            request=self.judging.request,
        )
        self._view.status(status)

    def _take_back(self, name: str, work: Callable[[], Work]) -> None:
        if self._in_turn:
            text = f"Nothing to {name} while a turn runs: stop it first with :AgentStop."
            self._view.notify("warn", text)
        else:
            self._add(Job(name, work, asked=True))

    def _add(self, job: Job) -> None:
        self._jobs.add(job)
        self._work_off()

    def _work_off(self) -> None:
        if not self._working:
            self._working = True
            self._background.start(self._work(), "the chat")
        self.refresh()

    async def _work(self) -> None:
        """Run what waits until nothing does: jobs first, then a turn."""
        try:
            while self._jobs.busy or self._queue.wants_answer:
                if self._jobs.busy:
                    await self._jobs.run()
                    self.refresh()
                else:
                    await self._take_turn()
        finally:
            self._working = False

    async def _connect(self) -> None:
        try:
            await self._preparation.connect()
        except Unreachable as error:
            if not self._in_turn:  # a turn says it itself
                self._view.note("error", str(error))

    async def _recover(self, leftovers: LeftoverFiles) -> None:
        try:
            await self._workspace.ready()
        except Unreachable:  # the attempt to connect says it
            return
        unfinished, self._unfinished = self._unfinished, ()
        recovery = Recovery(
            self._workspace, self._view, self._journal, leftovers, self._queue.add_note
        )
        await recovery.recover(unfinished, self._touched)

    async def _take_turn(self) -> None:
        self._in_turn = True
        self.chat.turn += 1
        self.refresh()
        self._view.event("AgentTurnStarted", {"turn": self.chat.turn})
        end = self._journal_end(await self._play())
        self._in_turn = False
        if end.message:
            self._view.note("error", end.message)
        elif end.reason == "cancelled":
            self._view.note("info", STOPPED_TURN)
        if end.reason != "stop" and not end.stopped and self._queue.drop():
            # Nobody took it: what ended this turn would end the next one too.
            self._view.give_back()
        self.refresh()
        self._view.event("AgentTurnFinished", {"reason": end.reason})

    async def _play(self) -> TurnEnd:
        try:
            self._journal.record_turn_started(self.chat.turn)
        except UserError as error:
            return TurnEnd("error", str(error))
        return await self._interpreter.play(turn(self.chat))

    def _journal_end(self, end: TurnEnd) -> TurnEnd:
        try:
            self._journal.record_turn_finished(self.chat.turn, end.reason)
        except UserError as error:
            return TurnEnd("error", end.message or str(error), end.stopped)
        return end
