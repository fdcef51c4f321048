"""Takes a turn back at the user's command, and takes that back again; reports both."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from agentchat.agent.execution.tool_runner import Runner
from agentchat.agent.scribe import Scribe
from agentchat.agent.undo.rollback import Outcome, Rollback, read
from agentchat.core.diff.changeset import digest
from agentchat.core.permissions.policy import PLANNING
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.view import Screen
from agentchat.journal.past import Past, Ran, past
from agentchat.journal.undo import Work, gone, redoing, undoing, untold


class Undoing:
    """The undo and redo of one chat.

    ``tell`` takes what the model must know at the next request.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        workspace: Workspace,
        screen: Screen,
        scribe: Scribe,
        runner: Runner,
        tell: Callable[[str], None],
    ) -> None:
        self._toolbox = toolbox
        self._workspace = workspace
        self._screen = screen
        self._scribe = scribe
        self._runner = runner
        self._tell = tell

    def catch_up(self) -> Past:
        """Tell what a process that ended had no time to tell; return what the journal holds."""
        happened = past(self._scribe.records())
        for text in (*untold(happened), *map(gone, happened.lost)):
            self._tell(text)
        return happened

    async def undo(self, turn: int | None) -> None:
        """Take a turn back, by default the newest that changed something.

        Raises:
            UserError: there is nothing to take back, or the journal cannot be written.
        """
        happened = await self._past()
        await self._perform(happened, undoing(happened, turn, self._is_worth_naming))

    async def redo(self) -> None:
        """Take the last undo back; raises UserError as ``undo`` does."""
        happened = await self._past()
        await self._perform(happened, redoing(happened))

    async def _past(self) -> Past:
        happened = await asyncio.to_thread(past, self._scribe.records())
        doubtful: dict[str, str | None] = {}
        for path in happened.doubtful():
            try:
                doubtful[path] = digest(await read(self._workspace, path))
            except OSError:
                doubtful[path] = ""  # no bytes have this hash: nothing shows the change was made
        return happened.settled(doubtful)

    async def _perform(self, happened: Past, work: Work) -> None:
        rollback = Rollback(
            f"{'redo' if work.undone else 'undo'}-{uuid.uuid4().hex[:12]}",
            happened,
            work,
            workspace=self._workspace,
            scribe=self._scribe,
            runner=self._runner,
            find=self._tool,
        )
        await rollback.prepare()
        if work.undone:
            self._scribe.redone(rollback.id, work.undone, rollback.calls)
        else:
            self._scribe.undone(rollback.id, work.turn, rollback.calls)
        await self._take_back(rollback, work)

    async def _take_back(self, rollback: Rollback, work: Work) -> None:
        """Take each item back, newest first; what was done is reported even if this is stopped."""
        outcomes: list[Outcome] = []
        try:
            for item in work.items:
                outcomes.append(await rollback.take_back(item))
        finally:
            left = len(work.items) - len(outcomes)
            if left:
                outcomes.append(Outcome(f"stopped before the end: {left} left to do", False))
            self._report(work, outcomes)

    def _report(self, work: Work, outcomes: list[Outcome]) -> None:
        lines = "\n".join(f"- {outcome.text}" for outcome in outcomes)
        done = any(outcome.done for outcome in outcomes)
        verb = "Redo" if work.undone else "Undo"
        title = f"{verb} of turn {work.turn}:" + ("" if done else " nothing was changed")
        self._screen.note("info" if done else "error", f"{title}\n{lines}")
        self._tell(f"The user ran :Agent{verb} on turn {work.turn}.\n{lines}")

    def _is_worth_naming(self, call: Ran) -> bool:
        """Whether a call that nothing takes back may have had an effect."""
        tool = self._tool(call.tool)
        if tool is None or tool.name in PLANNING:
            return tool is None
        from_journal = tool.capability.reversible and tool.hooks.undo is None
        return not (tool.metadata.read_only or from_journal)

    def _tool(self, name: str) -> Tool | None:
        """Return a tool whether the model may call it or not: the user may."""
        known = (t for t in self._toolbox.everything() if name in (t.name, *t.metadata.aliases))
        return self._toolbox.find(name) or next(known, None)
