"""Keeps the rules of a chat as they stand, and judges the open question anew when they change."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from agentchat.agent.permissions.rule_store import Reading, Rulebook
from agentchat.core.permissions.policy import Decision, Verdict, decide
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Answer, Question
from agentchat.core.turn.preview_stack import Pending
from agentchat.core.turn.resolve import judge_resolution
from agentchat.core.turn.view import Screen


class Prompts:
    """At most one open question; an answer with another id does nothing."""

    def __init__(self, screen: Screen, changed: Callable[[], None]) -> None:
        self._screen = screen
        self._changed = changed
        self._id = ""
        self._answer: asyncio.Future[Answer] | None = None
        self.question: Question | None = None

    async def ask(self, question: Question) -> Answer:
        """Show a question and wait for its answer; cancelling this voids it."""
        self._id, self.question = uuid.uuid4().hex, question
        self._answer = asyncio.get_running_loop().create_future()
        tool = question.call.tool.name
        self._screen.ask(self._id, question)
        self._changed()
        self._event("AgentApprovalRequested", tool=tool)
        choice = "cancel"
        try:
            answer = await self._answer
            if answer.decision is None or answer.decision.verdict is Verdict.ALLOW:
                choice = answer.choice
            return answer
        finally:
            self._screen.close_prompt(self._id)
            self.question = self._answer = None
            self._changed()
            self._event("AgentApprovalAnswered", tool=tool, choice=choice)

    def answer(self, prompt: str, answer: Answer) -> bool:
        """Take an answer; return whether it was for the open question and the first one."""
        if self._answer is None or self._answer.done() or prompt != self._id:
            return False
        self._answer.set_result(answer)
        return True

    def answer_open(self, answer: Answer) -> bool:
        """Answer whatever question is open; return whether there was one."""
        return self.answer(self._id, answer)

    def is_open(self, prompt: str) -> bool:
        """Whether the question with this id waits for its answer."""
        return self.question is not None and self._id == prompt

    def asks_about(self, pending: Pending) -> bool:
        """Whether the open question is about applying this preview."""
        asked = self.question.pending if self.question is not None else None
        return asked is not None and asked.id == pending.id

    def _event(self, name: str, **data: str) -> None:
        self._screen.event(name, {"prompt": self._id, **data})


log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
"""How often the files of rules are looked at while a question is open."""


class Judging:
    """Judges for one chat. Without a rulebook the rules are those of its policy, and stay."""

    def __init__(
        self, chat: Chat, prompts: Prompts, screen: Screen, rulebook: Rulebook | None
    ) -> None:
        self._chat = chat
        self._prompts = prompts
        self._screen = screen
        self._rulebook = rulebook
        self._last = Reading()
        self._told: set[str] = set()
        self.writing = asyncio.Lock()
        """Held while a file of rules is being written, and trusted."""

    async def refresh(self) -> None:
        """Take the rules as they are now; an open question that they settle is answered."""
        if self._rulebook is not None:
            async with self.writing:
                self._take(await self._read(self._rulebook))

    def _take(self, reading: Reading) -> None:
        changed, self._last = reading != self._last, reading
        policy = self._chat.policy
        policy.rules, policy.problems = reading.rules, reading.problems
        for line in reading.remarks:
            self._tell_once(line)
        if changed:
            self.judge_again()

    def judge_again(self) -> None:
        """Answer the open question if mode and rules settle it now, in their name."""
        question = self._prompts.question
        decision = self._judged(question) if question is not None else None
        if decision is not None and decision.verdict is not Verdict.ASK:
            choice = "accept" if decision.verdict is Verdict.ALLOW else "reject"
            self._prompts.answer_open(Answer(choice, decision=decision))

    async def ask(self, question: Question) -> Answer:
        """Ask the user, as long as nothing else settles the question."""
        watching = asyncio.ensure_future(self._watch())
        try:
            return await self._prompts.ask(question)
        finally:
            watching.cancel()

    def _judged(self, question: Question) -> Decision | None:
        # Somebody was there when it was asked, and may come back to it.
        policy = replace(self._chat.policy, attended=True)
        if question.pending is None:
            return decide(question.call, question.place, policy)
        if question.pending.standing:
            return None
        return judge_resolution(policy, question.pending, "apply")

    async def _read(self, rulebook: Rulebook) -> Reading:
        try:
            return await asyncio.to_thread(rulebook.read)
        except Exception as error:
            log.exception("the rules cannot be read")
            return replace(self._last, problems=(f"the rules cannot be read: {error!r}",))

    async def _watch(self) -> None:
        while self._rulebook is not None:
            await asyncio.sleep(WATCH_SECONDS)
            await self.refresh()

    def _tell_once(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self._screen.notify("warn", line)
