"""The order in which the files of a change are changed on disk."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from agentchat.core.diff.aspects import FOLDER, LINK, MODE, split_aspect
from agentchat.core.diff.changeset import FileChange

_ORDER = {FOLDER: 1, "": 2, LINK: 3, MODE: 4}


def order_steps(files: Sequence[FileChange]) -> list[list[FileChange]]:
    """Return the changes to make one after the other, each with its files in order.

    Nearly always it is one. Where a folder becomes a file, or a file a folder, what is deleted
    must be gone first.
    """
    gone = {split_aspect(part.path) for file in files for part in file.parts if part.after is None}
    if not any(_needs_room(file, gone) for file in files if file.letter in "AR"):
        return [sorted(files, key=_order)]
    parts = sorted((part for file in files for part in file.parts), key=_order)
    deleted = [part for part in parts if part.after is None]
    return [deleted, [part for part in parts if part.after is not None]]


def _order(file: FileChange) -> tuple[int, int]:
    """Return the key that sorts changes so that each can be made after those before it.

    Deleted files come first, since a link may take their names; deleted folders last, the deepest
    before those that contain them; new folders before the files in them; modes after the rest.
    """
    path, aspect = split_aspect(file.path)
    if file.letter != "D":
        return (_ORDER[aspect], path.count("/") if aspect == FOLDER else 0)
    return (5, -path.count("/")) if aspect == FOLDER else (0, 0)


def _needs_room(file: FileChange, gone: Collection[tuple[str, str]]) -> bool:
    """Whether a created entry takes the place of a folder, or lies below what was a file."""
    if not gone:
        return False
    path, aspect = split_aspect(file.path)
    if aspect != FOLDER and (path, FOLDER) in gone:
        return True
    above = _folders_above(path)
    below = [path, *above] if aspect == FOLDER else above
    return any((folder, kind) in gone for folder in below for kind in ("", LINK))


def _folders_above(path: str) -> Iterator[str]:
    while path != "/":
        path = os.path.dirname(path)
        yield path
