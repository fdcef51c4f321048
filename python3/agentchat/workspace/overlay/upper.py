"""Reads the upper folder of an overlay: what was created, changed and deleted on top of a project.

The kernel keeps there each file that was created or changed, a character device 0/0 (a *whiteout*)
for each that was deleted, and a mark on each folder that hides the one of the project (*opaque*).
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

from agentchat.core.diff.aspects import (
    FOLDER,
    LINK,
    MODE,
    aspect_path,
    link_content,
    mode_content,
    split_aspect,
)
from agentchat.core.frozen import frozen

OPAQUE = "user.overlay.opaque"

LEAST_SIZE = 8192
"""What any entry counts for, so that there is a most number of empty files, too."""

STEP = 1000
"""Nanoseconds between the times of files that were changed one after the other."""

Signature = tuple[int, ...]
"""Changes whenever an entry does: its mode, size, number and times."""


@frozen
class UpperEntry:
    """A file or an aspect of an entry that may differ from the project.

    ``path`` is the one in the project; ``source`` the one to read the content from, ``None`` if it
    was deleted. ``mode`` is the permission bits of a file. ``is_new``: the project has none.
    ``changed`` is when that of the project changed last, in nanoseconds.
    """

    path: str
    source: str | None
    signature: Signature = ()
    mode: int = 0
    is_new: bool = False
    changed: int = 0

    @property
    def size(self) -> int:
        """The bytes of the content, roughly."""
        return self.signature[1] if self.signature else 0

    def read(self) -> bytes | None:
        """Return the content; ``None`` if the entry was deleted. Raises OSError."""
        if self.source is None:
            return None
        aspect = split_aspect(self.path)[1]
        if aspect == LINK:
            return link_content(os.fsencode(os.readlink(self.source)))
        if aspect:
            return mode_content(os.lstat(self.source).st_mode)
        with open(self.source, "rb") as file:
            return file.read()


class UpperFolder:
    """The upper folder of an overlay over ``root``; ``scan`` blocks.

    ``layers`` are folders between the two that count as part of the project.
    ``skipped`` are the entries of the last scan that no change can hold: devices, sockets, pipes,
    and what cannot be read.
    """

    def __init__(self, root: str, upper: str, layers: Sequence[str] = ()) -> None:
        self._root = root
        self._upper = upper
        self._layers = (*layers, root)
        self.skipped: list[str] = []

    def scan(self) -> dict[str, UpperEntry]:
        """Return what may differ from the project, by path; in any order."""
        self.skipped = []
        if not os.path.isdir(self._upper):
            return {}
        entries = [*self._mode("", os.lstat(self._upper)), *self._folder("", opaque=False)]
        return {entry.path: entry for entry in entries}

    def size(self) -> int:
        """Return how many bytes the changes have, those of a small file rounded up."""
        total = 0
        for folder, folders, files in os.walk(self._upper):
            total += len(folders) * LEAST_SIZE
            for name in files:
                with contextlib.suppress(OSError):
                    status = os.lstat(os.path.join(folder, name))
                    total += max(status.st_blocks * 512, LEAST_SIZE)
        return total

    def times(self, paths: Iterable[str]) -> dict[str, int]:
        """Return when files were changed here, in nanoseconds, by path."""
        found = ((path, _lstat(self._upper + path.removeprefix(self._root))) for path in paths)
        return {path: status.st_mtime_ns for path, status in found if _is_file(status)}

    def _folder(self, name: str, *, opaque: bool) -> Iterator[UpperEntry]:
        """Yield what differs below a folder; the one of the project is hidden if ``opaque``."""
        try:
            with os.scandir(os.path.join(self._upper, name)) as scan:
                found = {entry.name: entry for entry in scan}
        except OSError as error:
            self._skip(name, error.strerror or str(error))
            return
        for child, entry in found.items():
            status = entry.stat(follow_symlinks=False)
            yield from self._entry(os.path.join(name, child), status, opaque)
        if opaque:
            for child in _names(os.path.join(self._root, name)):
                if child not in found:
                    yield from self._deleted(os.path.join(name, child))

    def _entry(self, name: str, status: os.stat_result, opaque: bool) -> Iterator[UpperEntry]:
        below = self._below(name)
        mode = status.st_mode
        if is_whiteout(status):
            yield from self._deleted(name)
            return
        if below is not None and stat.S_IFMT(below.st_mode) != stat.S_IFMT(mode):
            yield from self._deleted(name)
            below = None
        if stat.S_ISDIR(mode):
            yield from self._directory(name, status, below, opaque)
        elif stat.S_ISLNK(mode):
            yield self._made(name, LINK, status, below)
        elif stat.S_ISREG(mode):
            yield self._made(name, "", status, below)
            if below is not None:
                yield from self._mode(name, status)
        else:
            self._skip(name, _kind(mode))

    def _directory(
        self, name: str, status: os.stat_result, below: os.stat_result | None, opaque: bool
    ) -> Iterator[UpperEntry]:
        if below is None:
            yield self._made(name, FOLDER, status, None)
        else:
            yield from self._mode(name, status)
            # What an opaque folder contains hides everything of the project, too.
            opaque = opaque or is_opaque(os.path.join(self._upper, name))
        yield from self._folder(name, opaque=opaque and below is not None)

    def _mode(self, name: str, status: os.stat_result) -> Iterator[UpperEntry]:
        below = self._below(name)
        if below is not None and stat.S_IMODE(below.st_mode) != stat.S_IMODE(status.st_mode):
            yield self._made(name, MODE, status, below)

    def _made(
        self, name: str, aspect: str, status: os.stat_result, below: os.stat_result | None
    ) -> UpperEntry:
        path = os.path.join(self._root, name) if name else self._root
        source = os.path.join(self._upper, name) if name else self._upper
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return UpperEntry(
            aspect_path(path, aspect) if aspect else path,
            source,
            signature=(status.st_mode, status.st_size, status.st_ino, *times),
            mode=stat.S_IMODE(status.st_mode),
            is_new=below is None,
            changed=0 if below is None else below.st_ctime_ns,
        )

    def _deleted(self, name: str) -> Iterator[UpperEntry]:
        """Yield what was deleted of the project, a folder with all its content."""
        path = os.path.join(self._root, name)
        status = _lstat(path)
        if status is None:
            return
        if stat.S_ISDIR(status.st_mode):
            for child in _names(path):
                yield from self._deleted(os.path.join(name, child))
            yield UpperEntry(aspect_path(path, FOLDER), None)
        elif stat.S_ISLNK(status.st_mode):
            yield UpperEntry(aspect_path(path, LINK), None)
        elif stat.S_ISREG(status.st_mode):
            yield UpperEntry(path, None, changed=status.st_ctime_ns)
        else:
            self._skip(name, f"deleted {_kind(status.st_mode)}")

    def _below(self, name: str) -> os.stat_result | None:
        """Return the status of an entry of the project; ``None`` if there is none."""
        found = (_lstat(os.path.join(layer, name)) for layer in self._layers)
        return next((status for status in found if status is not None), None)

    def _skip(self, name: str, reason: str) -> None:
        self.skipped.append(f"{name} ({reason})")


def restore_order(times: Mapping[str, int]) -> None:
    """Make files of the project newer than those that were changed before them; blocks."""
    newest, last = 0, 0
    for time, path in sorted((time, path) for path, time in times.items()):
        current = _lstat(path)
        if not _is_file(current):
            continue
        modified = max(current.st_mtime_ns, newest + (STEP if time > last else 0))
        if modified > current.st_mtime_ns:
            os.utime(path, ns=(current.st_atime_ns, modified), follow_symlinks=False)
        newest, last = modified, time


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_file(status: os.stat_result | None) -> TypeGuard[os.stat_result]:
    return status is not None and stat.S_ISREG(status.st_mode)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def is_whiteout(status: os.stat_result) -> bool:
    """Whether an entry of an upper folder says that the one below was deleted."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def is_opaque(path: str) -> bool:
    """Whether a folder of an upper folder hides the one below."""
    try:
        return os.getxattr(path, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def _kind(mode: int) -> str:
    if stat.S_ISSOCK(mode):
        return "socket"
    return "pipe" if stat.S_ISFIFO(mode) else "device"
