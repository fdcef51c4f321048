"""Ends the changes that a killed process left unfinished.

Theory
======

A change of files is recorded as ``ChangeStarted`` (with the bytes before and after), made, and
recorded as ``ChangeApplied`` or ``ChangeSettled``. A process that is killed in between leaves an
*unfinished* change. When its chat is opened again each of them is brought to an end before
anything else is done in the chat, the newest first: every change is made in full or not at all.

Every file of the change is compared with the bytes that the journal has of it:

=========  ===============================================  ====================================
state      content of the file                              conclusion
=========  ===============================================  ====================================
before     the bytes from before                            not changed
after      the bytes from after                             changed
same       either, for they are equal                       nothing to do
part       new bytes over old ones (written in place)       partly written
foreign    anything else, or it cannot be read or restored  changed by others since
=========  ===============================================  ====================================

All *after* or *same*: the change was made; ``ChangeApplied`` is added. Otherwise the files that
are *after* or *part* get their bytes from before, as a change of its own (``RecoveryStarted``
names it), and ``ChangeSettled`` ends the unfinished one. A *foreign* file is never changed; the
user and the model read its name. A recovery that is itself killed starts again next time: it
compares bytes, so a second run changes nothing more.

Beside the files there may be temporary files, files set aside to be deleted, and empty folders.
Removing them can take long on a slow disk: it runs in threads, and locks only the folder at hand.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Protocol

from agentchat.agent.execution.checkpoints import record_changes
from agentchat.agent.execution.journaled_workspace import JournaledWorkspace, read_file
from agentchat.agent.undo.rollback import one_line
from agentchat.core.diff.changeset import ChangeSet, FileChange, digest
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.frozen import frozen
from agentchat.core.turn.view import Observer, View
from agentchat.core.workspace import Workspace
from agentchat.journal import records as r
from agentchat.journal.timeline import FileStep, UnfinishedChange
from agentchat.journal.undo_plan import read_contents
from agentchat.journal.writer import JournalWriter

Contents = Mapping[str, bytes | None]
"""Stored bytes by their hash; ``None`` for those withheld because of a secret."""


class LeftoverFiles(Protocol):
    """The files that a killed process leaves on this machine; both methods block."""

    def put_back(self, paths: Iterable[str]) -> None:
        """Rename files that were set aside to their own names."""

    def sweep(self, made: Mapping[str, int]) -> None:
        """Remove temporary files beside each path, and the number of folders made for it."""


class FileState(Enum):
    """The state of a file of an unfinished change, see above."""

    BEFORE = "before"
    AFTER = "after"
    SAME = "same"
    PART = "part"
    FOREIGN = "foreign"


@frozen
class FoundFile:
    """One file of an unfinished change, with its content now."""

    step: FileStep
    content: bytes | None
    state: FileState
    reason: str = "it changed since"


class Recovery:
    """Recovers the files of one chat."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        view: View,
        journal: JournalWriter,
        leftovers: LeftoverFiles,
        observer: Observer,
    ) -> None:
        self._workspace = workspace
        self._view = view
        self._journal = journal
        self._leftovers = leftovers
        self._observer = observer
        self._timeline = journal.restored.timeline

    @property
    def is_needed(self) -> bool:
        """Whether a change is unfinished, or files of this machine may have leftovers."""
        timeline = self._timeline
        unfinished = timeline.unfinished or timeline.open_checkpoints
        return bool(unfinished or (timeline.steps and not self._workspace.host))

    async def recover(self) -> None:
        """End every unfinished change, the newest first; remove leftovers of all changes."""
        try:
            await self._workspace.ready()
        except Unreachable:  # the attempt to connect reports it
            return
        timeline = self._timeline
        for change in reversed(timeline.unfinished):
            await self._recover(change)
        for checkpoint in timeline.open_checkpoints:
            await self._settle(checkpoint)
        # Leftovers of earlier changes that could not be removed then may be removable now.
        paths = dict.fromkeys((step.path for step in timeline.steps), 0)
        await self._sweep(paths)

    async def _settle(self, checkpoint: UnfinishedChange) -> None:
        """Record what a call that did not end changed in the files of its checkpoint."""
        hashes = {step.before for step in checkpoint.steps if step.before}
        contents = await asyncio.to_thread(read_contents, self._journal.records(), hashes)
        before = [
            FileChange(
                path=step.path,
                before=None if step.before is None else contents[step.before],
                after=None,
                mode=step.mode,
                owner=step.owner,
                attributes=step.attributes,
            )
            for step in checkpoint.steps
            # A content with a secret is not in the journal: such a file cannot be restored.
            if step.before is None or contents.get(step.before) is not None
        ]
        await record_changes(self._workspace, self._journal, checkpoint.source, before)
        self._journal.add(r.ChangeSettled(checkpoint.source))

    async def _sweep(self, folders: Mapping[str, int]) -> None:
        if not self._workspace.host:
            await asyncio.to_thread(self._leftovers.sweep, folders)

    async def _recover(self, change: UnfinishedChange) -> None:
        if not self._workspace.host:
            deleted = [step.path for step in change.steps if step.after is None]
            await asyncio.to_thread(self._leftovers.put_back, deleted)
        # A folder that was made for a file may have the name of a file to restore.
        await self._sweep({step.path: step.folders for step in change.steps})
        hashes = {name for step in change.steps for name in (step.before, step.after) if name}
        contents = await asyncio.to_thread(read_contents, self._journal.records(), hashes)
        files = [await self._compare(step, contents) for step in change.steps]
        if all(file.state in (FileState.AFTER, FileState.SAME) for file in files):
            self._journal.add(r.ChangeApplied(change.source))
            return
        written = [file for file in files if file.state in (FileState.AFTER, FileState.PART)]
        problem = await self._revert(change, written, contents) if written else ""
        self._journal.add(r.ChangeSettled(change.source))
        foreign = [file for file in files if file.state is FileState.FOREIGN]
        self._report(written, foreign, problem)

    async def _compare(self, step: FileStep, contents: Contents) -> FoundFile:
        try:
            content = await read_file(self._workspace, step.path)
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
            return FoundFile(step, None, FileState.FOREIGN, reason)
        return FoundFile(step, content, _state(step, content, contents))

    async def _revert(
        self, change: UnfinishedChange, written: Sequence[FoundFile], contents: Contents
    ) -> str:
        """Restore the files; return the error, or an empty string."""
        id = f"recovery-{uuid.uuid4().hex[:12]}"
        self._journal.add(r.RecoveryStarted(id, change.source))
        reverts = sorted({file.step.number for file in written})
        workspace = JournaledWorkspace(self._workspace, self._journal, id, reverts)
        try:
            await workspace.apply(ChangeSet(tuple(_restore(file, contents) for file in written)))
        except ToolError as error:
            return str(error)
        return ""

    def _report(
        self, written: Sequence[FoundFile], foreign: Sequence[FoundFile], problem: str
    ) -> None:
        if not written:
            return
        if problem:
            lines = [f"- left half made: {_names(written)}: {one_line(problem)}"]
        else:
            lines = [f"- taken back: {_names(written)}"]
        lines += [f"- left alone: {one_line(file.step.path)}: {file.reason}" for file in foreign]
        text = "\n".join(["The plugin's process ended while it changed files:", *lines])
        self._view.add_note("error" if problem else "info", text)
        self._observer.add_note(text)


