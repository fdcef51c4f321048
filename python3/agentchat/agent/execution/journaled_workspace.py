"""A workspace that records every change of files in the journal before it is made."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import Applied, Target, Workspace
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

FINISH_SECONDS = 5.0
"""How long a stop waits for a change that has begun; the change itself is finished anyway."""


class JournaledWorkspace:
    """Any workspace, as one call sees it; ``source`` is the call's id.

    What is not defined here is the inner workspace's own. ``reverts`` are the numbers of the
    changes that its own take back; ``located`` is what the policy judged, by the path as it was
    written: a link that leads elsewhere since then does not lead the call elsewhere.
    """

    def __init__(
        self,
        inner: Workspace,
        journal: JournalWriter,
        source: str,
        reverts: Sequence[int] = (),
        located: Mapping[str, Target] | None = None,
        finish_seconds: float = FINISH_SECONDS,
    ) -> None:
        self._inner = inner
        self._journal = journal
        self._source = source
        self._reverts = reverts
        self._located = located or {}
        self._finish_seconds = finish_seconds

    async def locate(self, path: str) -> Target:
        """Return the identity of a path as the model wrote it."""
        return self._located.get(path) or await self._inner.locate(path)

    async def apply(self, change: ChangeSet) -> tuple[Applied, ...]:
        """Record the bytes before and after, then make the change.

        A change that has begun is finished and recorded even if the caller is cancelled: then
        this returns or raises what became of it, and the caller's result tells the truth.
        """
        change = ChangeSet(tuple([await self._describe(file) for file in change.files]))
        self._journal.record_change_started(self._source, change, self._reverts)
        applying = asyncio.ensure_future(self._apply(change))
        try:
            return await asyncio.shield(applying)
        except asyncio.CancelledError:
            await asyncio.wait({applying}, timeout=self._finish_seconds)
            _absorb_cancellation()
            if not applying.done():
                applying.add_done_callback(_log_failure)
                raise ToolError(_unknown(change)) from None
            return applying.result()

    async def _apply(self, change: ChangeSet) -> tuple[Applied, ...]:
        """Make the change and record what became of it."""
        try:
            applied = await self._inner.apply(change)
        except Exception:
            # Where the files cannot be read either the change stays open: recovery looks later.
            with contextlib.suppress(OSError, ToolError):
                changed = await self._still_changed(change)
                self._journal.record_change_settled(self._source, changed)
            raise
        self._journal.record_change_applied(self._source, await self._resaved(change, applied))
        return applied

    async def _describe(self, file: FileChange) -> FileChange:
        """Return a change with what restoring needs beside the bytes."""
        if file.letter in "AR":
            file = replace(file, folders=await self._missing_folders(file.path))
        if file.letter in "DR" and file.mode is None:
            found = await self._inner.locate(file.origin)
            file = replace(file, mode=found.mode, owner=found.owner, attributes=found.attributes)
        return file

    async def _missing_folders(self, path: str) -> int:
        missing, folder = 0, os.path.dirname(path)
        while folder != "/" and await self._inner.kind(folder) is None:
            missing, folder = missing + 1, os.path.dirname(folder)
        return missing

    async def _resaved(self, change: ChangeSet, applied: Sequence[Applied]) -> list[FileChange]:
        """Return the files that saving changed further, with the bytes they have now."""
        formatted = {one.path for one in applied if one.reformatted}
        resaved = []
        for file in change.files:
            if file.path in formatted:
                with contextlib.suppress(OSError):
                    now = await self._inner.read(file.path)
                    resaved.append(replace(file, after=now))
        return resaved

    async def _still_changed(self, change: ChangeSet) -> list[FileChange]:
        """Return the files of a failed change that have their new bytes all the same."""
        parts = [part for part in change.parts if not part.changes_nothing]
        return [part for part in parts if await self._read(part.path) == part.after]

    async def _read(self, path: str) -> bytes | None:
        try:
            return await self._inner.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def _absorb_cancellation() -> None:
    """Go on although this task was cancelled: what comes next is quick, and must be told."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _log_failure(task: asyncio.Future[tuple[Applied, ...]]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("a change that was not waited for failed", exc_info=task.exception())


def _unknown(change: ChangeSet) -> str:
    names = ", ".join(file.name for file in change.files)
    return f"Stopped while {names} was changed. Whether it is changed is unknown: read it again."
