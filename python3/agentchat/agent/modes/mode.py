"""The mode of a chat: changed by the user, and restored from the journal."""

from __future__ import annotations

from agentchat.agent.modes.plan import PlanMode
from agentchat.agent.modes.stage import Stage
from agentchat.agent.permissions.approvals import Approvals
from agentchat.core.errors import Unreachable
from agentchat.core.turn.view import Observer, View

STAGE_MODE = "stage"
YOLO = "yolo"
YOLO_IS_OVER = "This chat was in yolo mode. That is not restored: :AgentMode yolo sets it again."
NO_STAGE = "The mode stays as it is. {}"


class Mode:
    """Changes the mode of one chat; an approval request that is open is decided by the new one."""

    def __init__(
        self,
        plan: PlanMode,
        stage: Stage,
        *,
        approvals: Approvals,
        view: View,
        observer: Observer,
    ) -> None:
        self._plan = plan
        self._stage = stage
        self._approvals = approvals
        self._view = view
        self._observer = observer
        self._wanted = ""

    def change(self, mode: str) -> None:
        """Change the mode; raises UserError for an unknown one."""
        self._wanted = mode
        note = self._plan.change(mode)
        if note:
            self._observer.add_note(note)
        self._approvals.judge_again()
        self._observer.refresh()

    async def enter_stage(self) -> None:
        """Change to *stage* when its overlay works; if none does, the mode stays."""
        self._wanted = STAGE_MODE
        try:
            await self._stage.check()
        except Unreachable as error:
            self._view.notify("warn", NO_STAGE.format(error))
        else:
            if self._wanted == STAGE_MODE:  # the user may have chosen another meanwhile
                self.change(STAGE_MODE)
        self._observer.refresh()

    def restore(self, mode: str) -> None:
        """Continue in a mode other than *stage*; *yolo* is not restored, as consent never is."""
        if mode == YOLO:
            self._view.notify("info", YOLO_IS_OVER)
        elif mode:
            self._plan.restore(mode)
