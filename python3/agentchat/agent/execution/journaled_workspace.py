"""A workspace that writes every change down before it is made."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentchat.agent.scribe import Scribe
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.tools.ports import Applied, Target, Workspace


class RecordedWorkspace:
    """Any workspace, as one call sees it; ``source`` is the call's id.

    What is not named here is the inner workspace's own. ``takes`` are the numbers of the changes
    that its own take back; ``located`` is what the gate judged, by the path as it was written: a
    link that leads elsewhere since then leads the call nowhere else.
    """

    def __init__(
        self,
        inner: Workspace,
        scribe: Scribe,
        source: str,
        takes: Sequence[int] = (),
        located: Mapping[str, Target] | None = None,
    ) -> None:
        self._inner = inner
        self._scribe = scribe
        self._source = source
        self._takes = takes
        self._located = located or {}

    async def locate(self, path: str) -> Target:
        """Return the identity of a path as the model wrote it."""
        return self._located.get(path) or await self._inner.locate(path)

    async def apply(self, change: ChangeSet) -> tuple[Applied, ...]:
        """Keep the bytes before and after, then make the change."""
        change = ChangeSet(tuple([await self._described(file) for file in change.files]))
        self._scribe.changing(self._source, change, self._takes)
        try:
            applied = await self._inner.apply(change)
        except BaseException:
            self._scribe.settled(self._source)
            raise
        self._scribe.changed(self._source, await self._settled(change, applied))
        return applied

    async def _described(self, file: FileChange) -> FileChange:
        """Return a change with what the way back needs to know beside the bytes."""
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

    async def _settled(self, change: ChangeSet, applied: Sequence[Applied]) -> list[FileChange]:
        """Return the files that saving changed further, with the bytes they have now."""
        formatted = {one.path for one in applied if one.reformatted}
        settled = []
        for file in change.files:
            if file.path in formatted:
                with contextlib.suppress(OSError):
                    now = await self._inner.read(file.path)
                    settled.append(replace(file, after=now))
        return settled

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)
