"""Plan mode: the model reads, submits a plan with `resolve`, and the user approves it."""

from __future__ import annotations

from agentchat.core.permissions.policy import parse_mode
from agentchat.core.tools.tool import Extra, ToolOutput
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.preview_stack import Preview
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter

PLAN = "plan"
PLAN_IS_OVER = "The user ended plan mode. You are in {} mode now."
REFINE = "Still in plan mode: refine the plan and submit it again with resolve."


class PlanMode:
    """Changes the mode of a chat; approving a plan restores the mode before ``plan``."""

    def __init__(self, chat: Chat, journal: JournalWriter) -> None:
        self._chat = chat
        self._journal = journal
        self._before = "ask"
        self._planned_from = 0
        """How many messages there were when plan mode began."""
        self._update_handler("ask")

    def change(self, mode: str) -> str:
        """Change the mode; raises UserError for an unknown one.

        Returns:
            what the model must know: that what it saw of plan mode is over. Empty if it saw none.
        """
        parsed = parse_mode(mode)
        self._journal.add(r.ModeChanged(parsed))
        before, self._chat.policy.mode = self._chat.policy.mode, parsed
        self._update_handler(before)
        is_over = before == PLAN and self._chat.policy.mode != PLAN
        saw_it = len(self._chat.history.messages) > self._planned_from
        return PLAN_IS_OVER.format(self._chat.policy.mode) if is_over and saw_it else ""

    def restore(self, mode: str) -> None:
        """Continue in the mode that the journal ends with."""
        before, self._chat.policy.mode = self._chat.policy.mode, parse_mode(mode)
        self._update_handler(before)

    def _update_handler(self, before: str) -> None:
        """Set or remove the handler through which `resolve` submits a plan."""
        if self._chat.policy.mode != PLAN:
            self._chat.previews.standing = None
        elif self._chat.previews.standing is None:
            self._before, self._planned_from = before, len(self._chat.history.messages)
            self._chat.previews.standing = Preview(
                "Plan", PLAN, self._approve, self._reject, is_standing=True, has_effect=False
            )

    async def _approve(self, reason: str, extra: Extra) -> ToolOutput:
        if self._chat.policy.mode == PLAN:
            self.change(self._before)
        mode = self._chat.policy.mode
        return ToolOutput(f"The user approved the plan. You are in {mode} mode now: carry it out.")

    async def _reject(self, reason: str, extra: Extra) -> ToolOutput:
        return ToolOutput(REFINE)
