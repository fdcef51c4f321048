"""Commands of one chat that run isolated: what a call of one is given, and what its result says.

A run is a value: what it changed is applied later, or never, and nothing of it stays but ignored
files (``workspace/overlay/isolation.py``).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.core.diff.aspects import entry_of, shown_name
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError, Unreachable
from agentchat.core.permissions.isolation import IsolatedFile
from agentchat.core.permissions.sensitive_paths import is_protected
from agentchat.core.text import escape_line
from agentchat.core.tools.tool import ToolOutput
from agentchat.core.turn.effects import IsolatedCall
from agentchat.core.workspace import (
    Command,
    FileTarget,
    ProcessResult,
    Workspace,
    WrappedWorkspace,
    Zone,
)
from agentchat.workspace.files.steps import order_steps
from agentchat.workspace.overlay.changes import is_privileged
from agentchat.workspace.overlay.git import acts_later
from agentchat.workspace.overlay.isolation import IsolatedRun, Isolation
from agentchat.workspace.overlay.upper import restore_order

NO_OVERLAY = "Commands run isolated only in a workspace on this machine."
NAMED_KEPT = 3
OF_REPOSITORY = ("HEAD", "objects", "refs")
"""What a folder has that git takes for the data of a repository."""
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


async def locate_changes(
    change: ChangeSet,
    workspace: Workspace,
    is_restricted: Callable[[str], bool] = lambda _: False,
) -> tuple[IsolatedFile, ...]:
    """Return the files of a change with what they are in the project, special ones first.

    A special one never stays among the members of a group, where nobody sees it. What something
    runs by itself, and what a rule restricts, is left out until the user takes it in.
    """
    singles = [file for file in change.singly.files if not _is_data_of_git(file)]
    targets = await _locate_all(singles, workspace)
    found = {}
    for file in singles:
        located = targets[file.path]
        restricted = any(is_restricted(target.display_path) for target in located)
        found[file.path] = IsolatedFile(file, located, is_privileged(file), restricted)
    special = {path for path, file in found.items() if file.asks or file.runs_by_itself}
    files = [
        found.get(file.path) or IsolatedFile(file)
        for listed in change.files
        for file in _take_out(listed, special)
    ]
    return tuple(map(_left_out, sorted(files, key=lambda file: not file.asks)))


def _is_data_of_git(file: FileChange) -> bool:
    entry = entry_of(file.path)
    return ".git" in entry.split("/") and not acts_later(file.path)


def _take_out(file: FileChange, special: set[str]) -> list[FileChange]:
    """Return a group without these members, and the members by themselves."""
    alone = [member for member in file.members if member.path in special]
    rest = tuple(member for member in file.members if member.path not in special)
    if not alone:
        return [file]
    return [*alone, *([replace(file, members=rest)] if rest else [])]


async def _locate_all(
    files: Sequence[FileChange], workspace: Workspace
) -> dict[str, tuple[FileTarget, ...]]:
    """Return what the entries of each change are: a renamed file has two."""
    paths = {file.path: tuple(map(entry_of, file.paths)) for file in files}
    entries = list(dict.fromkeys(entry for found in paths.values() for entry in found))
    targets = await asyncio.gather(*(_locate(entry, workspace) for entry in entries))
    located = dict(zip(entries, targets, strict=True))
    for folder in await asyncio.to_thread(_new_repositories, entries):
        located |= {
            entry: replace(target, zone=Zone.PROTECTED)
            for entry, target in located.items()
            if entry.startswith(f"{folder}/") and target.ordinary
        }
    return {path: tuple(located[entry] for entry in found) for path, found in paths.items()}


def _new_repositories(entries: Sequence[str]) -> set[str]:
    """Return folders that a change makes the data of a repository, whatever their names; blocks.

    Git obeys their settings and hooks in every command that runs there.
    """
    changed = {part for entry in entries for part in (entry, os.path.dirname(entry))}
    changed |= {os.path.dirname(folder) for folder in changed}

    def has(folder: str, name: str) -> bool:
        path = os.path.join(folder, name)
        return path in changed or os.path.lexists(path)

    folders = {os.path.dirname(path) for path in changed if os.path.basename(path) in OF_REPOSITORY}
    return {folder for folder in folders if all(has(folder, name) for name in OF_REPOSITORY)}


async def _locate(entry: str, workspace: Workspace) -> FileTarget:
    """Return what an entry is; one that cannot be located, or has a protected name, is protected.

    The name counts beside the real path, since a symlink may be what is changed.
    """
    name = shown_name(entry, workspace.root)
    try:
        target = await workspace.locate(entry)
    except ToolError:
        return FileTarget(entry, name, Zone.PROTECTED)
    if target.ordinary and is_protected(name.split("/")):
        return replace(target, zone=Zone.PROTECTED, display_path=name)
    return target


def _left_out(file: IsolatedFile) -> IsolatedFile:
    if not (file.runs_by_itself or file.is_restricted):
        return file
    return replace(file, change=replace(file.change, left_out=True))


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
    shown = [escape_line(line) for line in lines if line]
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
