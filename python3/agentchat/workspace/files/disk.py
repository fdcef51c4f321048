"""All system calls that change files, one small method each, so that tests can inject faults.

Names are relative to a directory handle (``dir_fd``), so replacing a directory during a change
cannot redirect it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from weakref import WeakValueDictionary

from agentchat.core.errors import StalePreview

FEW_FILES = 64
"""So many files are made durable one by one."""
OPEN_FOLDERS = 128
"""Folders of one change that are open at a time: a process may have 1024 open files."""

NOFOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC
_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | NOFOLLOW


class FolderLocks:
    """A lock for each folder in which this process changes files or removes leftovers.

    Changes in different folders do not wait for each other: a slow disk delays only its own chat.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    @contextlib.contextmanager
    def hold(self, folders: Iterable[str]) -> Iterator[None]:
        """Hold the locks of folders, by absolute path; always taken in the same order."""
        with self._guard:
            locks = [self._locks.setdefault(f, threading.Lock()) for f in sorted(set(folders))]
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            yield


FOLDER_LOCKS = FolderLocks()


class Disk:
    """The real file system; a test wraps it to make single operations fail."""

    def open(self, name: str, flags: int, mode: int = 0o666, dir_fd: int | None = None) -> int:
        """Open a file, never through a symlink; return its descriptor."""
        return os.open(name, flags | NOFOLLOW, mode, dir_fd=dir_fd)

    def write(self, fd: int, data: bytes, offset: int) -> int:
        """Write at an offset; return how many bytes were written."""
        return os.pwrite(fd, data, offset)

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file to ``size`` bytes."""
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        """Make a file or directory durable."""
        os.fsync(fd)

    def rename(self, old: str, new: str, dir_fd: int) -> None:
        """Rename within one directory, replacing ``new``."""
        os.rename(old, new, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)

    def link(self, old: str, new: str, dir_fd: int) -> None:
        """Give a file a second name, failing if ``new`` exists."""
        os.link(old, new, src_dir_fd=dir_fd, dst_dir_fd=dir_fd, follow_symlinks=False)

    def symlink(self, target: bytes, name: str, dir_fd: int) -> None:
        """Make a symlink."""
        os.symlink(target, name, dir_fd=dir_fd)

    def unlink(self, name: str, dir_fd: int) -> None:
        """Remove a name."""
        os.unlink(name, dir_fd=dir_fd)

    def mkdir(self, name: str, dir_fd: int) -> None:
        """Make a directory."""
        os.mkdir(name, dir_fd=dir_fd)

    def rmdir(self, name: str, dir_fd: int) -> None:
        """Remove an empty directory."""
        os.rmdir(name, dir_fd=dir_fd)

    def chmod(self, fd: int, mode: int) -> None:
        """Set the permission bits."""
        os.fchmod(fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        """Set owner and group."""
        os.fchown(fd, uid, gid)

    def for_files(self, number: int) -> Disk:
        """Return the disk to use for a change of so many files."""
        return self if number <= FEW_FILES else BatchDisk()

    def flush(self, folder: str) -> None:
        """Do nothing: every file is durable already."""

    def set_attribute(self, fd: int, name: str, value: bytes) -> None:
        """Set an extended attribute (Linux only)."""
        os.setxattr(fd, name, value)


class BatchDisk(Disk):
    """The disk for a change of many files, made durable as a whole: one by one takes minutes."""

    def fsync(self, fd: int) -> None:
        """Do nothing before ``flush``."""

    def flush(self, folder: str) -> None:
        """Make everything on the disk of a folder durable."""
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "syncfs"):
            os.sync()
            return
        with directory(folder) as dir_fd:
            if libc.syncfs(dir_fd) < 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), folder)


def open_directory(path: str) -> int:
    """Return a handle on a directory, reached without following any symlink.

    Raises OSError (ELOOP or ENOTDIR) if a component is a symlink or no directory.
    """
    dir_fd = os.open("/", _PATH_ONLY)
    try:
        for name in [part for part in path.split("/") if part]:
            below = os.open(name, _PATH_ONLY, dir_fd=dir_fd)
            os.close(dir_fd)
            dir_fd = below
        return _readable(dir_fd)
    finally:
        os.close(dir_fd)


class FolderHandles:
    """Handles on the folders of one change, at most ``most`` open at a time.

    A folder that is opened again must be the same one, so replacing it during the change cannot
    redirect that.
    """

    def __init__(self, most: int = OPEN_FOLDERS) -> None:
        self._most = most
        self._open: dict[str, int] = {}
        self._identities: dict[str, tuple[int, int]] = {}

    def get(self, path: str) -> int:
        """Return the handle on a folder, to be used before the next call; raises as ``open``."""
        handle = self._open.pop(path, None)
        if handle is None:
            handle = self._reopen(path)
        self._open[path] = handle
        if len(self._open) > self._most:
            oldest = next(iter(self._open))
            os.close(self._open.pop(oldest))
        return handle

    def _reopen(self, path: str) -> int:
        handle = open_directory(path)
        status = os.fstat(handle)
        identity = (status.st_dev, status.st_ino)
        if self._identities.setdefault(path, identity) != identity:
            os.close(handle)
            raise StalePreview(path)
        return handle

    def close(self) -> None:
        """Close the handles."""
        for handle in self._open.values():
            os.close(handle)
        self._open.clear()


def _readable(dir_fd: int) -> int:
    """Return a handle on the same directory that can be synced, where reading it is allowed."""
    with contextlib.suppress(PermissionError):
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | NOFOLLOW, dir_fd=dir_fd)
    return os.dup(dir_fd)


@contextlib.contextmanager
def directory(path: str) -> Iterator[int]:
    """Yield a handle on a directory; close it at the end."""
    dir_fd = open_directory(path)
    try:
        yield dir_fd
    finally:
        os.close(dir_fd)


def read_all(fd: int, limit: int | None = None, start: int = 0) -> bytes:
    """Return the bytes of an open file from ``start``, at most ``limit``."""
    chunks: list[bytes] = []
    remaining = limit
    while remaining is None or remaining > 0:
        chunk = os.pread(fd, min(remaining or 1 << 20, 1 << 20), start)
        if not chunk:
            break
        chunks.append(chunk)
        start += len(chunk)
        remaining = None if remaining is None else remaining - len(chunk)
    return b"".join(chunks)


def read_file(path: str, limit: int | None = None, start: int = 0) -> bytes:
    """Return the bytes of a regular file, reached without following any symlink.

    Raises OSError, never blocks on a FIFO or device.
    """
    folder, name = os.path.split(path)
    with directory(folder) as dir_fd:
        fd = os.open(name or ".", os.O_RDONLY | os.O_NONBLOCK | NOFOLLOW, dir_fd=dir_fd)
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "Is a directory", path)
        if not stat.S_ISREG(mode):
            raise OSError(22, "Not a regular file", path)
        return read_all(fd, limit, start)
    finally:
        os.close(fd)
