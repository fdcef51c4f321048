"""The commands of one chat that run isolated: on an overlay of their own, apart from stage mode.

What a run changed is applied or forgotten before the next one begins, so the overlay always starts
as the project is, unsaved buffers included. Nothing of a run outlives the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.execution.overlay_command import apply_overlay
from agentchat.core.diff.aspects import entry_of
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.permissions.isolation import ChangedFile
from agentchat.core.tools.tool import ToolOutput
from agentchat.core.workspace import FileTarget, Workspace
from agentchat.workspace.overlay.changes import IGNORED, is_privileged
from agentchat.workspace.overlay.workspace import OverlayWorkspace

NO_OVERLAY = "Commands run isolated only in a workspace on this machine."
ISOLATED = "isolated"
"""Among the details of a result: that the command ran isolated."""
MORE = "If that is why it failed, call {} again with {} set to true: the user is asked."


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

    async def end(self, output: ToolOutput) -> tuple[ToolOutput, ChangeSet]:
        """End all that still runs; return the output with remarks, and what the run changed."""
        assert self._overlay is not None
        await self._overlay.update()
        change = await self._overlay.changes.change_set()
        await self._overlay.pause()
        kept = [file for file in change.files if file.members and file.path.endswith(IGNORED)]
        files = tuple(file for file in change.files if file not in kept)
        lines = [describe_kept(file.members) for file in kept]
        return with_lines(output, *lines), ChangeSet(files)

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


async def locate_changes(change: ChangeSet, workspace: Workspace) -> tuple[ChangedFile, ...]:
    """Return the files of a change with what they are in the project, special ones first.

    What something runs by itself is left out until the user takes it in.
    """
    targets = await asyncio.gather(*(_locate(file, workspace) for file in change.files))
    files = [
        ChangedFile(file, target, is_privileged(file))
        for file, target in zip(change.files, targets, strict=True)
    ]
    return tuple(map(_left_out, sorted(files, key=lambda file: not file.asks)))


async def _locate(file: FileChange, workspace: Workspace) -> FileTarget | None:
    if file.members:
        return None  # the data of git, or new files with ordinary names
    try:
        return await workspace.locate(entry_of(file.path))
    except ToolError:
        return None


def _left_out(file: ChangedFile) -> ChangedFile:
    if not file.runs_by_itself:
        return file
    return replace(file, change=replace(file.change, left_out=True))


def describe_kept(files: Sequence[FileChange]) -> str:
    """Return the line about ignored files that stay on the overlay."""
    number = len(files)
    return f"Kept on the overlay: {number} ignored {'file' if number == 1 else 'files'}."


def describe_limits(tool: str, hidden: Sequence[str] = (), *, network: bool = False) -> str:
    """Return the line about a command that failed: what it did not have."""
    missing = [*([] if network else ["no network"]), *(hidden and [f"hidden: {', '.join(hidden)}"])]
    what = "direct" if network else "network or direct"
    return f"Ran isolated: {', '.join(missing) or 'with network'}. {MORE.format(tool, what)}"


def with_lines(output: ToolOutput, *lines: str) -> ToolOutput:
    """Return an output with lines below it."""
    shown = [line for line in lines if line]
    if not shown:
        return output
    below = "\n".join(shown)
    display = output.display_text
    return replace(
        output,
        text=f"{output.text}\n\n{below}",
        display_text=None if display is None else f"{display}\n\n{below}",
    )
