"""A change of files as a value: computed, shown, decided hunk by hunk, applied and undone.

The life of a change
--------------------

A tool that edits never writes a file itself. It computes a :class:`ChangeSet` with the bytes of
each file before and after, and this value goes through every stage:

1. *Computed* by a tool's dry run, from the text the user sees (unsaved buffers included).
2. *Shown* in the approval float or the review, as the hunks of :func:`hunks`.
3. *Decided*: the user keeps or rejects each hunk, or edits the proposed text
   (``turn/hunk_decisions``). :func:`keep_hunks` makes the change that holds only what is kept.
4. *Checked*: a change applies only to the bytes it was computed from. If a file changed
   meanwhile, the change is *stale*: :func:`rebase` puts it on top of the new text, and it is shown
   and approved again. If the two conflict, nothing is written.
5. *Applied* to all files or to none (``workspace/files/transaction``; loaded buffers change by
   minimal edits in one undo step). The journal records the change before the first file
   changes, and its outcome afterwards.
6. *Undone*: :meth:`ChangeSet.reversed` of the journal's copy is applied in the same way, and only
   to the bytes that the change left.

So a change is never half applied, never shown in one form and written in another, and never
applied to a text that nobody saw. Hunks count from 0 here and from 1 in messages.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import pairwise

from agentchat.core.diff.line_diff import LineChange, diff_lines
from agentchat.core.diff.text_file import split_lines, why_not_text
from agentchat.core.frozen import frozen

CONTEXT = 3
"""Unchanged lines around a hunk; changes closer than twice that are one hunk, unless split."""

LineEdit = tuple[int, int, list[str]]


@frozen
class FileChange:
    """One file of a change.

    ``path`` is absolute; ``display_path`` is the name in messages (empty: ``path``). ``before`` is
    ``None`` for a file that is created, ``after`` for one that is deleted. ``mode`` is the
    permission bits that a created file gets, if not the usual ones, ``owner`` its user and group,
    ``attributes`` its extended attributes. ``old_path`` is the path of a renamed file before.
    ``folders`` is how many folders above the file are created with it, or deleted with it if
    they are empty then.
    """

    path: str
    before: bytes | None
    after: bytes | None
    display_path: str = ""
    mode: int | None = None
    old_path: str = ""
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0
    anchor: tuple[str, int, int] | None = None
    """The folder in which the preview created a file: path, device, inode."""
    splits: tuple[int, ...] = field(default=(), compare=False)
    """Lines of the text before, from 0, at which a new hunk begins, however close the last is."""
    members: tuple[FileChange, ...] = ()
    """Changes that are shown and decided as one; ``display_path`` says what they are, then."""

    @property
    def origin(self) -> str:
        """The path of the bytes before."""
        return self.old_path or self.path

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change touches."""
        if self.members:
            return tuple(path for member in self.members for path in member.paths)
        return (self.old_path, self.path) if self.old_path else (self.path,)

    @property
    def parts(self) -> tuple[FileChange, ...]:
        """The change as one part per path: a renamed file is one created and one deleted."""
        if self.members:
            return tuple(part for member in self.members for part in member.parts)
        if not self.old_path:
            return (self,)
        created = replace(self, before=None, display_path="", old_path="")
        deleted = replace(created, path=self.old_path, before=self.before, after=None, folders=0)
        return (created, deleted)

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.display_path or self.path

    @property
    def letter(self) -> str:
        """``A`` for created, ``D`` for deleted, ``R`` for renamed, ``M`` for modified."""
        if self.old_path:
            return "R"
        if self.members:
            return "M"
        if self.before is None:
            return "A"
        return "D" if self.after is None else "M"

    @property
    def before_hash(self) -> str | None:
        """SHA-256 of the bytes before, in hex; ``None`` if there was no file."""
        if self.members:
            return _digest_all(member.before_hash for member in self.members)
        return digest(self.before)

    @property
    def after_hash(self) -> str | None:
        """SHA-256 of the bytes after, in hex; ``None`` if there will be no file."""
        if self.members:
            return _digest_all(member.after_hash for member in self.members)
        return digest(self.after)

    @property
    def is_binary(self) -> bool:
        """Whether one side is not text, so that there are no lines to compare."""
        return any(why_not_text(side) for side in (self.before, self.after) if side)

    @property
    def changes_nothing(self) -> bool:
        """Whether path and bytes stay the same."""
        if self.members:
            return all(member.changes_nothing for member in self.members)
        return self.before == self.after and not self.old_path

    def reversed(self) -> FileChange:
        """Return the change that undoes this one."""
        if self.members:
            return replace(self, members=tuple(m.reversed() for m in reversed(self.members)))
        undo = replace(self, before=self.after, after=self.before, splits=())
        return replace(undo, path=self.old_path, old_path=self.path) if self.old_path else undo


