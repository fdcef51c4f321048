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

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.frozen import frozen
from agentchat.workspace.files.disk import Disk, FolderHandles, read_all


def copy_metadata(disk: Disk, source: int, target: int) -> None:
    """Give an open file the owner, attributes and mode of another; raises OSError."""
    old, new = os.fstat(source), os.fstat(target)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        disk.chown(target, old.st_uid, old.st_gid)
    _set_attributes(disk, target, read_attributes(source))
    disk.chmod(target, stat.S_IMODE(old.st_mode))


def apply_metadata(disk: Disk, target: int, file: FileChange) -> None:
    """Give an open file that is restored the metadata of its change; raises OSError.

    Owner and attributes that only another user may set are left out.
    """
    current = os.fstat(target)
    with contextlib.suppress(PermissionError):
        if file.owner is not None and (current.st_uid, current.st_gid) != file.owner:
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


def _set_attributes(disk: Disk, target: int, attributes: Sequence[tuple[str, bytes]]) -> None:
    current = dict(read_attributes(target)) if attributes else {}
    for name, value in attributes:
        if current.get(name) != value:
            disk.set_attribute(target, name, value)


READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK
_TEMPORARY_NAME = re.compile(r"\.agentchat-(\d+)-[0-9a-f]{8}([0-9a-f]{8})\.(tmp|old)\Z")


@frozen
class TemporaryFile:
    """The parts of the name of a temporary file.

    ``owner`` is the id of the process that made it, ``target`` a hash of the name of the file it is
    for. ``aside``: it is that file itself, set aside to be removed.
    """

    owner: int
    target: str
    aside: bool

    def belongs_to(self, name: str) -> bool:
        """Whether it was made for the file of this name."""
        return self.target == _name_hash(name)


def parse_temporary_name(name: str) -> TemporaryFile | None:
    """Return the parts of a name; ``None`` if it is not that of a temporary file."""
    match = _TEMPORARY_NAME.match(name)
    return TemporaryFile(int(match[1]), match[2], match[3] == "old") if match else None


class FileOperation:
    """What all operations share: a handle on the folder, the bytes before and after."""

    def __init__(self, disk: Disk, file: FileChange, folders: FolderHandles) -> None:
        self.disk = disk
        self.file = file
        self.folders = folders
        self.path = file.path
        self.folder, self.name = os.path.split(file.path)
        self.before = file.before
        self.after = file.after
        self.committed = False
        self._made: list[str] = []

    @property
    def dir_fd(self) -> int:
        """The handle on the folder."""
        return self.folders.get(self.folder)

    def prepare(self) -> None:
        """Check the target and write beside it; changes no existing file."""
        raise NotImplementedError

    def commit(self) -> None:
        """Check the target once more and make the change."""
        raise NotImplementedError

    def roll_back(self) -> None:
        """Undo what was done; raises StalePreview if someone else wrote the target since."""
        raise NotImplementedError

    def close(self) -> None:
        """Complete the change: it is committed, or rolled back."""

    def make_folders(self, folder: str) -> None:
        """Make a folder and those above it, as far as they are missing."""
        missing = []
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for path in reversed(missing):
            self._made.append(path)
            try:
                self.disk.mkdir(os.path.basename(path), self.folders.get(os.path.dirname(path)))
            except FileExistsError:  # another process made it: not ours to remove
                self._made.pop()
                raise

    def sync_made_folders(self) -> None:
        """Make the names of the folders that were made durable."""
        for path in self._made:
            with contextlib.suppress(OSError):
                self.disk.fsync(self.folders.get(os.path.dirname(path)))

    def remove_made_folders(self) -> None:
        """Remove the folders that were made, if they are empty."""
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                self.disk.rmdir(os.path.basename(path), self.folders.get(os.path.dirname(path)))

    def remove_folders_above(self) -> None:
        """Remove the folders that were made for an entry that is gone, if they are empty."""
        folder = self.folder
        with contextlib.suppress(OSError):
            for _ in range(self.file.folders):
                folder, name = os.path.split(folder)
                self.disk.rmdir(name, self.folders.get(folder))

    def stat_target(self) -> os.stat_result | None:
        """Return the status of the target, if it exists; raises ToolError if it is no file."""
        try:
            status = os.stat(self.name, dir_fd=self.dir_fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"is {_file_type(status.st_mode)}, not a regular file.")
        return status

    def check_content(self, expected: bytes, name: str | None = None) -> os.stat_result:
        """Return the status of the target; raises StalePreview if it holds other bytes."""
        if name is None and self.stat_target() is None:
            raise StalePreview(self.path)
        fd = self.disk.open(name or self.name, READ_FLAGS, dir_fd=self.dir_fd)
        try:
            status = os.fstat(fd)
            if status.st_size != len(expected) or read_all(fd) != expected:
                raise StalePreview(self.path)
        finally:
            os.close(fd)
        return status

    def temp_name(self, ending: str = "tmp") -> str:
        """Return a new name beside the target, with the process and the target in it."""
        return f".agentchat-{os.getpid()}-{secrets.token_hex(4)}{_name_hash(self.name)}.{ending}"

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
    """Writes nothing; the bytes must still be the expected ones."""

    def prepare(self) -> None:
        """Check the bytes."""
        if self.before is not None:
            self.check_content(self.before)

    def commit(self) -> None:
        """Do nothing."""

    def roll_back(self) -> None:
        """Do nothing."""


def write_whole(disk: Disk, fd: int, data: bytes) -> None:
    """Write all bytes from the start of a file, in as many writes as it takes; verify them."""
    view, offset = memoryview(data), 0
    while offset < len(data):
        written = disk.write(fd, bytes(view[offset : offset + (1 << 20)]), offset)
        if written <= 0:
            raise OSError(errno.EIO, "No byte could be written")
        offset += written
    if read_all(fd, len(data)) != data:
        raise OSError(errno.EIO, "The bytes on disk are not the ones written")


def _name_hash(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:8]


def _file_type(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a device, socket or pipe"
