"""Commands of one chat that run isolated: what a call of one is given, and what its result says.

A run is a value: what it changed is applied later, or never, and nothing of it stays but ignored
files (``workspace/overlay/isolation.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.core.diff.aspects import entry_of
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError, Unreachable
from agentchat.core.permissions.isolation import IsolatedFile, leave_out_self_running
from agentchat.core.tools.tool import ToolOutput
from agentchat.core.turn.effects import IsolatedCall
from agentchat.core.workspace import (
    Command,
    FileTarget,
    ProcessResult,
    Workspace,
    WrappedWorkspace,
)
from agentchat.workspace.files.steps import order_steps
from agentchat.workspace.overlay.changes import is_privileged
from agentchat.workspace.overlay.isolation import IsolatedRun, Isolation
from agentchat.workspace.overlay.upper import restore_order

NO_OVERLAY = "Commands run isolated only in a workspace on this machine."
NAMED_KEPT = 3
MORE = "If that is why it failed, call {} again with {} set to true: the user is asked."
QUOTA = "The ignored files on the overlay exceeded the quota (stage.quota_mb) and were removed."


class IsolatedWorkspace(WrappedWorkspace):
    """The workspace as the call of one command sees it, which runs isolated."""

    def __init__(self, inner: Workspace, isolation: Isolation) -> None:
        super().__init__(inner)
        self._isolation = isolation
        self.done: IsolatedRun | None = None
        """What the command did, once it ran."""
        self.failure: Unreachable | None = None
        """Why it could not run."""

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a command isolated; raises Unreachable or ToolError."""
        if command.own:
            return await super().run(command, on_output)
        try:
            self.done = await self._isolation.run(command, on_output, network=command.network)
        except Unreachable as error:
            self.failure = error
            raise
        return replace(self.done.result, ended=self.done.ended)


async def apply_isolated(
    isolated: IsolatedCall, change: ChangeSet, workspace: JournaledWorkspace
) -> None:
    """Apply what is kept of what a command changed, all or nothing.

    Raises:
        StalePreview: the project changed there meanwhile.
        ToolError: it cannot be applied. Nothing was changed.
    """
    moved = [file.name for file in change.singly.files if file.name in isolated.moved]
    if moved:
        raise StalePreview(moved[0])
    # Undo goes through the journal backwards, file by file: in this order it can.
    files = [file for step in order_steps(change.singly.files) for file in step]
    applied = await workspace.apply(ChangeSet(tuple(files)))
    saved = {file.path for file in applied if file.saved}
    times = {path: time for path, time in isolated.times if path in saved}
    await asyncio.to_thread(restore_order, times)


# --- what a command changed -----------------------------------------------------------------------


async def locate_changes(change: ChangeSet, workspace: Workspace) -> tuple[IsolatedFile, ...]:
    """Return the files of a change with what they are in the project, special ones first.

    What something runs by itself is left out until the user takes it in.
    """
    targets = await asyncio.gather(*(_locate(file, workspace) for file in change.files))
    files = [
        IsolatedFile(leave_out_self_running(file, workspace.root), target, is_privileged(file))
        for file, target in zip(change.files, targets, strict=True)
    ]
    return tuple(sorted(files, key=lambda file: not file.asks))


async def _locate(file: FileChange, workspace: Workspace) -> FileTarget | None:
    if file.members:
        return None  # the data of git, or new files with ordinary names
    try:
        return await workspace.locate(entry_of(file.path))
    except ToolError:
        return None


# --- what its result says -------------------------------------------------------------------------


def with_remarks(output: ToolOutput, run: IsolatedRun, tool: str, *, network: bool) -> ToolOutput:
    """Return the output of a command with lines about how it ran.

    Args:
        tool: what the model calls to run it again.
    """
    lines = [
        run.stopped,
        _describe_skipped(run.skipped),
        describe_kept(run.kept.number, run.kept.names),
        QUOTA if run.kept.ended else "",
        describe_limits(tool, run.hidden, network=network) if output.is_error else "",
    ]
    shown = [line for line in lines if line]
    if not shown:
        return output
    below, display = "\n".join(shown), output.display_text
    return replace(
        output,
        text=f"{output.text}\n\n{below}",
        display_text=None if display is None else f"{display}\n\n{below}",
    )


def describe_kept(number: int, names: Sequence[str]) -> str:
    """Return the line about ignored files that stay on the overlay."""
    if not number:
        return ""
    shown = [*names[:NAMED_KEPT], *(["…"] if len(names) > NAMED_KEPT else [])]
    where = f" ({', '.join(shown)})" if shown else ""
    return f"Kept on the overlay: {number} ignored {'file' if number == 1 else 'files'}{where}."


def describe_limits(tool: str, hidden: Sequence[str] = (), *, network: bool = False) -> str:
    """Return the line about a command that failed: what it did not have."""
    missing = [] if network else ["no network"]
    if hidden:
        missing.append(f"hidden: {', '.join(hidden)}")
    what = "direct" if network else "network or direct"
    return f"Ran isolated: {', '.join(missing) or 'with network'}. {MORE.format(tool, what)}"


def _describe_skipped(skipped: Sequence[str]) -> str:
    return f"Left out, cannot be applied: {', '.join(skipped)}" if skipped else ""
