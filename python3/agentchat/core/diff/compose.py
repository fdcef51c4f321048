"""Changes put together: one after the other, and a file that only moved seen as renamed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet, FileChange, combine, count_lines

MIN_SIMILARITY = 0.5
"""The share of a text's lines that must stay for its file to count as renamed, as in git."""


def compose(first: ChangeSet, second: ChangeSet) -> ChangeSet:
    """Return both changes as one, renamed files found; the second begins where the first ends.

    Raises ValueError if it does not.
    """
    parts = {file.path: file for file in first.parts}
    for file in second.parts:
        earlier = parts.get(file.path)
        parts[file.path] = combine(earlier, file) if earlier is not None else file
    return with_renames(file for file in parts.values() if _is_there(file))


def _is_there(file: FileChange) -> bool:
    return file.before is not None or file.after is not None


def with_renames(files: Iterable[FileChange]) -> ChangeSet:
    """Return the change with each file that is deleted here and created there as one file."""
    found = list(files)
    gone = [file for file in found if file.letter == "D"]
    for made in [file for file in found if file.letter == "A"]:
        scores = [(_similarity(old, made), old) for old in gone]
        score, old = max(scores, key=lambda pair: pair[0], default=(0.0, made))
        if score >= MIN_SIMILARITY:
            gone.remove(old)
            found.remove(old)
            found[found.index(made)] = _as_rename(old, made)
    return ChangeSet(tuple(found))


def _as_rename(old: FileChange, new: FileChange) -> FileChange:
    shown = f"{old.name} → {new.name}"
    return replace(new, before=old.before, shown=shown, old_path=old.path, mode=old.mode)


def _similarity(old: FileChange, new: FileChange) -> float:
    """Return how much of the longer text the two share, from 0 to 1."""
    if old.before == new.after:
        return 1.0 if old.before else 0.0
    both = replace(new, before=old.before)
    if both.is_binary:
        return 0.0
    added, removed = count_lines(both)
    lines = [len((side or b"").splitlines()) for side in (old.before, new.after)]
    return 1 - max(added, removed) / max(*lines, 1)
