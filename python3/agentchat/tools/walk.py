"""The files below a directory: not the ignored ones, but hidden ones."""

from __future__ import annotations

import os
from collections.abc import Sequence

from agentchat.core.ports import Entry, Workspace
from agentchat.tools import ripgrep
from agentchat.tools.ignores import Ignores, ignores_of


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
    found: list[str] = []
    waiting: list[tuple[str, Ignores]] = [("", await ignores_of(workspace, folder))]
    while waiting:
        prefix, rules = waiting.pop()
        for entry in await _entries(rules.folder, workspace):
            is_folder = entry.kind == "directory"
            if entry.kind == "other" or rules.hides(entry.name, is_folder):
                continue
            if not is_folder:
                found.append(prefix + entry.name)
            elif not await _is_link(os.path.join(rules.folder, entry.name), workspace):
                waiting.append((f"{prefix}{entry.name}/", await rules.enter(entry.name)))
    return found


async def _entries(folder: str, workspace: Workspace) -> Sequence[Entry]:
    try:
        return await workspace.list(folder)
    except OSError:
        return []


async def _is_link(path: str, workspace: Workspace) -> bool:
    return (await workspace.locate(path)).path != path
