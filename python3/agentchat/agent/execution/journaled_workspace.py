"""A workspace that records every change of files in the journal before it is made."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from agentchat.core.diff.aspects import entry_of, split_aspect
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.workspace import AppliedFile, FileTarget, Workspace, WrappedWorkspace
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

FINISH_SECONDS = 5.0
"""How long a stop waits for a change that has begun; the change itself is finished anyway."""


TakeChange = Callable[[ChangeSet], None]
"""Is given each change of files that was made."""


def ignore_change(change: ChangeSet) -> None:
    """Do nothing with a change: nobody shows it."""


class LocatedWorkspace(WrappedWorkspace):
    """Any workspace, as one call sees it.

    Args:
        located: the targets that the policy judged, by path as the model wrote it. A link that
            changes after the decision does not redirect the call.
    """

    def __init__(
        self,
        inner: Workspace,
        located: Mapping[str, FileTarget],
        on_applied: TakeChange = ignore_change,
    ) -> None:
        super().__init__(inner)
        self._located = located
        self._on_applied = on_applied

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change."""
        applied = await super().apply(change)
        self._on_applied(change)
        return applied

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path as the model wrote it."""
        return self._located.get(path) or await super().locate(path)


class JournaledWorkspace(LocatedWorkspace):
    """A workspace whose changes are journaled.

    Args:
        source: the id of the call.
        reverts: the numbers of the changes that this one undoes.
    """

    def __init__(
        self,
        inner: Workspace,
        journal: JournalWriter,
        source: str,
        reverts: Sequence[int] = (),
        located: Mapping[str, FileTarget] | None = None,
        finish_seconds: float = FINISH_SECONDS,
        on_applied: TakeChange = ignore_change,
    ) -> None:
        super().__init__(inner, located or {}, on_applied)
        self._journal = journal
        self._source = source
        self._reverts = reverts
        self._finish_seconds = finish_seconds

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Record the bytes before and after, then make the change.

        A change that has begun is finished and recorded even if the caller is cancelled. Then this
        returns or raises the outcome of the change instead of the cancellation.
        """
        change = await self._describe_all(change)
        self._journal.add(
            r.ChangeStarted(self._source, self._journal.store(change.parts), tuple(self._reverts))
        )
        applying = asyncio.ensure_future(self._apply(change))
        try:
            return await asyncio.shield(applying)
        except asyncio.CancelledError:
            await asyncio.wait({applying}, timeout=self._finish_seconds)
            _absorb_cancellation()
            if not applying.done():
                applying.add_done_callback(_log_failure)
                raise ToolError(_unknown_outcome(change)) from None
            return applying.result()

    async def _apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change and record its outcome."""
        try:
            applied = await self._inner.apply(change)
        except Exception:
            # If the files cannot be read now, the change stays open for the recovery to end.
            with contextlib.suppress(OSError, ToolError):
                changed = await self._find_changed(change)
                self._journal.add(r.ChangeSettled(self._source, self._journal.store(changed)))
                self._on_applied(ChangeSet(tuple(changed)))
            raise
        resaved = await self._read_resaved(change, applied)
        self._journal.add(r.ChangeApplied(self._source, self._journal.store(resaved)))
        self._on_applied(_with_resaved(change, resaved))
        return applied

    async def _describe_all(self, change: ChangeSet) -> ChangeSet:
        """Return a change with the metadata that restoring it needs.

        All files are looked up together: one by one, thousands of them take seconds.
        """
        parents = {os.path.dirname(entry_of(f.path)) for f in change.files if f.letter in "AR"}
        gone = {entry_of(file.path) for file in change.files if file.after is None}
        counts = await asyncio.gather(*(self._missing_folders(p, gone) for p in parents))
        missing = dict(zip(parents, counts, strict=True))
        described = (self._describe(file, missing) for file in change.files)
        return ChangeSet(tuple(await asyncio.gather(*described)))

    async def _describe(self, file: FileChange, missing: Mapping[str, int]) -> FileChange:
        if file.letter in "AR":
            file = replace(file, folders=missing[os.path.dirname(entry_of(file.path))])
        is_file = not split_aspect(file.path)[1]
        if is_file and file.letter in "DR" and file.mode is None:
            target = await self._inner.locate(file.origin)
            file = replace(file, mode=target.mode, owner=target.owner, attributes=target.attributes)
        return file

    async def _missing_folders(self, folder: str, gone: Collection[str]) -> int:
        """Return how many folders up from this one do not exist, or are files that go."""
        missing = 0
        while folder != "/" and (folder in gone or await self._inner.kind(folder) is None):
            missing, folder = missing + 1, os.path.dirname(folder)
        return missing

    async def _read_resaved(
        self, change: ChangeSet, applied: Sequence[AppliedFile]
    ) -> list[FileChange]:
        """Return the files that saving changed further, with the bytes they have now."""
        formatted = {file.path for file in applied if file.reformatted}
        resaved = []
        for file in change.files:
            if file.path in formatted:
                with contextlib.suppress(OSError):
                    content = await self._inner.read(file.path)
                    resaved.append(replace(file, after=content))
        return resaved

    async def _find_changed(self, change: ChangeSet) -> list[FileChange]:
        """Return the files of a failed change that have their new bytes all the same."""
        parts = [part for part in change.parts if not part.changes_nothing]
        return [part for part in parts if await read_file(self._inner, part.path) == part.after]


def _with_resaved(change: ChangeSet, resaved: Sequence[FileChange]) -> ChangeSet:
    """Return a change with what saving made of its files."""
    after = {file.path: file for file in resaved}
    return ChangeSet(tuple(after.get(file.path, file) for file in change.files))


async def read_file(workspace: Workspace, path: str) -> bytes | None:
    """Return the content of a file, unsaved text first; ``None`` if missing; raises OSError.

    A folder in the place of the file means that the file is missing, too.
    """
    try:
        return await workspace.read(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _absorb_cancellation() -> None:
    """Clear the cancellation of this task, so that it can report the outcome."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _log_failure(task: asyncio.Future[tuple[AppliedFile, ...]]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("a change that was not waited for failed", exc_info=task.exception())


def _unknown_outcome(change: ChangeSet) -> str:
    names = ", ".join(file.name for file in change.files)
    return f"Stopped while {names} was changed. Whether it is changed is unknown: read it again."
