"""The commands that undo and redo a turn, and what they report."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from agentchat.agent.execution.tool_runner import ToolRunner
from agentchat.agent.undo.rollback import Rollback, UndoOutcome, read_file
from agentchat.core.diff.changeset import digest
from agentchat.core.permissions.policy import PLANNING
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.view import View
from agentchat.journal.timeline import CallRun, Timeline, read_timeline
from agentchat.journal.undo_plan import (
    UndoPlan,
    describe_lost_preview,
    plan_redo,
    plan_undo,
    unreported_undos,
)
from agentchat.journal.writer import JournalWriter


class UndoCommands:
    """The undo and redo of one chat.

    ``tell`` takes what the model must know at the next request.
    """

    def __init__(
        self,
        toolbox: Toolset,
        *,
        workspace: Workspace,
        screen: View,
        journal: JournalWriter,
        runner: ToolRunner,
        tell: Callable[[str], None],
    ) -> None:
        self._toolbox = toolbox
        self._workspace = workspace
        self._screen = screen
        self._journal = journal
        self._runner = runner
        self._tell = tell

    def catch_up(self) -> Timeline:
        """Tell the model what the previous process could not; return the restored timeline."""
        timeline = self._journal.restored.timeline
        lost = map(describe_lost_preview, timeline.lost_previews)
        for text in (*unreported_undos(timeline), *lost):
            self._tell(text)
        return timeline

    async def undo(self, turn: int | None) -> None:
        """Take a turn back, by default the newest that changed something.

        Raises:
            UserError: there is nothing to take back, or the journal cannot be written.
        """
        timeline = await self._timeline()
        await self._perform(timeline, plan_undo(timeline, turn, self._is_reported))

    async def redo(self) -> None:
        """Take the last undo back; raises UserError as ``undo`` does."""
        timeline = await self._timeline()
        await self._perform(timeline, plan_redo(timeline))

    async def _timeline(self) -> Timeline:
        timeline = await asyncio.to_thread(read_timeline, self._journal.records())
        current: dict[str, str | None] = {}
        for path in timeline.uncertain_paths():
            try:
                current[path] = digest(await read_file(self._workspace, path))
            except OSError:
                current[path] = ""  # no bytes have this hash: nothing shows the change was made
        return timeline.resolve_uncertain(current)

    async def _perform(self, timeline: Timeline, plan: UndoPlan) -> None:
        rollback = Rollback(
            f"{'redo' if plan.undone else 'undo'}-{uuid.uuid4().hex[:12]}",
            timeline,
            plan,
            workspace=self._workspace,
            journal=self._journal,
            runner=self._runner,
            find=self._find_tool,
        )
        await rollback.prepare()
        if plan.undone:
            self._journal.record_redo_started(rollback.id, plan.undone, rollback.calls)
        else:
            self._journal.record_undo_started(rollback.id, plan.turn, rollback.calls)
        await self._take_back(rollback, plan)

    async def _take_back(self, rollback: Rollback, plan: UndoPlan) -> None:
        """Take each item back, newest first; what was done is reported even if this is stopped."""
        outcomes: list[UndoOutcome] = []
        try:
            for item in plan.items:
                outcomes.append(await rollback.take_back(item))
        finally:
            left = len(plan.items) - len(outcomes)
            if left:
                outcomes.append(UndoOutcome(f"stopped before the end: {left} left to do", False))
            self._report(plan, outcomes)

    def _report(self, plan: UndoPlan, outcomes: list[UndoOutcome]) -> None:
        lines = "\n".join(f"- {outcome.text}" for outcome in outcomes)
        done = any(outcome.done for outcome in outcomes)
        verb = "Redo" if plan.undone else "Undo"
        title = f"{verb} of turn {plan.turn}:" + ("" if done else " nothing was changed")
        self._screen.add_note("info" if done else "error", f"{title}\n{lines}")
        self._tell(f"The user ran :Agent{verb} on turn {plan.turn}.\n{lines}")

    def _is_reported(self, call: CallRun) -> bool:
        """Whether a call that nothing takes back may have had an effect."""
        tool = self._find_tool(call.tool)
        if tool is None or tool.name in PLANNING:
            return tool is None
        from_journal = tool.capability.reversible and tool.hooks.undo is None
        return not (tool.metadata.read_only or from_journal)

    def _find_tool(self, name: str) -> Tool | None:
        """Return a tool whether the model may call it or not: the user may."""
        known = (t for t in self._toolbox.all_tools() if name in (t.name, *t.metadata.aliases))
        return self._toolbox.find(name) or next(known, None)
