"""Base of a file operation: prepared beside its target, put in its place, or rolled back."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.workspace.files.disk import Disk, open_directory, read_all


def copy_metadata(disk: Disk, source: int, target: int) -> None:
    """Give an open file the owner, attributes and mode of another; raises OSError."""
    seen, mine = os.fstat(source), os.fstat(target)
    if (mine.st_uid, mine.st_gid) != (seen.st_uid, seen.st_gid):
        disk.chown(target, seen.st_uid, seen.st_gid)
    _set_attributes(disk, target, read_attributes(source))
    disk.chmod(target, stat.S_IMODE(seen.st_mode))


def apply_metadata(disk: Disk, target: int, file: FileChange) -> None:
    """Give an open file that comes back what it had; raises OSError.

    What only another user could set is left out: the file itself matters more.
    """
    mine = os.fstat(target)
    with contextlib.suppress(PermissionError):
        if file.owner is not None and (mine.st_uid, mine.st_gid) != file.owner:
            disk.chown(target, *file.owner)
        _set_attributes(disk, target, file.attributes)
    if file.mode is not None:
        disk.chmod(target, file.mode)


def read_attributes(file: int | str) -> tuple[tuple[str, bytes], ...]:
    """Return the extended attributes of an open file, or of a path; none where there are none."""
    if not hasattr(os, "listxattr"):
        return ()
    try:
        names = os.listxattr(file)
        return tuple((name, os.getxattr(file, name)) for name in names)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
            return ()
        raise


def _set_attributes(disk: Disk, target: int, wanted: Sequence[tuple[str, bytes]]) -> None:
    have = dict(read_attributes(target)) if wanted else {}
    for name, value in wanted:
        if have.get(name) != value:
            disk.set_attribute(target, name, value)


READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK
_LEFT = re.compile(r"\.agentchat-(\d+)-[0-9a-f]{8}([0-9a-f]{8})\.(tmp|old)\Z")


@dataclass(frozen=True, slots=True)
class TemporaryFile:
    """What the name of a temporary file tells.

    ``owner`` is the id of the process that made it; ``aside``: it is a whole file, set aside.
    """

    owner: int
    target: str
    aside: bool

    def belongs_to(self, name: str) -> bool:
        """Whether it was made for the file of this name."""
        return self.target == _mark(name)


def parse_temporary_name(name: str) -> TemporaryFile | None:
    """Return what a name tells; ``None`` if it is no temporary file's."""
    found = _LEFT.match(name)
    return TemporaryFile(int(found[1]), found[2], found[3] == "old") if found else None


class FileOperation:
    """What all kinds share: a handle on the folder, the bytes expected and the bytes wanted."""

    def __init__(self, disk: Disk, file: FileChange) -> None:
        self.disk = disk
        self.file = file
        self.path = file.path
        self.name = os.path.basename(file.path)
        self.before = file.before
        self.after = file.after
        self.committed = False
        self._dir_fd: int | None = None

    @property
    def dir_fd(self) -> int:
        """The handle on the folder, opened once."""
        if self._dir_fd is None:
            self._dir_fd = open_directory(os.path.dirname(self.path))
        return self._dir_fd

    def prepare(self) -> None:
        """Check the target and write beside it; touches nothing that exists."""
        raise NotImplementedError

    def commit(self) -> None:
        """Check the target once more and make the change."""
        raise NotImplementedError

    def roll_back(self) -> None:
        """Undo whatever was done; raises if someone else wrote the target since."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the handles."""
        if self._dir_fd is not None:
            os.close(self._dir_fd)
            self._dir_fd = None

    def stat_target(self) -> os.stat_result | None:
        """Return what the name is now; ``None`` if nothing. Raises ToolError if no file."""
        try:
            found = os.stat(self.name, dir_fd=self.dir_fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"is {_what(found.st_mode)}, not a regular file.")
        return found

    def check_content(self, expected: bytes, name: str | None = None) -> os.stat_result:
        """Return what the target is, if it holds exactly ``expected``; else raise Stale."""
        if name is None and self.stat_target() is None:
            raise StalePreview(self.path)
        fd = self.disk.open(name or self.name, READ_FLAGS, dir_fd=self.dir_fd)
        try:
            found = os.fstat(fd)
            if found.st_size != len(expected) or read_all(fd) != expected:
                raise StalePreview(self.path)
        finally:
            os.close(fd)
        return found

    def temp_name(self, ending: str = "tmp") -> str:
        """Return a fresh name beside the target that tells which process made it, and for what."""
        return f".agentchat-{os.getpid()}-{secrets.token_hex(4)}{_mark(self.name)}.{ending}"

    def sync_folder(self) -> None:
        """Make names in the folder durable, where the file system can."""
        try:
            self.disk.fsync(self.dir_fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EBADF):
                raise

    def remove_temporary(self, name: str) -> None:
        """Remove a temporary file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self.disk.unlink(name, self.dir_fd)


class UnchangedFile(FileOperation):
    """Nothing to write; the bytes must still be the expected ones."""

    def prepare(self) -> None:
        """Check the bytes."""
        if self.before is not None:
            self.check_content(self.before)

    def commit(self) -> None:
        """Do nothing."""

    def roll_back(self) -> None:
        """Do nothing."""


def write_whole(disk: Disk, fd: int, data: bytes) -> None:
    """Write all bytes from the start of a file, however little each write takes, and look."""
    view, offset = memoryview(data), 0
    while offset < len(data):
        taken = disk.write(fd, bytes(view[offset : offset + (1 << 20)]), offset)
        if taken <= 0:
            raise OSError(errno.EIO, "Nothing could be written")
        offset += taken
    if read_all(fd, len(data)) != data:
        raise OSError(errno.EIO, "The bytes on disk are not the ones written")


def _mark(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:8]


def _what(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a device, socket or pipe"
