"""Creates, replaces and removes one file, each so that it can be rolled back."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview
from agentchat.workspace.files.disk import Disk, FolderHandles, directory
from agentchat.workspace.files.operation import (
    READ_FLAGS,
    FileOperation,
    apply_metadata,
    copy_metadata,
    write_whole,
)

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
"""Errors of file systems without hard links."""


class CreateFile(FileOperation):
    """Creates a file and the folders it needs.

    ``like`` is the file that it replaces, whose owner, mode and attributes it gets. ``replaces``:
    the same transaction removes what has the name now.
    """

    def __init__(
        self,
        disk: Disk,
        file: FileChange,
        folders: FolderHandles,
        like: FileChange | None = None,
        *,
        replaces: bool = False,
    ) -> None:
        super().__init__(disk, file, folders)
        self._like = like
        self._replaces = replaces
        self.temp: str | None = None

    def prepare(self) -> None:
        """Make the folders and write the bytes beside the name."""
        self._check_anchor()
        self.make_folders(self.folder)
        if not self._replaces and self.stat_target() is not None:
            raise StalePreview(self.path)
        temp = self.temp_name()
        fd = self.disk.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666, self.dir_fd)
        self.temp = temp
        try:
            write_whole(self.disk, fd, self.after or b"")
            self._set_metadata(fd)
            self.disk.fsync(fd)
        finally:
            os.close(fd)

    def _set_metadata(self, fd: int) -> None:
        if self._like is None:
            apply_metadata(self.disk, fd, self.file)
            return
        with directory(os.path.dirname(self._like.path)) as dir_fd:
            source = self.disk.open(os.path.basename(self._like.path), READ_FLAGS, dir_fd=dir_fd)
        try:
            copy_metadata(self.disk, source, fd)
        finally:
            os.close(source)

    def _check_anchor(self) -> None:
        """Raise StalePreview if the folder is not the one that was previewed."""
        if self.file.anchor is None:
            return
        path, *identity = self.file.anchor
        with directory(path) as dir_fd:
            status = os.fstat(dir_fd)
        if [status.st_dev, status.st_ino] != identity:
            raise StalePreview(self.path)

    def commit(self) -> None:
        """Give the file its name; raises StalePreview if another file has it now."""
        assert self.temp is not None
        self.committed = True
        try:
            self._link(self.temp)
        except FileExistsError as error:
            self.committed = False
            raise StalePreview(self.path) from error
        self.remove_temporary(self.temp)
        self.sync_folder()
        self.sync_made_folders()

    def _link(self, temp: str) -> None:
        try:
            self.disk.link(temp, self.name, self.dir_fd)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if self.stat_target() is not None:
                raise FileExistsError(errno.EEXIST, "File exists", self.path) from error
            self.disk.rename(temp, self.name, self.dir_fd)

    def roll_back(self) -> None:
        """Remove the file and the folders made for it, if they are unchanged."""
        if self.temp is not None:
            self.remove_temporary(self.temp)
            if self.committed and self.stat_target() is not None:
                self.check_content(self.after or b"")
                self.remove_temporary(self.name)
        self.remove_made_folders()


_NO_TEMP = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_RENAME = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM)


class ReplaceFile(FileOperation):
    """Replaces the bytes of a file that exists."""

    def __init__(self, disk: Disk, file: FileChange, folders: FolderHandles) -> None:
        super().__init__(disk, file, folders)
        self.old = file.before or b""
        self.new = file.after or b""
        self.status: os.stat_result | None = None
        self.temp: str | None = None

    def prepare(self) -> None:
        """Write the new bytes beside the target, unless it must be written in place."""
        self.status = self.check_content(self.old)
        if self.status.st_nlink > 1 or self.status.st_dev != os.fstat(self.dir_fd).st_dev:
            self._prepare_in_place()
            return
        try:
            self._write_beside()
        except OSError as error:
            self._remove_temp()
            if error.errno not in _NO_TEMP:
                raise
            self._prepare_in_place()

    def _write_beside(self) -> None:
        temp = self.temp_name()
        fd = self.disk.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, self.dir_fd)
        self.temp = temp
        try:
            write_whole(self.disk, fd, self.new)
            self._copy_metadata(fd)
            self.disk.fsync(fd)
        finally:
            os.close(fd)

    def _copy_metadata(self, fd: int) -> None:
        source = self.disk.open(self.name, READ_FLAGS, dir_fd=self.dir_fd)
        try:
            copy_metadata(self.disk, source, fd)
        finally:
            os.close(source)

    def _prepare_in_place(self) -> None:
        """Check now that the target can be opened for writing."""
        os.close(self._open_for_writing())

    def _open_for_writing(self) -> int:
        try:
            return self.disk.open(self.name, os.O_RDWR, dir_fd=self.dir_fd)
        except PermissionError:
            return self._open_read_only()

    def _open_read_only(self) -> int:
        """Open a file of ours whose mode forbids writing; restore the mode."""
        reading = self.disk.open(self.name, READ_FLAGS, dir_fd=self.dir_fd)
        try:
            mode = stat.S_IMODE(os.fstat(reading).st_mode)
            self.disk.chmod(reading, mode | stat.S_IWUSR)
            try:
                return self.disk.open(self.name, os.O_RDWR, dir_fd=self.dir_fd)
            finally:
                self.disk.chmod(reading, mode)
        finally:
            os.close(reading)

    def commit(self) -> None:
        """Put the new bytes in place."""
        status = self.check_content(self.old)
        if self.status is None or not os.path.samestat(status, self.status):
            raise StalePreview(self.path)
        if self.temp is None:
            self._write_in_place()
            return
        self.committed = True
        try:
            self.disk.rename(self.temp, self.name, self.dir_fd)
        except OSError as error:
            if error.errno not in _NO_RENAME:
                raise
            self._remove_temp()
            self._write_in_place()
            return
        self.temp = None
        self.sync_folder()

    def _write_in_place(self) -> None:
        fd = self._open_for_writing()
        try:
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            self.committed = True
            try:
                self._overwrite(fd, self.new, mode)
            except BaseException:
                self._overwrite(fd, self.old, mode)
                self.committed = False
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
        self._remove_temp()
        if self.committed and not self._is_old():
            back = ReplaceFile(self.disk, self.file.reversed(), self.folders)
            try:
                back.prepare()
                back.commit()
            finally:
                back._remove_temp()

    def _is_old(self) -> bool:
        try:
            self.check_content(self.old)
        except StalePreview:
            return False
        return True

    def _remove_temp(self) -> None:
        if self.temp is not None:
            self.remove_temporary(self.temp)
            self.temp = None


class RemoveFile(FileOperation):
    """Removes a file; it is set aside first, so that a rollback restores the file itself."""

    def __init__(self, disk: Disk, file: FileChange, folders: FolderHandles) -> None:
        super().__init__(disk, file, folders)
        self.aside: str | None = None

    def prepare(self) -> None:
        """Check the bytes."""
        self.check_content(self.before or b"")

    def commit(self) -> None:
        """Set the file aside, then check that it is the one that was previewed."""
        self.check_content(self.before or b"")
        self.aside = self.temp_name("old")
        self.disk.rename(self.name, self.aside, self.dir_fd)
        self.check_content(self.before or b"", self.aside)
        self.sync_folder()

    def roll_back(self) -> None:
        """Restore the name of the file; if another file has it, the bytes stay set aside."""
        aside, self.aside = self.aside, None
        if aside is None:
            return
        with contextlib.suppress(FileNotFoundError):  # it was never set aside
            self.disk.link(aside, self.name, self.dir_fd)
            self.remove_temporary(aside)

    def close(self) -> None:
        """Remove the file that was set aside: the change is complete."""
        if self.aside is not None:
            with contextlib.suppress(OSError):
                self.remove_temporary(self.aside)
                self.sync_folder()
            self.remove_folders_above()
