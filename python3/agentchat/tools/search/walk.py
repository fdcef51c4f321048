"""List the files below a directory: hidden ones too, without ignored ones."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentchat.core.frozen import frozen
from agentchat.core.workspace import DirectoryEntry, Workspace
from agentchat.tools.format import path_sort_key
from agentchat.tools.search import ripgrep

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAMES = (".gitignore", ".ignore", ".rgignore")
"""Ignore files; later ones have precedence."""


@frozen
class Ignores:
    """The rules that apply in ``folder``: the patterns of each folder above, outermost first."""

    workspace: Workspace
    folder: str
    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def hides(self, name: str, is_folder: bool) -> bool:
        """Whether an entry of the folder is ignored; ``.git`` always is."""
        if name == ".git":
            return True
        path = os.path.join(self.folder, name)
        for base, spec in reversed(self.levels):
            relative = os.path.relpath(path, base) + ("/" if is_folder else "")
            is_ignored = spec.check_file(relative).include
            if is_ignored is not None:
                return is_ignored
        return False

    async def enter(self, name: str) -> Ignores:
        """Return the rules of a subfolder."""
        return await Ignores(
            self.workspace, os.path.join(self.folder, name), self.levels
        )._with_own()

    async def _with_own(self) -> Ignores:
        paths = [os.path.join(self.folder, name) for name in (".git/info/exclude", *NAMES)]
        contents = await asyncio.gather(*[_lines(self.workspace, path) for path in paths])
        lines = [line for content in contents for line in content]
        if not lines:
            return self
        return Ignores(self.workspace, self.folder, (*self.levels, (self.folder, _spec(lines))))


async def load_ignores(workspace: Workspace, folder: str) -> Ignores:
    """Return the rules that apply in a folder, beginning with those of its repository or root.

    In a folder that is ignored itself only its own rules apply: the call names it.
    """
    top = await _top(workspace, folder)
    rules = await Ignores(workspace, top)._with_own()
    for name in _below(folder, top):
        hidden = rules.hides(name, is_folder=True)
        inner = rules if not hidden else Ignores(workspace, rules.folder)
        rules = await inner.enter(name)
    return rules


async def _top(workspace: Workspace, folder: str) -> str:
    above = folder
    while await workspace.kind(os.path.join(above, ".git")) is None:
        if above == os.path.dirname(above):
            break
        above = os.path.dirname(above)
    else:
        return above
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

    valid = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:  # Git refuses this pattern, too
            continue
        valid.append(line)
    return GitIgnoreSpec.from_lines(valid)


PARALLEL = 16
"""Folders or files that are read at the same time."""


async def list_files(folder: str, workspace: Workspace) -> list[str]:
    """Return the paths of all files, relative to ``folder`` and sorted, without following links."""
    paths = await ripgrep.list_files(folder, workspace)
    if paths is None:
        paths = await walk_folder(folder, workspace)
    return sorted(paths, key=path_sort_key)


async def walk_folder(folder: str, workspace: Workspace) -> list[str]:
    """Return the files below a folder, without ripgrep."""
    walk = _Walk(workspace)
    await walk.add_files("", await load_ignores(workspace, folder))
    return walk.paths


class _Walk:
    """Reads several folders at once: in a remote workspace, most of the time is waiting."""

    def __init__(self, workspace: Workspace) -> None:
        self.paths: list[str] = []
        self._workspace = workspace
        self._slots = asyncio.Semaphore(PARALLEL)

    async def add_files(self, prefix: str, rules: Ignores) -> None:
        """Add the files of a folder and of its subfolders."""
        async with self._slots:
            folders = await self._add_folder(prefix, rules)
        await asyncio.gather(*[self.add_files(f"{prefix}{name}/", own) for name, own in folders])

    async def _add_folder(self, prefix: str, rules: Ignores) -> list[tuple[str, Ignores]]:
        """Add the files of one folder; return its subfolders with their rules."""
        folders = []
        for entry in await _entries(rules.folder, self._workspace):
            is_folder = entry.kind == "directory"
            if entry.kind == "other" or rules.hides(entry.name, is_folder):
                continue
            if not is_folder:
                self.paths.append(prefix + entry.name)
            elif not await _is_link(os.path.join(rules.folder, entry.name), self._workspace):
                folders.append((entry.name, await rules.enter(entry.name)))
        return folders


async def _entries(folder: str, workspace: Workspace) -> Sequence[DirectoryEntry]:
    try:
        return await workspace.list(folder)
    except OSError:
        return []


async def _is_link(path: str, workspace: Workspace) -> bool:
    return (await workspace.locate(path)).path != path
