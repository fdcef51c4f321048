"""The files below a directory: not the ignored ones, but hidden ones."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from agentchat.core.tools.ports import Entry, Workspace
from agentchat.tools import ripgrep
from agentchat.tools.ignores import Ignores, ignores_of

AT_ONCE = 16
"""Folders or files that are asked for at the same time."""


async def files(folder: str, workspace: Workspace) -> list[str]:
    """Return the paths of all files, relative to ``folder`` and sorted; links are not followed."""
    found = await ripgrep.files(folder, workspace)
    if found is None:
        found = await walked(folder, workspace)
    return sorted(found, key=in_order)


def in_order(path: str) -> tuple[str, ...]:
    """Return the sort key of a path: folder by folder."""
    return tuple(path.split("/"))


async def walked(folder: str, workspace: Workspace) -> list[str]:
    """Return the files below a folder without the help of a program."""
    walk = _Walk(workspace)
    await walk.below("", await ignores_of(workspace, folder))
    return walk.found


class _Walk:
    """Looks at several folders at once: where the workspace is far away, most of it is waiting."""

    def __init__(self, workspace: Workspace) -> None:
        self.found: list[str] = []
        self._workspace = workspace
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def below(self, prefix: str, rules: Ignores) -> None:
        """Find the files of a folder and of those in it."""
        async with self._slots:
            inner = await self._folders(prefix, rules)
        await asyncio.gather(*[self.below(f"{prefix}{name}/", own) for name, own in inner])

    async def _folders(self, prefix: str, rules: Ignores) -> list[tuple[str, Ignores]]:
        """Take the files of one folder; return the folders in it, with their rules."""
        inner = []
        for entry in await _entries(rules.folder, self._workspace):
            is_folder = entry.kind == "directory"
            if entry.kind == "other" or rules.hides(entry.name, is_folder):
                continue
            if not is_folder:
                self.found.append(prefix + entry.name)
            elif not await _is_link(os.path.join(rules.folder, entry.name), self._workspace):
                inner.append((entry.name, await rules.enter(entry.name)))
        return inner


async def _entries(folder: str, workspace: Workspace) -> Sequence[Entry]:
    try:
        return await workspace.list(folder)
    except OSError:
        return []


async def _is_link(path: str, workspace: Workspace) -> bool:
    return (await workspace.locate(path)).path != path
