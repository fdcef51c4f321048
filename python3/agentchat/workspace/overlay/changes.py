"""Turns what is in the upper folder of an overlay into a change set for the review."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentchat.core.diff.aspects import FOLDER, MODE, read_mode, shown_name, split_aspect
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.permissions.sensitive_paths import is_protected, is_secret
from agentchat.core.workspace import Command
from agentchat.workspace.overlay.git import GIT, acts_later, without_refreshed
from agentchat.workspace.overlay.upper import Signature, UpperEntry, UpperFolder, restore_order
from agentchat.workspace.process import programs

IGNORED = "ignored"
"""The names of the groups that need the user's consent."""
IGNORE_SECONDS = 30
NAMED_REFS = 6
MOST_SHOWN = 500
"""Changes shown one by one; of more, folders with many new files are folded."""
MOST_OF_FOLDER = 100
LARGEST_FILE = 256 * 1024 * 1024
MOST_BYTES = 2 * LARGEST_FILE
"""Larger files are left out: a change is held in memory, and in the journal for undo."""
_GIT_NAMED = re.compile(
    r"(?:(?:modules|worktrees)/(?:(?!/logs/).)+?/)?"
    r"(?:refs/(?:heads|tags|remotes)/.+|(?:ORIG_)?HEAD|refs/stash|index|packed-refs|config"
    r"|hooks/(?!.*\.sample$).+|info/(?:attributes|sparse-checkout))\Z"
)

ReadBefore = Callable[[str], Awaitable[bytes]]
"""Returns the content of a path as the user sees it; raises OSError."""


