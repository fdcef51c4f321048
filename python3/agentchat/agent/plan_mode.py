"""Plan mode: as long as it lasts, `resolve` submits a plan to the user."""

from __future__ import annotations

from collections.abc import Callable

from agentchat.core.tools.tool import Extra, Result
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.preview_stack import Pending

PLAN = "plan"
REFINE = "Still in plan mode: refine the plan and submit it again with resolve."


class Planning:
    """Sets the standing handler of a chat while its mode is ``plan``."""

    def __init__(self, chat: Chat, enter: Callable[[str], None]) -> None:
        self._chat = chat
        self._enter = enter
        self._before = "ask"
        self.follow("ask")

    def follow(self, before: str) -> None:
        """The mode may be another one now; it was ``before``."""
        if self._chat.policy.mode != PLAN:
            self._chat.pending.standing = None
        elif self._chat.pending.standing is None:
            self._before = before
            self._chat.pending.standing = Pending(
                "Plan", PLAN, self._approved, self._rejected, standing=True
            )

    async def _approved(self, reason: str, extra: Extra) -> Result:
        if self._chat.policy.mode == PLAN:
            self._enter(self._before)
        mode = self._chat.policy.mode
        return Result(f"The user approved the plan. You are in {mode} mode now: carry it out.")

    async def _rejected(self, reason: str, extra: Extra) -> Result:
        return Result(REFINE)
