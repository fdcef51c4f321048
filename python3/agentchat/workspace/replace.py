"""New bytes for a file that exists."""

from __future__ import annotations

import errno
import os
import stat

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import Stale
from agentchat.workspace.disk import Disk
from agentchat.workspace.job import READ, Job, write_whole
from agentchat.workspace.metadata import copy_metadata

_NO_TEMP = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_RENAME = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM)


class Replace(Job):
    """New bytes for a file that exists."""

    def __init__(self, disk: Disk, file: FileChange) -> None:
        super().__init__(disk, file)
        self.old = file.before or b""
        self.new = file.after or b""
        self.seen: os.stat_result | None = None
        self.temp: str | None = None

    def prepare(self) -> None:
        """Write the new bytes beside the target, unless it must be written in place."""
        self.seen = self.check(self.old)
        if self.seen.st_nlink > 1 or self.seen.st_dev != os.fstat(self.at).st_dev:
            self._prepare_in_place()
            return
        try:
            self._write_beside()
        except OSError as error:
            self._drop_temp()
            if error.errno not in _NO_TEMP:
                raise
            self._prepare_in_place()

    def _write_beside(self) -> None:
        self.temp = self.temp_name()
        fd = self.disk.open(self.temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, self.at)
        try:
            write_whole(self.disk, fd, self.new)
            self._copy_metadata(fd)
            self.disk.fsync(fd)
        finally:
            os.close(fd)

    def _copy_metadata(self, fd: int) -> None:
        source = self.disk.open(self.name, READ, at=self.at)
        try:
            copy_metadata(self.disk, source, fd)
        finally:
            os.close(source)

    def _prepare_in_place(self) -> None:
        """Find out now whether the target can be opened for writing."""
        os.close(self._open_for_writing())

    def _open_for_writing(self) -> int:
        try:
            return self.disk.open(self.name, os.O_RDWR, at=self.at)
        except PermissionError:
            return self._open_read_only()

    def _open_read_only(self) -> int:
        """Open our own file whose mode forbids writing; the mode is as before afterwards."""
        reading = self.disk.open(self.name, READ, at=self.at)
        try:
            mode = stat.S_IMODE(os.fstat(reading).st_mode)
            self.disk.chmod(reading, mode | stat.S_IWUSR)
            try:
                return self.disk.open(self.name, os.O_RDWR, at=self.at)
            finally:
                self.disk.chmod(reading, mode)
        finally:
            os.close(reading)

    def commit(self) -> None:
        """Put the new bytes in place."""
        found = self.check(self.old)
        if self.seen is None or not os.path.samestat(found, self.seen):
            raise Stale(self.path)
        if self.temp is None:
            self._write_in_place()
            return
        self.done = True
        try:
            self.disk.rename(self.temp, self.name, self.at)
        except OSError as error:
            if error.errno not in _NO_RENAME:
                raise
            self._drop_temp()
            self._write_in_place()
            return
        self.temp = None
        self.sync_folder()

    def _write_in_place(self) -> None:
        fd = self._open_for_writing()
        try:
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            self.done = True
            try:
                self._overwrite(fd, self.new, mode)
            except BaseException:
                self._overwrite(fd, self.old, mode)
                self.done = False
                raise
        finally:
            os.close(fd)

    def _overwrite(self, fd: int, data: bytes, mode: int) -> None:
        write_whole(self.disk, fd, data)
        self.disk.truncate(fd, len(data))
        if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
            self.disk.chmod(fd, mode)
        self.disk.fsync(fd)

    def roll_back(self) -> None:
        """Write the old bytes back the same way."""
        self._drop_temp()
        if self.done and not self._is_old():
            back = Replace(self.disk, self.file.reversed())
            try:
                back.prepare()
                back.commit()
            finally:
                back._drop_temp()
                back.close()

    def _is_old(self) -> bool:
        try:
            self.check(self.old)
        except Stale:
            return False
        return True

    def _drop_temp(self) -> None:
        if self.temp is not None:
            self.drop(self.temp)
            self.temp = None
