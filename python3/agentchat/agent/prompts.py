"""The question that is open in one chat, and the one answer it gets."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from agentchat.core.approval import Verdict
from agentchat.core.turn.effects import Answer, Question
from agentchat.core.turn.preview_stack import Pending
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
