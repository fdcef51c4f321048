"""The commands of one chat that run isolated: on an overlay of their own, apart from stage mode.

What a run changed is applied or forgotten before the next one begins, so the overlay always starts
as the project is, unsaved buffers included. Nothing of a run outlives the process.
"""

from __future__ import annotations

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.execution.overlay_command import add_remarks, apply_overlay
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.tools.tool import ToolOutput
from agentchat.core.workspace import Workspace
from agentchat.workspace.overlay.workspace import OverlayWorkspace

NO_OVERLAY = "Commands run isolated only in a workspace on this machine."


class IsolatedRuns:
    """Runs commands isolated, one at a time; without an overlay, none can.

    Args:
        overlay: what the commands run on; ``None`` where the workspace is on another machine.
    """

    def __init__(self, overlay: OverlayWorkspace | None) -> None:
        self._overlay = overlay
        self._is_open = False

    def why_impossible(self) -> str:
        """Return why no command can run isolated; empty if that can at least be tried."""
        return NO_OVERLAY if self._overlay is None else self._overlay.why_impossible()

    async def begin(self) -> Workspace:
        """Return the workspace of the next run: the project as it is now.

        Raises:
            Unreachable: no overlay works here.
            ToolError: the unsaved buffers cannot be copied.
        """
        if self._overlay is None:
            raise Unreachable(NO_OVERLAY)
        await self._overlay.clear()
        self._is_open = True
        await self._overlay.ready()
        await self._overlay.sync()
        return self._overlay

    async def end(self, output: ToolOutput, *, network: bool) -> tuple[ToolOutput, ChangeSet]:
        """End all that still runs; return the output with remarks, and what the run changed."""
        assert self._overlay is not None
        changed = await self._overlay.update()
        change = await self._overlay.changes.change_set()
        await self._overlay.pause()
        return add_remarks(output, changed, network=network), change

    async def apply(self, change: ChangeSet | None, workspace: JournaledWorkspace) -> None:
        """Apply what is kept of the change of the last run; raises StalePreview or ToolError."""
        assert self._overlay is not None
        if change is not None:
            if moved := self._overlay.changes.moved(change):
                names = ", ".join(moved)
                raise ToolError(f"{names} changed while the command ran. Nothing was changed.")
            await apply_overlay(self._overlay, workspace, change)
        await self.forget()

    async def forget(self) -> None:
        """Drop what the last run changed."""
        if self._is_open and self._overlay is not None:
            self._is_open = False
            await self._overlay.clear()

    async def close(self) -> None:
        """Release the overlay and remove its folder."""
        if self._overlay is not None:
            await self.forget()
            await self._overlay.close()