class OverlayChanges:
    """The changes in one overlay, as values; what was read is kept as long as it is current.

    The content *before* a change is that of the project when the change was seen first, so that
    what the user changes later in the same file counts as a change of the user's.

    Args:
        root: the project.
        upper: the upper folder.
        read_before: reads a file or aspect of the project.
        layers: folders between the two that count as part of the project.
    """

    def __init__(
        self, root: str, upper: str, read_before: ReadBefore, layers: Sequence[str] = ()
    ) -> None:
        self._root = root
        self._upper = UpperFolder(root, upper, layers)
        self._read_before = read_before
        self._before: dict[str, bytes | None] = {}
        self._after: dict[str, tuple[Signature, bytes | None]] = {}
        self._files: dict[str, FileChange] = {}
        self._ignored: dict[str, bool] = {}
        self._moved: set[str] = set()

    @property
    def skipped(self) -> Sequence[str]:
        """What was changed and cannot be shown or applied, with the reason."""
        return self._upper.skipped

    @property
    def changes_nothing(self) -> bool:
        """Whether the last update found no change."""
        return not self._files

    def size(self) -> int:
        """Return how many bytes the changed files have; blocks."""
        return self._upper.size()

    def restore_order(self, paths: Iterable[str]) -> None:
        """Give applied files times in the order in which they were changed; blocks."""
        restore_order(self._upper.times(paths))

    def times(self) -> dict[str, int]:
        """Return when each changed file was written, in nanoseconds, by path; blocks."""
        return self._upper.times(self._files)

    def assume(self, path: str, content: bytes) -> None:
        """Take this as the content of a file before any change: the text of an unsaved buffer."""
        self._before[path] = content

    def is_changed(self, path: str, content: bytes | None) -> bool:
        """Whether a file, which has this content now, was changed since it was seen first."""
        return path in self._before and self._before[path] != content

    def assumed(self, path: str) -> bytes | None:
        """Return the content before the changes, as far as it is known."""
        return self._before.get(path)

    def forget(self) -> None:
        """Forget everything: the upper folder was emptied."""
        self._before.clear()
        self._after.clear()
        self._files.clear()
        self._moved.clear()

    def moved(self, change: ChangeSet) -> list[str]:
        """Return the names of files that the user changed while a command did.

        What they were before the command is not known, so they cannot be merged.
        """
        return [file.name for file in change.singly.files if file.path in self._moved]

    async def update(self, since: int | None = None) -> list[FileChange]:
        """Read the upper folder; return what changed since the last time, file by file.

        Args:
            since: when the last command began, in nanoseconds.
        """
        entries = await asyncio.to_thread(self._upper.scan)
        await asyncio.to_thread(self._read_after, entries)
        unseen = [entry for path, entry in entries.items() if path not in self._before]
        before = await asyncio.gather(*map(self._content_before, unseen))
        for entry, content in zip(unseen, before, strict=True):
            self._before[entry.path] = content
            if since is not None and entry.changed >= since:
                self._moved.add(entry.path)
        return await asyncio.to_thread(self._replace_files, entries)

    def _replace_files(self, entries: Mapping[str, UpperEntry]) -> list[FileChange]:
        """Take these entries as all changes; return the difference."""
        files = {path: self._file(entry) for path, entry in entries.items()}
        changed = without_refreshed(f for f in files.values() if not f.changes_nothing)
        old, self._files = self._files, {file.path: file for file in changed}
        return _differences(old, self._files)

    async def change_set(self) -> ChangeSet:
        """Return all changes of the last update: renames found, ``.git`` and ignored files folded.

        They are in the order of their paths.
        """
        return await asyncio.to_thread(self._make_change_set)

    def _make_change_set(self) -> ChangeSet:
        files = find_renames(_without_implied_folders(self._files.values()))
        self._find_ignored([_entry(file)[0] for file in files])
        git = [file for file in files if self._is_git(file.path) and not acts_later(file.path)]
        ignored = [file for file in files if self._is_folded(file)]
        folded = {id(file) for file in (*git, *ignored)}
        groups = [
            self._group(GIT, _describe_git(map(self._relative, git)), git),
            self._group(IGNORED, _describe_many("ignored by git", ignored), ignored),
        ]
        rest = self._fold_many([file for file in files if id(file) not in folded])
        shown = sorted(rest, key=_entry)
        return ChangeSet((*shown, *(group for group in groups if group.members)))

    def _fold_many(self, files: list[FileChange]) -> list[FileChange]:
        """Return the changes with very many new files of a folder, like a build, as one."""
        if len(files) <= MOST_SHOWN:
            return files
        folders: dict[str, list[FileChange]] = {}
        for file in files:
            if file.letter == "A" and not (_entry(file)[1] or self._is_special(file)):
                folders.setdefault(os.path.dirname(file.path), []).append(file)
        large = {folder: new for folder, new in folders.items() if len(new) > MOST_OF_FOLDER}
        folded = {id(file) for new in large.values() for file in new}
        groups = [
            self._group(folder, _describe_many(f"{self._name(folder)}/: new", new), new)
            for folder, new in large.items()
        ]
        return [*(file for file in files if id(file) not in folded), *groups]

    def _read_after(self, entries: dict[str, UpperEntry]) -> None:
        """Read what is new or changed; leave out what cannot be read or is too large."""
        after: dict[str, tuple[Signature, bytes | None]] = {}
        room = MOST_BYTES
        for path, entry in entries.items():
            known = self._after.get(path)
            room -= entry.size
            if entry.size > LARGEST_FILE or room < 0:
                self._upper.skipped.append(f"{self._name(path)} ({format_size(entry.size)})")
                continue
            if known is None or known[0] != entry.signature:
                try:
                    known = (entry.signature, entry.read())
                except OSError as error:
                    self._upper.skipped.append(f"{self._name(path)} ({error.strerror})")
                    continue
            after[path] = known
        self._after = after
        for path in entries.keys() - after.keys():
            del entries[path]

    async def _content_before(self, entry: UpperEntry) -> bytes | None:
        if entry.is_new:
            return None
        try:
            return await self._read_before(entry.path)
        except OSError:
            return None

    def _file(self, entry: UpperEntry) -> FileChange:
        before, after = self._before[entry.path], self._after[entry.path][1]
        created = before is None and not split_aspect(entry.path)[1]
        usual = entry.mode == 0o666 & ~_umask()
        return FileChange(
            path=entry.path,
            before=before,
            after=after,
            display_path=self._name(entry.path),
            mode=entry.mode if created and not usual else None,
        )

    def _name(self, path: str) -> str:
        return shown_name(path, self._root)

    def _relative(self, file: FileChange) -> str:
        return self._name(_entry(file)[0])

    def _is_git(self, path: str) -> bool:
        return GIT in self._name(split_aspect(path)[0]).split("/")

    def _is_special(self, file: FileChange) -> bool:
        """Whether a change is shown by itself, since it needs the user's consent."""
        parts = self._relative(file).split("/")
        return is_protected(parts) or is_secret(parts) or is_privileged(file)

    def _group(self, name: str, description: str, files: Iterable[FileChange]) -> FileChange:
        path = os.path.join(self._root, name)
        members = tuple(sorted(files, key=_entry))
        return FileChange(path, None, None, description, members=members)

    def _is_folded(self, file: FileChange) -> bool:
        """Whether git ignores an entry, and its whole folder if it needs consent."""
        path = _entry(file)[0]
        where = os.path.dirname(path) if self._is_special(file) else path
        return self._ignored.get(path, False) and self._ignored.get(where, False)

    def _find_ignored(self, paths: Iterable[str]) -> None:
        """Ask git once about each new path; nothing is ignored where git does not answer."""
        asked = {path for path in paths if path not in self._ignored and not self._is_git(path)}
        asked |= {os.path.dirname(path) for path in asked} - {self._root, *self._ignored}
        if asked:
            found = ask_git(self._root, sorted(asked))
            self._ignored.update({path: path in found for path in asked})


