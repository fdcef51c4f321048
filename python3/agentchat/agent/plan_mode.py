"""The mode of a chat. In plan mode, the model submits a plan to the user with `resolve`."""

from __future__ import annotations

from agentchat.core.permissions.policy import parse_mode
from agentchat.core.tools.tool import Extra, ToolOutput
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.preview_stack import Preview

PLAN = "plan"
REFINE = "Still in plan mode: refine the plan and submit it again with resolve."


class PlanMode:
    """Changes the mode of a chat; approving a plan restores the mode before ``plan``."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._before = "ask"
        self._update_handler("ask")

    def change(self, mode: str) -> None:
        """Change the mode; raises UserError for an unknown one."""
        before, self._chat.policy.mode = self._chat.policy.mode, parse_mode(mode)
        self._update_handler(before)

    def _update_handler(self, before: str) -> None:
        """Set or remove the handler through which `resolve` submits a plan."""
        if self._chat.policy.mode != PLAN:
            self._chat.previews.standing = None
        elif self._chat.previews.standing is None:
            self._before = before
            self._chat.previews.standing = Preview(
                "Plan", PLAN, self._approve, self._reject, is_standing=True
            )

    async def _approve(self, reason: str, extra: Extra) -> ToolOutput:
        if self._chat.policy.mode == PLAN:
            self.change(self._before)
        mode = self._chat.policy.mode
        return ToolOutput(f"The user approved the plan. You are in {mode} mode now: carry it out.")

    async def _reject(self, reason: str, extra: Extra) -> ToolOutput:
        return ToolOutput(REFINE)
