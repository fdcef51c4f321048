"""Ends the changes that a killed process left unfinished.

Theory
======

A change of files is recorded as ``ChangeStarted`` (with the bytes before and after), made, and
recorded as ``ChangeApplied`` or ``ChangeSettled``. A process that is killed in between leaves an
*unfinished* change. When its chat is opened again each of them is brought to an end before
anything else is done in the chat, the newest first, so that every change is whole or not there.

Every file of the change is compared with the bytes that the journal has of it:

=========  ===============================================  ====================================
state      the file holds                                   so
=========  ===============================================  ====================================
before     the bytes from before                            nothing was done to it
after      the bytes from after                             it was written
same       either, for they are equal                       nothing to do
part       new bytes over old ones (written in place)       it was being written
foreign    anything else, or it cannot be read or restored  somebody wrote it since
=========  ===============================================  ====================================

All *after* or *same*: the change was made; ``ChangeApplied`` is added. Otherwise the files that
are *after* or *part* get their bytes from before, as a change of its own (``RecoveryStarted``
names it), and ``ChangeSettled`` ends the unfinished one. A *foreign* file is never touched; the
user and the model are told its name. A recovery that is itself killed begins again next time: it
compares bytes, so doing it twice does nothing more.

Beside the files there may be temporary files, files set aside to be deleted, and empty folders.
Removing them is disk work without an end in sight on a slow disk: all of it runs in threads, and
locks only the folder it looks at.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.undo.rollback import one_line, read_file
from agentchat.core.diff.changeset import ChangeSet, FileChange, digest
from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import Workspace
from agentchat.core.turn.view import View
from agentchat.journal.timeline import FileStep, UnfinishedChange
from agentchat.journal.undo_plan import read_contents
from agentchat.journal.writer import JournalWriter

Contents = Mapping[str, bytes | None]
"""Stored bytes by their hash; ``None`` for those withheld because of a secret."""


class LeftoverFiles(Protocol):
    """What a killed process leaves beside the files it was changing; both methods block."""

    def put_back(self, paths: Iterable[str]) -> None:
        """Give files that were set aside their names back."""

    def sweep(self, made: Mapping[str, int]) -> None:
        """Remove temporary files beside paths, and so many folders created for each of them."""


class FileState(Enum):
    """What a file of an unfinished change is found to hold, see above."""

    BEFORE = "before"
    AFTER = "after"
    SAME = "same"
    PART = "part"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file of an unfinished change, and what it holds now."""

    step: FileStep
    now: bytes | None
    state: FileState
    why: str = "it changed since"


class Recovery:
    """Recovers the files of one chat; ``tell`` takes what the model must know."""

    def __init__(
        self,
        workspace: Workspace,
        screen: View,
        journal: JournalWriter,
        leftovers: LeftoverFiles,
        tell: Callable[[str], None],
    ) -> None:
        self._workspace = workspace
        self._screen = screen
        self._journal = journal
        self._leftovers = leftovers
        self._tell = tell

    async def recover(self, unfinished: Sequence[UnfinishedChange], touched: Iterable[str]) -> None:
        """End every unfinished change, the newest first.

        Args:
            touched: every path the chat ever changed: what could not be removed beside these then
                may be removable now.
        """
        for change in reversed(unfinished):
            await self._recover(change)
            made = {step.path: step.folders for step in change.steps}
            await asyncio.to_thread(self._leftovers.sweep, made)
        await asyncio.to_thread(self._leftovers.sweep, dict.fromkeys(touched, 0))

    async def _recover(self, change: UnfinishedChange) -> None:
        deleted = [step.path for step in change.steps if step.after is None]
        await asyncio.to_thread(self._leftovers.put_back, deleted)
        wanted = {name for step in change.steps for name in (step.before, step.after) if name}
        contents = await asyncio.to_thread(read_contents, self._journal.records(), wanted)
        found = [await self._look(step, contents) for step in change.steps]
        if all(file.state in (FileState.AFTER, FileState.SAME) for file in found):
            self._journal.record_change_applied(change.source)
            return
        written = [file for file in found if file.state in (FileState.AFTER, FileState.PART)]
        problem = await self._take_back(change, written, contents) if written else ""
        self._journal.record_change_settled(change.source)
        foreign = [file for file in found if file.state is FileState.FOREIGN]
        self._report(written, foreign, problem)

    async def _look(self, step: FileStep, contents: Contents) -> FoundFile:
        try:
            now = await read_file(self._workspace, step.path)
        except OSError as error:
            why = f"it cannot be read: {error.strerror or error}"
            return FoundFile(step, None, FileState.FOREIGN, why)
        return FoundFile(step, now, _compare(step, now, contents))

    async def _take_back(
        self, change: UnfinishedChange, written: Sequence[FoundFile], contents: Contents
    ) -> str:
        """Give the files their bytes from before; return the problem, if there was one."""
        id = f"recovery-{uuid.uuid4().hex[:12]}"
        self._journal.record_recovery_started(id, change.source)
        reverts = sorted({file.step.number for file in written})
        workspace = JournaledWorkspace(self._workspace, self._journal, id, reverts)
        try:
            await workspace.apply(ChangeSet(tuple(_revert(file, contents) for file in written)))
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
        lines += [f"- left alone: {one_line(file.step.path)}: {file.why}" for file in foreign]
        text = "\n".join(["The plugin's process ended while it changed files:", *lines])
        self._screen.add_note("error" if problem else "info", text)
        self._tell(text)


def _compare(step: FileStep, now: bytes | None, contents: Contents) -> FileState:
    if digest(now) == step.before:
        return FileState.SAME if step.before == step.after else FileState.BEFORE
    if digest(now) == step.after:
        # Without its bytes from before, which contain a secret, a file can only stay as is.
        known = step.before is None or contents.get(step.before) is not None
        return FileState.AFTER if known else FileState.FOREIGN
    old, new = contents.get(step.before or ""), contents.get(step.after or "")
    if now is None or old is None or new is None:
        return FileState.FOREIGN
    partly = _is_partly_written(now, new, old) or _is_partly_written(now, old, new)
    return FileState.PART if partly else FileState.FOREIGN


def _is_partly_written(now: bytes, over: bytes, under: bytes) -> bool:
    """Whether writing ``over`` from the start of ``under`` gives this at some moment."""
    same = _common_prefix(now, over)
    return now[same:] == under[same:]


def _common_prefix(one: bytes, other: bytes) -> int:
    """Return how many bytes at the start are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _revert(found: FoundFile, contents: Contents) -> FileChange:
    """Return the change that gives a file its bytes from before."""
    step = found.step
    if step.before is None:
        return FileChange(path=step.path, before=found.now, after=None, folders=step.folders)
    change = FileChange(path=step.path, before=found.now, after=contents[step.before])
    if found.now is not None:
        return change
    return replace(change, mode=step.mode, owner=step.owner, attributes=step.attributes)


def _names(found: Sequence[FoundFile]) -> str:
    return ", ".join(one_line(file.step.path) for file in found)
