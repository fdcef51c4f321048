"""A file that does not exist yet."""

from __future__ import annotations

import contextlib
import errno
import os

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import Stale
from agentchat.workspace.disk import Disk, directory, open_directory
from agentchat.workspace.job import READ, Job, write_whole
from agentchat.workspace.metadata import copy_metadata, dress

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
"""What file systems without hard links say."""


class Create(Job):
    """A file that does not exist yet, with the folders it needs.

    ``like`` is the file that it takes the place of, whose owner, mode and attributes it gets.
    """

    def __init__(self, disk: Disk, file: FileChange, like: FileChange | None = None) -> None:
        super().__init__(disk, file)
        self._like = like
        self.temp: str | None = None
        self._made: list[tuple[int, str]] = []

    def prepare(self) -> None:
        """Make the folders and write the bytes beside the name."""
        self._check_anchor()
        self._at = self._make_folders()
        if self.look() is not None:
            raise Stale(self.path)
        self.temp = self.temp_name()
        fd = self.disk.open(self.temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666, self.at)
        try:
            write_whole(self.disk, fd, self.after or b"")
            self._dress(fd)
            self.disk.fsync(fd)
        finally:
            os.close(fd)

    def _dress(self, fd: int) -> None:
        if self._like is None:
            dress(self.disk, fd, self.file)
            return
        with directory(os.path.dirname(self._like.path)) as at:
            source = self.disk.open(os.path.basename(self._like.path), READ, at=at)
        try:
            copy_metadata(self.disk, source, fd)
        finally:
            os.close(source)

    def _check_anchor(self) -> None:
        """Raise Stale if the folder is another one than was previewed."""
        if self.file.anchor is None:
            return
        path, *identity = self.file.anchor
        with directory(path) as at:
            found = os.fstat(at)
        if [found.st_dev, found.st_ino] != identity:
            raise Stale(self.path)

    def _make_folders(self) -> int:
        """Return a handle on the folder; what had to be made is kept for the way back."""
        folder, missing = os.path.dirname(self.path), []
        while not os.path.lexists(folder):
            folder, name = os.path.split(folder)
            missing.append(name)
        at = open_directory(folder)
        for name in reversed(missing):
            self._made.append((at, name))
            try:
                self.disk.mkdir(name, at)
            except FileExistsError:  # someone else's, and not ours to remove
                self._made[-1] = (at, "")
                raise
            at = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
        return at

    def commit(self) -> None:
        """Give the file its name, unless something took it meanwhile."""
        assert self.temp is not None
        self.done = True
        try:
            self._name(self.temp)
        except FileExistsError as error:
            self.done = False
            raise Stale(self.path) from error
        self.drop(self.temp)
        self.sync_folder()
        for at, _ in self._made:
            with contextlib.suppress(OSError):
                self.disk.fsync(at)

    def _name(self, temp: str) -> None:
        try:
            self.disk.link(temp, self.name, self.at)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if self.look() is not None:
                raise FileExistsError(errno.EEXIST, "File exists", self.path) from error
            self.disk.rename(temp, self.name, self.at)

    def roll_back(self) -> None:
        """Remove the file and the folders made for it, if they are still as made."""
        if self._at is not None and self.temp is not None:
            self.drop(self.temp)
            if self.done and self.look() is not None:
                self.check(self.after or b"")
                self.drop(self.name)
        for at, name in reversed(self._made):
            with contextlib.suppress(OSError):
                self.disk.rmdir(name, at)

    def close(self) -> None:
        """Let go of the handles."""
        super().close()
        for at, _ in self._made:
            os.close(at)
        self._made = []
