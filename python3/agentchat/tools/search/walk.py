"""The files below a directory: not the ignored ones, but hidden ones."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentchat.core.tools.ports import DirectoryEntry, Workspace
from agentchat.tools.format import path_sort_key
from agentchat.tools.search import ripgrep

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAMES = (".gitignore", ".ignore", ".rgignore")
"""Ignore files, the weaker first."""


@dataclass(frozen=True)
class Ignores:
    """The rules in force in ``folder``: for each folder above, outermost first, its patterns."""

    workspace: Workspace
    folder: str
    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def hides(self, name: str, is_folder: bool) -> bool:
        """Whether an entry of the folder is left out; ``.git`` always is."""
        if name == ".git":
            return True
        path = os.path.join(self.folder, name)
        for base, spec in reversed(self.levels):
            relative = os.path.relpath(path, base) + ("/" if is_folder else "")
            verdict = spec.check_file(relative).include
            if verdict is not None:
                return verdict
        return False

    async def enter(self, name: str) -> Ignores:
        """Return the rules of a folder below."""
        return await Ignores(
            self.workspace, os.path.join(self.folder, name), self.levels
        )._with_own()

    async def _with_own(self) -> Ignores:
        paths = [os.path.join(self.folder, name) for name in (".git/info/exclude", *NAMES)]
        read = await asyncio.gather(*[_lines(self.workspace, path) for path in paths])
        lines = [line for one in read for line in one]
        if not lines:
            return self
        return Ignores(self.workspace, self.folder, (*self.levels, (self.folder, _spec(lines))))


async def load_ignores(workspace: Workspace, folder: str) -> Ignores:
    """Return the rules in force in a folder, from those of its repository, or the root, on.

    A folder that is ignored itself is listed by its own rules only: someone asked for it.
    """
    top = await _top(workspace, folder)
    rules = await Ignores(workspace, top)._with_own()
    for name in _below(folder, top):
        hidden = rules.hides(name, is_folder=True)
        inner = rules if not hidden else Ignores(workspace, rules.folder)
        rules = await inner.enter(name)
    return rules


async def _top(workspace: Workspace, folder: str) -> str:
    here = folder
    while True:
        if await workspace.kind(os.path.join(here, ".git")) is not None:
            return here
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    inside = folder == workspace.root or folder.startswith(workspace.root.rstrip("/") + "/")
    return workspace.root if inside else folder


def _below(folder: str, top: str) -> list[str]:
    return [] if folder == top else os.path.relpath(folder, top).split("/")


async def _lines(workspace: Workspace, path: str) -> list[str]:
    try:
        data = await workspace.read(path)
    except OSError:
        return []
    return data.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    good = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:  # a pattern that Git would not take either
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)


PARALLEL = 16
"""Folders or files that are asked for at the same time."""


async def list_files(folder: str, workspace: Workspace) -> list[str]:
    """Return the paths of all files, relative to ``folder`` and sorted; links are not followed."""
    found = await ripgrep.list_files(folder, workspace)
    if found is None:
        found = await walk_folder(folder, workspace)
    return sorted(found, key=path_sort_key)


async def walk_folder(folder: str, workspace: Workspace) -> list[str]:
    """Return the files below a folder without the help of a program."""
    walk = _Walk(workspace)
    await walk.below("", await load_ignores(workspace, folder))
    return walk.found


class _Walk:
    """Looks at several folders at once: where the workspace is far away, most of it is waiting."""

    def __init__(self, workspace: Workspace) -> None:
        self.found: list[str] = []
        self._workspace = workspace
        self._slots = asyncio.Semaphore(PARALLEL)

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


async def _entries(folder: str, workspace: Workspace) -> Sequence[DirectoryEntry]:
    try:
        return await workspace.list(folder)
    except OSError:
        return []


async def _is_link(path: str, workspace: Workspace) -> bool:
    return (await workspace.locate(path)).path != path
