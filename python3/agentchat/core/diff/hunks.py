"""The hunks of a changed file: what is shown and decided as one, and the change with some of them.

Hunks count from 0 here and from 1 in messages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

from agentchat.core.diff.changeset import FileChange, line_changes
from agentchat.core.diff.line_diff import LineChange, join_changes
from agentchat.core.diff.text_file import read_lines
from agentchat.core.frozen import frozen

CONTEXT = 3
"""Unchanged lines around a hunk; changes closer than twice that are one hunk, unless split."""


@frozen
class HunkLine:
    """One line of a hunk: ``kind`` is a space, ``-`` or ``+``.

    ``text`` is without line end, ``end`` is the line end (empty at the end of a file without a
    final newline). ``old`` and ``new`` are 1-based line numbers, ``None`` on the side without the
    line. Bytes that are not UTF-8 are lone surrogates.
    """

    kind: str
    text: str
    end: str
    old: int | None
    new: int | None


@frozen
class Hunk:
    """Changed lines of a file with their context; numbers as in a unified diff."""

    index: int
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[HunkLine, ...]
    splits: tuple[int, ...] = ()
    """Where it can be split, as in :attr:`FileChange.splits`."""

    @property
    def header(self) -> str:
        """The hunk's ``@@`` line."""
        old, new = f"{self.old_start},{self.old_count}", f"{self.new_start},{self.new_count}"
        return f"@@ -{old} +{new} @@"


def hunks(file: FileChange) -> tuple[Hunk, ...]:
    """Return the hunks of a file, numbered from 0.

    A change without lines (of a binary file, an empty file created or deleted, a new name for the
    same text) is one hunk without lines.
    """
    return _hunks(file, file.splits)


@lru_cache(maxsize=32)
def _hunks(file: FileChange, splits: tuple[int, ...]) -> tuple[Hunk, ...]:
    groups = _groups(line_changes(file), splits)
    if not groups and not file.changes_nothing:
        return (Hunk(0, 0, 0, 0, 0, ()),)
    old, new = read_lines(file.before), read_lines(file.after)
    found: list[Hunk] = []
    shown = 0
    for group, behind in zip(groups, [*groups[1:], None], strict=False):
        last = group[-1].a_end
        # Neighbours share what is between them: most of it is shown before the second one.
        room = (behind[0].a_start - last) // 2 if behind else len(old) - last
        end = last + min(CONTEXT, room)
        found.append(
            _hunk(len(found), group, (max(shown, group[0].a_start - CONTEXT), end), old, new)
        )
        shown = end
    return tuple(found)


def split_hunks(file: FileChange, indexes: Collection[int]) -> FileChange:
    """Return the same change, in which each change of lines in these hunks is a hunk of its own."""
    more = (split for hunk in hunks(file) if hunk.index in indexes for split in hunk.splits)
    return replace(file, splits=tuple(sorted({*file.splits, *more})))


def keep_hunks(file: FileChange, kept: Collection[int]) -> FileChange:
    """Return the change with only the hunks whose indexes are kept, byte for byte.

    If nothing of a renamed file is kept, it keeps its old name.
    """
    groups = _groups(line_changes(file), file.splits)
    if set(range(max(len(groups), 1))) <= set(kept):
        return file
    if not any(0 <= index < len(groups) for index in kept):
        return replace(file, path=file.origin, after=file.before, old_path="", members=())
    kept_groups = [group for index in sorted(kept) for group in groups[index : index + 1]]
    parts = [change for group in kept_groups for change in group]
    new = read_lines(file.after)
    after = join_changes(read_lines(file.before), [(part, new) for part in parts])
    return replace(file, after=after)


def _groups(changes: Sequence[LineChange], splits: Sequence[int]) -> list[list[LineChange]]:
    """Return the changes grouped by hunk: those that lie close and are not split."""
    groups: list[list[LineChange]] = []
    for change in changes:
        end = groups[-1][-1].a_end if groups else 0
        index = bisect_left(splits, end)
        is_split = index < len(splits) and splits[index] <= change.a_start
        if groups and change.a_start - end <= 2 * CONTEXT and not is_split:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(
    index: int, group: list[LineChange], span: tuple[int, int], old: list[str], new: list[str]
) -> Hunk:
    i, i_end = span
    j = group[0].b_start - (group[0].a_start - i)
    j_end = group[-1].b_end + (i_end - group[-1].a_end)
    lines: list[HunkLine] = []
    position, shift = i, j - i
    for change in [*group, LineChange(i_end, i_end, j_end, j_end)]:
        lines += (_line(" ", old[n], n, n + shift) for n in range(position, change.a_start))
        lines += (_line("-", old[n], n, None) for n in range(change.a_start, change.a_end))
        lines += (_line("+", new[n], None, n) for n in range(change.b_start, change.b_end))
        position, shift = change.a_end, change.b_end - change.a_end
    old_start = i + 1 if i_end > i else i
    new_start = j + 1 if j_end > j else j
    splits = tuple(change.a_start for change in group[1:])
    return Hunk(index, old_start, i_end - i, new_start, j_end - j, tuple(lines), splits)


def _line(kind: str, line: str, old: int | None, new: int | None) -> HunkLine:
    text = line.removesuffix("\n")
    end = line[len(text) :]
    if end and text.endswith("\r"):
        text, end = text[:-1], "\r\n"
    number = (None if old is None else old + 1, None if new is None else new + 1)
    return HunkLine(kind, text, end, *number)
