"""The commands that undo and redo a turn, and what they report."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace

from agentchat.agent.execution.journaled_workspace import read_file
from agentchat.agent.execution.tool_runner import ToolRunner
from agentchat.agent.undo.rollback import (
    Rollback,
    UndoOutcome,
    find_tool,
    render_call,
)
from agentchat.core.diff.changeset import digest
from agentchat.core.permissions.policy import PLANNING
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.view import Observer, View
from agentchat.core.workspace import Workspace
from agentchat.journal import records as r
from agentchat.journal.timeline import CallRun, Timeline, read_timeline
from agentchat.journal.undo_plan import (
    FileUndo,
    UndoPlan,
    plan_redo,
    plan_undo,
    unreported_undos,
)
from agentchat.journal.writer import JournalWriter

FEW_FILES = 64
"""So many files are undone one by one."""
SHOWN_OUTCOMES = 50
NOT_REDOABLE = "Redo of turn {} leaves out these calls: their tools have no redo."


class UndoCommands:
    """The undo and redo of one chat."""

    def __init__(
        self,
        toolbox: Toolset,
        *,
        workspace: Workspace,
        view: View,
        journal: JournalWriter,
        runner: ToolRunner,
        observer: Observer,
    ) -> None:
        self._toolbox = toolbox
        self._workspace = workspace
        self._view = view
        self._journal = journal
        self._runner = runner
        self._observer = observer

    def restore(self) -> None:
        """Add notes about what the previous process did not report to the model."""
        for text in unreported_undos(self._journal.restored.timeline):
            self._observer.add_note(text)

    async def undo(self, turn: int | None) -> None:
        """Undo a turn, by default the newest that changed something.

        Raises:
            UserError: there is nothing to undo, or the journal cannot be written.
        """
        timeline = await current_timeline(self._journal, self._workspace)
        await self._perform(timeline, plan_undo(timeline, turn, self._is_reported))

    async def redo(self) -> None:
        """Redo the last undo; raises UserError as ``undo`` does."""
        timeline = await current_timeline(self._journal, self._workspace)
        plan = plan_redo(timeline)
        left_out = [c for c in plan.items if isinstance(c, CallRun) and not c.can_be_undone]
        if left_out:
            # What was undone by a tool stays undone: the user learns it before files change.
            undone = map(timeline.reverted_by, left_out)
            calls = (render_call(call, find_tool(self._toolbox, call.tool)) for call in undone)
            lines = "\n".join(f"- not redoable: {call}" for call in calls)
            head = NOT_REDOABLE.format(plan.turn)
            self._view.add_note("info", f"{head}\n{lines}")
            self._observer.add_note(f"{head}\n{lines}")
        items = tuple(item for item in plan.items if item not in left_out)
        if items:
            await self._perform(timeline, replace(plan, items=items))

    async def _perform(self, timeline: Timeline, plan: UndoPlan) -> None:
        rollback = Rollback(
            f"{'redo' if plan.undone else 'undo'}-{uuid.uuid4().hex[:12]}",
            timeline,
            plan,
            workspace=self._workspace,
            journal=self._journal,
            runner=self._runner,
            toolbox=self._toolbox,
        )
        await rollback.prepare()
        if plan.undone:
            self._journal.add(r.RedoStarted(rollback.id, plan.undone, rollback.calls))
        else:
            self._journal.add(r.UndoStarted(rollback.id, plan.turn, rollback.calls))
        await self._undo_items(rollback, plan)

    async def _undo_items(self, rollback: Rollback, plan: UndoPlan) -> None:
        """Undo each item, newest first; report the outcomes even after a stop."""
        outcomes: list[UndoOutcome] = []
        try:
            together = await self._undo_many(rollback, plan)
            for item in plan.items:
                known = together.get(item.path) if isinstance(item, FileUndo) else None
                outcomes.append(known or await rollback.undo(item))
        finally:
            left = len(plan.items) - len(outcomes)
            if left:
                outcomes.append(UndoOutcome(f"stopped before the end: {left} left to do", False))
            self._report(plan, outcomes)

    async def _undo_many(self, rollback: Rollback, plan: UndoPlan) -> dict[str, UndoOutcome]:
        """Undo the files of a large plan in one change, as far as they are as it left them."""
        if len(plan.files) <= FEW_FILES:
            return {}
        return await rollback.undo_together(plan.files)

    def _report(self, plan: UndoPlan, outcomes: list[UndoOutcome]) -> None:
        # What went wrong must not be among the lines that are left out.
        shown = sorted(outcomes, key=lambda outcome: outcome.done)[:SHOWN_OUTCOMES]
        shown = outcomes if len(outcomes) <= SHOWN_OUTCOMES else shown
        texts = [outcome.text for outcome in shown]
        if len(outcomes) > len(shown):
            texts.append(f"and {len(outcomes) - len(shown)} more")
        lines = "\n".join(f"- {text}" for text in texts)
        done = any(outcome.done for outcome in outcomes)
        verb = "Redo" if plan.undone else "Undo"
        title = f"{verb} of turn {plan.turn}:" + ("" if done else " nothing was changed")
        self._view.add_note("info" if done else "error", f"{title}\n{lines}")
        self._observer.add_note(f"The user ran :Agent{verb} on turn {plan.turn}.\n{lines}")

    def _is_reported(self, call: CallRun) -> bool:
        """Whether a call that cannot be undone may have had an effect."""
        tool = find_tool(self._toolbox, call.tool)
        if tool is None or tool.name in PLANNING:
            return tool is None
        return not (tool.metadata.read_only or tool.changes_only_files)


async def current_timeline(journal: JournalWriter, workspace: Workspace) -> Timeline:
    """Return the history of a chat; the files as they are now decide what is uncertain in it."""
    timeline = await asyncio.to_thread(read_timeline, journal.records())
    current: dict[str, str | None] = {}
    for path in timeline.uncertain_paths():
        try:
            current[path] = digest(await read_file(workspace, path))
        except OSError:
            current[path] = ""  # no content has this hash: the change counts as not made
    return timeline.resolve_uncertain(current)
