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
from typing import Any

from agentchat.agent.attachments import Attachments
from agentchat.agent.chat_tools import ChatTools, ToolFiles
from agentchat.agent.execution.previews import Staging
from agentchat.agent.execution.result_store import Storage
from agentchat.agent.execution.tool_runner import Phrasing, Runner
from agentchat.agent.interpreter import Performer, Player
from agentchat.agent.jobs import BackgroundJobs, Job, Jobs, Work
from agentchat.agent.message_queue import MessageQueue
from agentchat.agent.permissions.approvals import Judging, Prompts
from agentchat.agent.permissions.rule_store import Rulebook
from agentchat.agent.plan_mode import PlanMode
from agentchat.agent.preparation import Preparation
from agentchat.agent.preview_actions import Order, Resolving
from agentchat.agent.scribe import Scribe
from agentchat.agent.status import ModelSource, ObservedFrontend, chat_status
from agentchat.agent.stream import replay
from agentchat.agent.undo.commands import Undoing
from agentchat.agent.undo.recovery import Leftovers, Recovery
from agentchat.core.errors import Unreachable, UserError
from agentchat.core.messages import Status, ToolResult
from agentchat.core.tools.mentions import Captured
from agentchat.core.tools.ports import Frontend, Workspace
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Answer, Effect, Question
from agentchat.core.turn.loop import Ending, turn
from agentchat.core.turn.view import Screen
from agentchat.journal.past import CutOff

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
        screen: Screen,
        scribe: Scribe,
        storage: Storage,
        model: ModelSource,
        max_parallel: int,
        frontend: Frontend | None = None,
        rulebook: Rulebook | None = None,
        tool_files: ToolFiles | None = None,
    ) -> None:
        self.chat = chat
        self._workspace = workspace
        self._screen = screen
        self._scribe = scribe
        self._model = model
        self._frontend = ObservedFrontend(frontend, self) if frontend is not None else None
        self._background = BackgroundJobs(screen)
        self._jobs = Jobs(screen)
        self._plan_mode = PlanMode(chat)
        self.tools = ChatTools(chat, screen, scribe, tool_files)
        self._preparation = Preparation(chat, workspace, self.tools)
        attachments = Attachments(workspace, storage, frontend)
        self._queue = MessageQueue(screen, self._preparation, self.tools, attachments)
        self._prompts = Prompts(screen, self.refresh)
        self.judging = Judging(chat, self._prompts, screen, rulebook)
        self._staging = Staging(chat.pending, workspace, screen, scribe, self.refresh)
        runner = Runner(
            workspace,
            screen,
            scribe,
            self._staging,
            storage,
            toolbox=chat.toolbox,
            frontend=self._frontend,
        )
        self._undoing = Undoing(
            chat.toolbox,
            workspace=workspace,
            screen=screen,
            scribe=scribe,
            runner=runner,
            tell=self._queue.add_note,
        )
        self.resolving = Resolving(
            chat.pending,
            prompts=self._prompts,
            staging=self._staging,
            screen=screen,
            tell=self._queue.add_note,
            spawn=self._background.start,
        )
        self._performer = Performer(
            workspace=workspace,
            screen=screen,
            scribe=scribe,
            runner=runner,
            staging=self._staging,
            judging=self.judging,
            preparation=self._preparation,
            queue=self._queue,
            model=model,
            max_parallel=max_parallel,
            phrasing=Phrasing(chat.toolbox),
        )
        self._player: Player | None = None
        self._working = False
        self._warming_up: list[asyncio.Task[None]] = []
        self._cut_off: tuple[CutOff, ...] = ()
        self._touched: frozenset[str] = frozenset()

    # What the user does.

    def send(self, text: str, captured: Mapping[str, Captured] = MappingProxyType({})) -> None:
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
        if self._player is not None:
            self._player.stop()
            return
        self._jobs.cancel()
        if dropped:
            # No turn has begun that would say how it ended.
            self._screen.give_back()

    def undo(self, turn: int | None = None) -> None:
        """Take the file changes of a turn back, by default of the newest that has some."""
        self._take_back("undo", partial(self._undoing.undo, turn))

    def redo(self) -> None:
        """Take the last undo back."""
        self._take_back("redo", self._undoing.redo)

    def answer(self, prompt: str, answer: Answer) -> None:
        """Take an answer to a question; a stale one does nothing."""
        if not self._prompts.answer(prompt, answer):
            log.info("an answer (%s) came for a question that is not open", answer.choice)

    def resolve(self, action: str, reason: str) -> None:
        """Apply or discard the newest preview: the user's command is the consent."""
        self.resolving.resolve(Order(action, reason))

    def set_mode(self, mode: str) -> None:
        """Change the mode; an open question that the new mode settles is answered by it."""
        self._plan_mode.change(mode)
        self.judging.judge_again()
        self.refresh()

    def set_sandbox(self, wanted: str) -> None:
        """Confine commands as the settings want it (``off``, ``auto``, ``required``)."""
        self._preparation.sandbox = wanted

    @property
    def question(self) -> Question | None:
        """The question that is open."""
        return self._prompts.question

    # How a chat is opened and closed.

    def catch_up(self) -> None:
        """Go on where the journal of this chat ends: its tools, turns, and notes to the model."""
        self.tools.catch_up()
        happened = self._undoing.catch_up()
        self.chat.turn = happened.turn
        self._cut_off = happened.cut_off
        self._touched = frozenset(step.path for step in happened.steps)

    def replay(self) -> None:
        """Draw the history; turns wait until that is done."""
        work = partial(replay, self.chat.history, self._screen, self.chat.toolbox)
        self._add(Job("drawing", work))

    def warm_up(self) -> None:
        """Get workspace and rules ready in the background: not while the user waits for it."""
        self._warming_up = [
            self._background.start(self._connect(), "connecting"),
            self._background.start(self.judging.refresh(), "reading the rules"),
        ]

    def recover(self, leftovers: Leftovers) -> None:
        """End what a process that was killed left half made; turns wait until that is done."""
        if self._cut_off or (self._touched and not self._workspace.host):
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
            running=self._player is not None or self._jobs.busy,
            asking=self._frontend is not None and self._frontend.asking,
            request=self._prompts.question,
        )
        self._screen.status(status)

    def _take_back(self, name: str, work: Callable[[], Work]) -> None:
        if self._player is not None:
            text = f"Nothing to {name} while a turn runs: stop it first with :AgentStop."
            self._screen.notify("warn", text)
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
            if self._player is None:  # a turn says it itself
                self._screen.note("error", str(error))

    async def _recover(self, leftovers: Leftovers) -> None:
        try:
            await self._workspace.ready()
        except Unreachable:  # the attempt to connect says it
            return
        cut_off, self._cut_off = self._cut_off, ()
        recovery = Recovery(
            self._workspace, self._screen, self._scribe, leftovers, self._queue.add_note
        )
        await recovery.recover(cut_off, self._touched)

    async def _take_turn(self) -> None:
        self._player = player = Player(self._perform)
        self.chat.turn += 1
        self.refresh()
        self._screen.event("AgentTurnStarted", {"turn": self.chat.turn})
        ending = self._journal_end(await self._play(player))
        self._player = None
        if ending.message:
            self._screen.note("error", ending.message)
        if ending.reason != "stop" and not player.stopped and self._queue.drop():
            # Nobody took it: what ended this turn would end the next one too.
            self._screen.give_back()
        self.refresh()
        self._screen.event("AgentTurnFinished", {"reason": ending.reason})

    async def _play(self, player: Player) -> Ending:
        try:
            self._scribe.turn_started(self.chat.turn)
            return await player.play(turn(self.chat))
        except UserError as error:
            ending = Ending("error", str(error))
            self._answer_rest(ending.message)
        except Exception as error:
            log.exception("the turn failed")
            ending = Ending("error", f"The turn failed: {error!r}. See the log.")
            self._answer_rest(ending.message)
        return ending

    def _journal_end(self, ending: Ending) -> Ending:
        try:
            self._scribe.turn_finished(self.chat.turn, ending.reason)
        except UserError as error:
            return Ending("error", ending.message or str(error))
        return ending

    async def _perform(self, effect: Effect) -> Any:
        answer = await self._performer.perform(effect)
        self.refresh()
        return answer

    def _answer_rest(self, text: str) -> None:
        for call in self.chat.history.unanswered():
            result = ToolResult(call.id, call.name, text, Status.ERROR)
            self.chat.history = self.chat.history.add(result)