def _state(step: FileStep, content: bytes | None, contents: Contents) -> FileState:
    if digest(content) == step.before:
        return FileState.SAME if step.before == step.after else FileState.BEFORE
    if digest(content) == step.after:
        # A content with a secret is not in the journal: such a file cannot be restored.
        known = step.before is None or contents.get(step.before) is not None
        return FileState.AFTER if known else FileState.FOREIGN
    old, new = contents.get(step.before or ""), contents.get(step.after or "")
    if content is None or old is None or new is None:
        return FileState.FOREIGN
    partly = _is_partly_written(content, new, old) or _is_partly_written(content, old, new)
    return FileState.PART if partly else FileState.FOREIGN


def _is_partly_written(content: bytes, new: bytes, old: bytes) -> bool:
    """Whether writing ``new`` over ``old`` from the start gives this content at some moment."""
    same = _common_prefix(content, new)
    return content[same:] == old[same:]


def _common_prefix(left: bytes, right: bytes) -> int:
    """Return how many bytes at the start are the same."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[:middle] == right[:middle] else (low, middle - 1)
    return low


def _restore(file: FoundFile, contents: Contents) -> FileChange:
    """Return the change that restores a file."""
    step = file.step
    if step.before is None:
        return FileChange(path=step.path, before=file.content, after=None, folders=step.folders)
    change = FileChange(path=step.path, before=file.content, after=contents[step.before])
    if file.content is not None:
        return change
    return replace(change, mode=step.mode, owner=step.owner, attributes=step.attributes)


def _names(files: Sequence[FoundFile]) -> str:
    return ", ".join(one_line(file.step.path) for file in files)
