"""Keeps the rules of a chat as they stand, and judges the open question anew when they change."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from agentchat.agent.prompts import Prompts
from agentchat.agent.rulebook import Reading, Rulebook
from agentchat.core.approval import Decision, Verdict, decide
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Answer, Question
from agentchat.core.turn.resolve import judge_resolution
from agentchat.core.turn.view import Screen

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