def _entry(file: FileChange) -> tuple[str, str]:
    return split_aspect(file.path)


def is_privileged(file: FileChange) -> bool:
    """Whether a program may gain the rights of its owner or group by a change."""
    mode = file.mode or 0
    if file.after is not None and split_aspect(file.path)[1] == MODE:
        mode = read_mode(file.after)
    return bool(mode & (stat.S_ISUID | stat.S_ISGID))


def find_renames(files: Sequence[FileChange]) -> list[FileChange]:
    """Return the changes with each pair of a deleted and a created file of one content as one.

    A file that was moved and has another mode now stays two changes: a renamed file keeps its mode.
    """
    deleted: dict[bytes, list[FileChange]] = {}
    for file in files:
        if file.letter == "D" and file.before and not split_aspect(file.path)[1]:
            deleted.setdefault(file.before, []).append(file)
    renamed: set[str] = set()
    found = []
    for file in files:
        old = _deleted_twin(file, deleted)
        if old is not None:
            renamed.add(old.path)
            name = f"{old.name} → {file.name}"
            file = replace(file, before=old.before, old_path=old.path, display_path=name)
        found.append(file)
    return [file for file in found if file.path not in renamed]


def _deleted_twin(file: FileChange, deleted: Mapping[bytes, list[FileChange]]) -> FileChange | None:
    if file.letter != "A" or not file.after or split_aspect(file.path)[1]:
        return None
    mode = file.mode if file.mode is not None else 0o666 & ~_umask()
    found = deleted.get(file.after, [])
    twins = [twin for twin in found if _mode_of(twin.path) in (None, mode)]
    base = os.path.basename(file.path)
    best = next((t for t in twins if os.path.basename(t.path) == base), next(iter(twins), None))
    if best is not None:
        found.remove(best)
    return best


def _mode_of(path: str) -> int | None:
    """Return the permission bits of a file of the project; ``None`` if it is gone meanwhile."""
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except OSError:
        return None


def _without_implied_folders(files: Iterable[FileChange]) -> list[FileChange]:
    """Leave out created folders of the usual mode that come with a file in them."""
    files = list(files)
    usual = b"%o\n" % (0o777 & ~_umask())
    needed = {os.path.dirname(split_aspect(f.path)[0]) for f in files if f.after is not None}
    return [
        file
        for file in files
        if not (
            split_aspect(file.path)[1] == FOLDER
            and file.letter == "A"
            and file.after == usual
            and split_aspect(file.path)[0] in needed
        )
    ]


def _differences(old: Mapping[str, FileChange], new: Mapping[str, FileChange]) -> list[FileChange]:
    """Return the change from one state of an overlay to the next one."""
    found = []
    for path, file in new.items():
        earlier = old.get(path)
        if earlier is None:
            found.append(file)
        elif earlier.after != file.after:
            found.append(replace(file, before=earlier.after))
    back = (file for path, file in old.items() if path not in new)
    return [*found, *(replace(file, before=file.after, after=file.before) for file in back)]


def _describe_git(names: Iterable[str]) -> str:
    """Return what moved below ``.git``: branches and whatever acts later, and how much else."""
    inner = (name.rpartition(f"{GIT}/")[2] for name in names)
    named = sorted({name for name in inner if _GIT_NAMED.match(name)})
    more = [f"{len(named) - NAMED_REFS} more"] if len(named) > NAMED_REFS else []
    shown = ", ".join([*named[:NAMED_REFS], *more])
    return f"{GIT}: {shown}" if shown else f"{GIT} (no branch moved)"


def _describe_many(what: str, files: Sequence[FileChange]) -> str:
    size = sum(len(file.after or b"") for file in files)
    return f"{what}, {format_size(size)}"


def format_size(size: int) -> str:
    """Return a number of bytes like ``1.2 MiB``."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MiB"


def ask_git(root: str, paths: Sequence[str]) -> set[str]:
    """Return the paths that git ignores; none without git or outside a repository."""
    data = b"\0".join(map(os.fsencode, paths)) + b"\0"
    argv = ("git", "check-ignore", "-z", "--stdin")
    try:
        done = programs.run(Command(argv, root, stdin=data, timeout=IGNORE_SECONDS), root)
    except ToolError:
        return set()
    return {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}


@functools.cache
def _umask() -> int:
    # os.umask() can only be read by setting it, for all threads.
    status = Path("/proc/self/status").read_text()
    return int(next(row.split()[1] for row in status.splitlines() if row.startswith("Umask")), 8)
