"""A change of files as a value: computed, shown, decided hunk by hunk, applied and undone.

The life of a change
--------------------

A tool that edits never writes a file itself. It computes a :class:`ChangeSet` with the bytes of
each file before and after, and this value goes through every stage:

1. *Computed* by a tool's dry run, from the text the user sees (unsaved buffers included).
2. *Shown* in the approval float or the review, as its ``hunks``.
3. *Decided*: the user keeps or rejects each hunk, or edits the proposed text
   (``turn/hunk_decisions``). :func:`hunks.keep_hunks` makes the change with only what is kept.
4. *Checked*: a change applies only to the bytes it was computed from. If a file changed
   meanwhile, the change is *stale*: :func:`rebase` puts it on top of the new text, and it is shown
   and approved again. If the two conflict, nothing is written.
5. *Applied* to all files or to none (``workspace/files/transaction``; loaded buffers change by
   minimal edits in one undo step). The journal records the change before the first file
   changes, and its outcome afterwards.
6. *Undone*: :meth:`ChangeSet.reversed` of the journal's copy is applied in the same way, and only
   to the bytes that the change left.

So a change is never half applied, never shown in one form and written in another, and never
applied to a text that nobody saw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import pairwise

from agentchat.core.diff.aspects import FOLDER, split_aspect
from agentchat.core.diff.line_diff import LineChange, diff_lines, join_changes
from agentchat.core.diff.text_file import read_lines, why_not_text
from agentchat.core.frozen import frozen

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
    left_out: bool = field(default=False, compare=False)
    """Whether it is applied only if the user takes it in."""

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
        """Return how many lines are added and removed in all files, those of groups included."""
        texts = (file for file in self._counted if not split_aspect(file.path)[1])
        counts = [count_lines(file) for file in texts]
        return sum(added for added, _ in counts), sum(removed for _, removed in counts)

    def summary(self) -> str:
        """Return one line like ``2 files, +3 -1``: each file of a group counts, a folder does not.

        The data of git count as one file without lines, as one line shows them.
        """
        added, removed = self.counts()
        aspects = (split_aspect(file.path) for file in self._counted)
        number = len({entry for entry, aspect in aspects if aspect != FOLDER})
        number += any(_is_git(file) for file in self.files)
        return f"{number} {'file' if number == 1 else 'files'}, +{added} -{removed}"

    @property
    def _counted(self) -> tuple[FileChange, ...]:
        """The files that a summary counts one by one."""
        counted = (file for file in self.files if not (_is_git(file) or file.left_out))
        return ChangeSet(tuple(counted)).singly.files

    def reversed(self) -> ChangeSet:
        """Return the change that undoes this one."""
        return ChangeSet(tuple(file.reversed() for file in reversed(self.files)))


def _is_git(file: FileChange) -> bool:
    """Whether this is the group of the data of git."""
    return bool(file.members) and file.path.endswith("/.git")


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of bytes in hex; ``None`` for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _digest_all(hashes: Iterable[str | None]) -> str | None:
    return digest("\n".join(str(one) for one in hashes).encode())


def count_lines(file: FileChange) -> tuple[int, int]:
    """Return how many lines are added and removed; a binary file counts none."""
    changes = line_changes(file)
    return sum(c.b_end - c.b_start for c in changes), sum(c.a_end - c.a_start for c in changes)


def lines_before(file: FileChange, first: int, last: int) -> tuple[int, int]:
    """Return the range of lines before a change that became ``first``..``last`` after it."""
    return _line_before(file, first)[0], _line_before(file, last)[1]


def _line_before(file: FileChange, line: int) -> tuple[int, int]:
    """Return the range of lines before the change that one line after it comes from."""
    shift = 0
    for change in line_changes(file):
        if line <= change.b_start:
            break
        if line <= change.b_end:
            return min(change.a_start + 1, change.a_end), max(change.a_end, 1)
        shift = change.a_end - change.b_end
    return line + shift, line + shift


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
    merged = _merge(read_lines(file.before), read_lines(file.after), read_lines(current))
    return None if merged is None else replace(file, before=current, after=merged, splits=())


def combine(first: FileChange, second: FileChange) -> FileChange:
    """Return two successive changes of one file as one change."""
    if first.path != second.path or first.after != second.before:
        raise ValueError(f"the changes of {first.path} do not follow each other")
    return replace(second, before=first.before, mode=second.mode or first.mode, splits=())


def combine_all(files: Iterable[FileChange]) -> ChangeSet:
    """Return successive changes as one: of a file that something else changed in between, several.

    What was changed back is left out.
    """
    combined: list[FileChange] = []
    newest: dict[str, int] = {}
    for file in files:
        at = newest.get(file.path)
        if at is not None and combined[at].after == file.before:
            combined[at] = combine(combined[at], file)
        else:
            newest[file.path] = len(combined)
            combined.append(file)
    return ChangeSet(tuple(file for file in combined if not file.changes_nothing))


def line_edits(before: Sequence[str], after: Sequence[str]) -> list[LineEdit]:
    """Return the edits that turn one list of lines into the other: ``(first, last, new lines)``.

    0-based, ``last`` excluded. The last edit of the file comes first, so that applying an edit
    does not move the lines of the next one.
    """
    changes = reversed(diff_lines(before, after))
    return [(c.a_start, c.a_end, list(after[c.b_start : c.b_end])) for c in changes]


@lru_cache(maxsize=32)
def line_changes(file: FileChange) -> tuple[LineChange, ...]:
    """Return the changed lines of a file, in order; none of a binary one."""
    if file.is_binary:
        return ()
    return tuple(diff_lines(read_lines(file.before), read_lines(file.after)))


def _merge(base: list[str], new: list[str], current: list[str]) -> bytes | None:
    """Return ``current`` with the changes ``base`` to ``new``; ``None`` if two changes conflict."""
    ours = [(change, new) for change in diff_lines(base, new)]
    theirs = [(change, current) for change in diff_lines(base, current)]
    changes = sorted(ours + theirs, key=lambda pair: (pair[0].a_start, pair[0].a_end))
    for (first, source), (second, other_source) in pairwise(changes):
        if source is not other_source and _conflict(first, second):
            return None
    return join_changes(base, changes)


def _conflict(first: LineChange, second: LineChange) -> bool:
    """Whether two successive changes of one text conflict.

    Adjacent replacements do not: each line belongs to one change. An insertion at the border does,
    because its side is unknown.
    """
    inserts = first.a_start == first.a_end or second.a_start == second.a_end
    return second.a_start < first.a_end or (second.a_start == first.a_end and inserts)
