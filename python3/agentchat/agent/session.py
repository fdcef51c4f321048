"""One chat: takes what the user does and plays its turns."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from agentchat.agent.attachments import Attaching, look_around
from agentchat.agent.attention import Attention
from agentchat.agent.chat_tools import Giving
from agentchat.agent.execution.previews import Staging
from agentchat.agent.execution.result_store import Storage
from agentchat.agent.execution.tool_runner import Phrasing, Runner
from agentchat.agent.interpreter import Performer, Player
from agentchat.agent.jobs import Errands
from agentchat.agent.message_queue import Inbox
from agentchat.agent.permissions.approvals import Judging, Prompts
from agentchat.agent.permissions.rule_store import Rulebook
from agentchat.agent.plan_mode import Planning
from agentchat.agent.preview_actions import Order, Resolving
from agentchat.agent.scribe import Scribe
from agentchat.agent.stream import replay
from agentchat.agent.undo.commands import Undoing
from agentchat.agent.undo.recovery import Leftovers, Recovery
from agentchat.core.errors import UserError
from agentchat.core.messages import Note, Status, ToolResult, UserText
from agentchat.core.permissions.policy import parse_mode
from agentchat.core.tools.mentions import Captured, read_mentions
from agentchat.core.tools.model import Model
from agentchat.core.tools.ports import Frontend, Workspace
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Answer, Effect, Question
from agentchat.core.turn.loop import Ending, turn
from agentchat.core.turn.view import Screen, StatusLine
from agentchat.journal.past import CutOff

log = logging.getLogger(__name__)

ModelSource = Callable[[], Model]
"""Returns the model to ask now; raises UserError if none can be."""


class Session:
    """Ties one chat to its model, tools, screen and journal. Lives on one event loop."""

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
    ) -> None:
        self.chat = chat
        self._workspace = workspace
        self._screen = screen
        self._scribe = scribe
        self._model = model
        self._inbox = Inbox(screen)
        self._attaching = Attaching(workspace, storage, frontend)
        self.giving = Giving(chat.toolbox, screen, scribe)
        self._prompts = Prompts(screen, self.refresh)
        self.judging = Judging(chat, self._prompts, screen, rulebook)
        self._attention = Attention(frontend, self.refresh) if frontend is not None else None
        self._staging = Staging(chat.pending, workspace, screen, scribe, self.refresh)
        runner = Runner(
            workspace,
            screen,
            scribe,
            self._staging,
            storage,
            toolbox=chat.toolbox,
            frontend=self._attention,
        )
        self._undoing = Undoing(
            chat.toolbox,
            workspace=workspace,
            screen=screen,
            scribe=scribe,
            runner=runner,
            tell=self._note,
        )
        self.resolving = Resolving(
            chat.pending,
            prompts=self._prompts,
            staging=self._staging,
            screen=screen,
            tell=self._note,
            spawn=self._spawn,
        )
        self._performer = Performer(
            workspace=workspace,
            screen=screen,
            scribe=scribe,
            runner=runner,
            staging=self._staging,
            judging=self.judging,
            inbox=self._inbox,
            model=model,
            max_parallel=max_parallel,
            phrasing=Phrasing(chat.toolbox),
        )
        self._planning = Planning(chat, self.set_mode)
        self._player: Player | None = None
        self._errands = Errands(screen, self._spawn, self._errands_changed)
        self.cut_off: tuple[CutOff, ...] = ()
        """What the process before this one left half made, until ``recover`` takes it."""
        self._touched: frozenset[str] = frozenset()
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, text: str, captured: Mapping[str, Captured] = MappingProxyType({})) -> None:
        """Take what the user typed: begins a turn, or joins the running one's next request.

        Args:
            captured: what the editor had for the context mentions in ``text``.
        """
        mentioned = read_mentions(text, self.chat.toolbox)
        lines = self.giving.mentioned(mentioned.names)
        message = UserText(mentioned.text, shown=text)
        self._inbox.put(message, lines, lambda said: self._attaching.complete(said, captured))
        if self._player is None and not self._errands.busy:
            self._begin_turn()

    def stop(self) -> None:
        """End the running turn: its request, tools and questions.

        What was sent and not taken yet is in the user's prompt again.
        """
        self._inbox.drop()
        if self._player is not None:
            self._player.stop()
        self._errands.cancel()

    def undo(self, turn: int | None = None) -> None:
        """Take the file changes of a turn back, by default of the newest that has some."""
        self._take_back("undo", lambda: self._undoing.undo(turn))

    def redo(self) -> None:
        """Take the last undo back."""
        self._take_back("redo", self._undoing.redo)

    def catch_up(self) -> None:
        """Go on where the journal of this chat ends: its tools, turns, and notes to the model."""
        self.giving.catch_up()
        happened = self._undoing.catch_up()
        self.chat.turn = happened.turn
        self.cut_off = happened.cut_off
        self._touched = frozenset(step.path for step in happened.steps)

    def replay(self) -> None:
        """Draw all that was said; what is sent meanwhile begins a turn when that is done."""
        self._errands.run(replay(self.chat.history, self._screen, self.chat.toolbox))

    def recover(self, leftovers: Leftovers) -> None:
        """End what a process that was killed left half made; turns wait until that is done."""
        cut_off, self.cut_off = self.cut_off, ()
        if self._touched:
            recovery = Recovery(self._workspace, self._screen, self._scribe, leftovers, self._note)
            work = partial(recovery.recover, cut_off, self._touched)
            self._errands.run_unasked("recovery", work)

    def answer(self, prompt: str, answer: Answer) -> None:
        """Take an answer to a question; a stale one does nothing."""
        if not self._prompts.answer(prompt, answer):
            log.info("an answer (%s) came for a question that is not open", answer.choice)

    def resolve(self, action: str, reason: str) -> None:
        """Apply or discard the newest preview: the user's command is the consent."""
        self.resolving.resolve(Order(action, reason))

    def set_mode(self, mode: str) -> None:
        """Change the mode; an open question that the new mode settles is answered by it."""
        before, self.chat.policy.mode = self.chat.policy.mode, parse_mode(mode)
        self._planning.follow(before)
        self.judging.judge_again()
        self.refresh()

    @property
    def question(self) -> Question | None:
        """The question that is open."""
        return self._prompts.question

    def reread_rules(self) -> None:
        """Take the rules soon as they are now, in case a file of them changed."""
        self._spawn(self.judging.refresh())

    def refresh(self) -> None:
        """Show the chat's state."""
        self._screen.status(self._status())

    async def close(self) -> None:
        """The chat's buffer is gone: stop, forget what was remembered, wait for the end."""
        self.stop()
        self.chat.policy.grants.clear()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _take_back(self, what: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._player is not None:
            text = f"Nothing to {what} while a turn runs: stop it first with :AgentStop."
            self._screen.notify("warn", text)
        else:
            self._errands.run_asked(what, work)

    def _note(self, text: str) -> None:
        """Tell the model at the next request."""
        self._inbox.put(Note(text))

    def _errands_changed(self) -> None:
        """One begins, or the last is over: what was sent meanwhile begins a turn."""
        self.refresh()
        if not self._errands.busy and self._inbox.wants_answer:
            self._begin_turn()

    def _begin_turn(self) -> None:
        self._player = Player(self._perform)
        self._spawn(self._take_turn(self._player))

    async def _take_turn(self, player: Player) -> None:
        ending = await self._played(player)
        self._player = None
        if ending.reason != "stop" and not player.stopped and self._inbox.drop():
            # Nobody took it: what ended this turn would end the next one too.
            self._screen.give_back()
        self.refresh()
        self._screen.event("AgentTurnFinished", {"reason": ending.reason})
        if self._inbox.wants_answer:
            # Sent after the turn's last request: nothing the user typed is left unanswered.
            self._begin_turn()

    async def _played(self, player: Player) -> Ending:
        self.chat.turn += 1
        self.refresh()
        self._screen.event("AgentTurnStarted", {"turn": self.chat.turn})
        try:
            ending = await self._planned(player)
        except UserError as error:
            ending = Ending("error", str(error))
            self._answer_rest(ending.message)
        except Exception as error:
            log.exception("the turn failed")
            ending = Ending("error", f"The turn failed: {error!r}. See the log.")
            self._answer_rest(ending.message)
        if ending.message:
            self._screen.note("error", ending.message)
        return ending

    async def _planned(self, player: Player) -> Ending:
        self._scribe.turn_started(self.chat.turn)
        self.chat.surroundings = await look_around(self._workspace)
        ending = await player.play(turn(self.chat))
        self._scribe.turn_finished(self.chat.turn, ending.reason)
        return ending

    async def _perform(self, effect: Effect) -> Any:
        answer = await self._performer.perform(effect)
        self.refresh()
        return answer

    def _answer_rest(self, text: str) -> None:
        for call in self.chat.history.unanswered():
            result = ToolResult(call.id, call.name, text, Status.ERROR)
            self.chat.history = self.chat.history.add(result)

    def _status(self) -> StatusLine:
        question = self._prompts.question
        idle = self._player is None and not self._errands.busy
        running = "idle" if idle else "running"
        asks = self._attention is not None and self._attention.wanted
        usage = self.chat.history.usage()
        return StatusLine(
            state="waiting" if question is not None or asks else running,
            prompts=question.total - question.number + 1 if question is not None else 0,
            pending=len(self.chat.pending),
            mode=self.chat.policy.mode,
            model=self._model_name(),
            turn=self.chat.turn,
            tokens=usage.total_tokens if usage is not None else 0,
            cost=usage.cost if usage is not None else None,
        )

    def _model_name(self) -> str:
        try:
            return self._model().name
        except UserError:
            return ""