@frozen
class ReplacedLines:
    """The lines of one replacement in the file ``path`` before the change.

    ``first`` and ``last`` count from 1, both included.
    """

    path: str
    first: int
    last: int


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


@frozen
class ChangeSet:
    """A change of several files, applied to all or none; each path occurs once."""

    files: tuple[FileChange, ...]

    @property
    def changes_nothing(self) -> bool:
        """Whether applying would change no file."""
        return all(file.changes_nothing for file in self.files)

    @property
    def parts(self) -> tuple[FileChange, ...]:
        """The parts of all files, see :attr:`FileChange.parts`."""
        return tuple(part for file in self.files for part in file.parts)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change touches."""
        return tuple(path for file in self.files for path in file.paths)

    @property
    def singly(self) -> ChangeSet:
        """The same change with the members of groups as files of their own."""
        return ChangeSet(tuple(single for file in self.files for single in file.members or (file,)))

    def counts(self) -> tuple[int, int]:
        """Return how many lines are added and removed in all files."""
        counts = [count_lines(file) for file in self.files]
        return sum(added for added, _ in counts), sum(removed for _, removed in counts)

    def summary(self) -> str:
        """Return one line like ``2 files, +3 -1``."""
        added, removed = self.counts()
        number = len(self.files)
        return f"{number} {'file' if number == 1 else 'files'}, +{added} -{removed}"

    def reversed(self) -> ChangeSet:
        """Return the change that undoes this one."""
        return ChangeSet(tuple(file.reversed() for file in reversed(self.files)))


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of bytes in hex; ``None`` for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _digest_all(hashes: Iterable[str | None]) -> str | None:
    return digest("\n".join(str(one) for one in hashes).encode())


def count_lines(file: FileChange) -> tuple[int, int]:
    """Return how many lines are added and removed; a binary file counts none."""
    changes = _changes(file)
    return sum(c.b_end - c.b_start for c in changes), sum(c.a_end - c.a_start for c in changes)


def hunks(file: FileChange) -> tuple[Hunk, ...]:
    """Return the hunks of a file, numbered from 0.

    A change without lines (of a binary file, an empty file created or deleted, a new name for the
    same text) is one hunk without lines.
    """
    return _hunks(file, file.splits)


@lru_cache(maxsize=32)
def _hunks(file: FileChange, splits: tuple[int, ...]) -> tuple[Hunk, ...]:
    groups = _groups(_changes(file), splits)
    if not groups and not file.changes_nothing:
        return (Hunk(0, 0, 0, 0, 0, ()),)
    old, new = _lines(file.before), _lines(file.after)
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


def lines_before(file: FileChange, first: int, last: int) -> tuple[int, int]:
    """Return the range of lines before a change that became ``first``..``last`` after it."""
    return _line_before(file, first)[0], _line_before(file, last)[1]


def _line_before(file: FileChange, line: int) -> tuple[int, int]:
    """Return the range of lines before the change that one line after it comes from."""
    shift = 0
    for change in _changes(file):
        if line <= change.b_start:
            break
        if line <= change.b_end:
            return min(change.a_start + 1, change.a_end), max(change.a_end, 1)
        shift = change.a_end - change.b_end
    return line + shift, line + shift


def keep_hunks(file: FileChange, kept: Collection[int]) -> FileChange:
    """Return the change with only the hunks whose indexes are kept, byte for byte.

    If nothing of a renamed file is kept, it keeps its old name.
    """
    groups = _groups(_changes(file), file.splits)
    if set(range(max(len(groups), 1))) <= set(kept):
        return file
    if not any(0 <= index < len(groups) for index in kept):
        return replace(file, path=file.origin, after=file.before, old_path="", members=())
    kept_groups = [group for index in sorted(kept) for group in groups[index : index + 1]]
    parts = [change for group in kept_groups for change in group]
    return replace(file, after=_apply_line_changes(_lines(file.before), _lines(file.after), parts))


def rebase(file: FileChange, current: bytes | None) -> FileChange | None:
    """Return the same change on top of the current bytes of the file.

    ``None`` if the same lines changed meanwhile, or if either change inserts lines beside the
    other, because their order would be a guess. If the file already has the change, the result
    changes nothing.
    """
    if current == file.before:
        return file
    if current == file.after:
        return replace(file, before=current)
    if current is None or file.before is None or file.after is None or file.is_binary:
        return None
    if why_not_text(current):
        return None
    merged = _merge(_lines(file.before), _lines(file.after), _lines(current))
    return None if merged is None else replace(file, before=current, after=merged, splits=())


def combine(first: FileChange, second: FileChange) -> FileChange:
    """Return two successive changes of one file as one change."""
    if first.path != second.path or first.after != second.before:
        raise ValueError(f"the changes of {first.path} do not follow each other")
    return replace(second, before=first.before, mode=second.mode or first.mode, splits=())


def line_edits(before: Sequence[str], after: Sequence[str]) -> list[LineEdit]:
    """Return the edits that turn one list of lines into the other: ``(first, last, new lines)``.

    0-based, ``last`` excluded. The last edit of the file comes first, so that applying an edit
    does not move the lines of the next one.
    """
    changes = reversed(diff_lines(before, after))
    return [(c.a_start, c.a_end, list(after[c.b_start : c.b_end])) for c in changes]


def _lines(data: bytes | None) -> list[str]:
    return split_lines((data or b"").decode("utf-8", "surrogateescape"))


@lru_cache(maxsize=32)
def _changes(file: FileChange) -> tuple[LineChange, ...]:
    if file.is_binary:
        return ()
    return tuple(diff_lines(_lines(file.before), _lines(file.after)))


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


def _apply_line_changes(old: list[str], new: list[str], parts: Sequence[LineChange]) -> bytes:
    """Return the old text with some of the changes applied."""
    return _join_changes(old, [(part, new) for part in parts])


def _join_changes(old: list[str], changes: Sequence[tuple[LineChange, list[str]]]) -> bytes:
    """Return ``old`` with changes applied, each with the lines that it takes its text from."""
    lines: list[str] = []
    position = 0
    for change, source in changes:
        lines += old[position : change.a_start]
        lines += source[change.b_start : change.b_end]
        position = change.a_end
    return "".join(lines + old[position:]).encode("utf-8", "surrogateescape")


def _merge(base: list[str], new: list[str], current: list[str]) -> bytes | None:
    """Return ``current`` with the changes ``base`` to ``new``; ``None`` if two changes conflict."""
    ours = [(change, new) for change in diff_lines(base, new)]
    theirs = [(change, current) for change in diff_lines(base, current)]
    changes = sorted(ours + theirs, key=lambda pair: (pair[0].a_start, pair[0].a_end))
    for (first, source), (second, other_source) in pairwise(changes):
        if source is not other_source and _conflict(first, second):
            return None
    return _join_changes(base, changes)


def _conflict(first: LineChange, second: LineChange) -> bool:
    """Whether two successive changes of one text conflict.

    Adjacent replacements do not: each line belongs to one change. An insertion at the border does,
    because its side is unknown.
    """
    inserts = first.a_start == first.a_end or second.a_start == second.a_end
    return second.a_start < first.a_end or (second.a_start == first.a_end and inserts)
