"""Changes of symlinks, folders and modes: what ``core.diff.aspects`` calls aspects."""

from __future__ import annotations

import contextlib
import os
import stat

from agentchat.core.diff.aspects import (
    FOLDER,
    LINK,
    link_content,
    mode_content,
    read_mode,
    read_target,
    split_aspect,
)
from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview
from agentchat.workspace.files.disk import Disk, FolderHandles, directory
from agentchat.workspace.files.operation import FileOperation


def read_aspect(path: str) -> bytes:
    """Return the content of an aspect; raises FileNotFoundError if the entry has none."""
    entry, aspect = split_aspect(path)
    folder, name = os.path.split(entry)
    try:
        with directory(folder) as dir_fd:
            content = _content(aspect, name, dir_fd)
    except NotADirectoryError:
        content = None
    if content is None:
        raise FileNotFoundError(2, "No such entry", path)
    return content


def _content(aspect: str, name: str, dir_fd: int) -> bytes | None:
    try:
        mode = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if aspect == LINK:
        is_link = stat.S_ISLNK(mode)
        return link_content(os.fsencode(os.readlink(name, dir_fd=dir_fd))) if is_link else None
    if aspect == FOLDER and not stat.S_ISDIR(mode):
        return None
    return None if stat.S_ISLNK(mode) else mode_content(mode)


class AspectOperation(FileOperation):
    """What the changes of all aspects share: the entry, and its content so far."""

    def __init__(self, disk: Disk, file: FileChange, folders: FolderHandles) -> None:
        super().__init__(disk, file, folders)
        self.path, self.aspect = split_aspect(file.path)
        self.folder, self.name = os.path.split(self.path)

    def check(self) -> None:
        """Raise StalePreview if the aspect does not have its content from before."""
        if _content(self.aspect, self.name, self.dir_fd) != self.before:
            raise StalePreview(self.path)

    def prepare(self) -> None:
        """Check the aspect."""
        self.check()


class ChangeMode(AspectOperation):
    """Sets the permission bits of a file or folder."""

    def commit(self) -> None:
        """Set them; a file created by the same transaction has its bits from before by now."""
        self._set(self.before, self.after)
        self.committed = True

    def roll_back(self) -> None:
        """Set the old ones."""
        if self.committed:
            self._set(self.after, self.before)

    def _set(self, old: bytes | None, new: bytes | None) -> None:
        if old is None or new is None:
            raise StalePreview(self.path)
        flags = os.O_RDONLY | os.O_NONBLOCK
        try:
            fd = self.disk.open(self.name, flags, dir_fd=self.dir_fd)
        except PermissionError:  # its owner may set a mode that forbids reading
            os.chmod(self.name, read_mode(new), dir_fd=self.dir_fd)
            return
        try:
            if mode_content(os.fstat(fd).st_mode) != old:
                raise StalePreview(self.path)
            self.disk.chmod(fd, read_mode(new))
        finally:
            os.close(fd)


class CreateFolder(AspectOperation):
    """Makes a folder, and those above it, so that files can be prepared in it."""

    def prepare(self) -> None:
        """Make the folder; raises StalePreview if there is an entry of that name."""
        if os.path.lexists(self.path):
            raise StalePreview(self.path)
        self.make_folders(self.path)

    def commit(self) -> None:
        """Set the mode, which may forbid to write in it."""
        os.chmod(self.name, read_mode(self.after or b"755"), dir_fd=self.dir_fd)
        self.committed = True
        self.sync_folder()

    def roll_back(self) -> None:
        """Remove the folders that were made."""
        self.remove_made_folders()


class RemoveFolder(AspectOperation):
    """Removes a folder, once the files that were in it are gone."""

    def commit(self) -> None:
        """Check it again."""
        self.check()
        self.committed = True

    def roll_back(self) -> None:
        """Keep it."""
        self.committed = False

    def close(self) -> None:
        """Remove it; a folder with a file of somebody else stays."""
        if self.committed:
            with contextlib.suppress(OSError):
                self.disk.rmdir(self.name, self.dir_fd)
                self.sync_folder()
                self.remove_folders_above()


class ChangeLink(AspectOperation):
    """Makes, retargets or removes a symlink."""

    def __init__(self, disk: Disk, file: FileChange, folders: FolderHandles) -> None:
        super().__init__(disk, file, folders)
        self._temp: str | None = None

    def prepare(self) -> None:
        """Make the new link beside its name."""
        if self.before is None:
            self.make_folders(self.folder)
        else:
            self.check()
        if self.after is not None:
            temp = self.temp_name()
            self.disk.symlink(read_target(self.after), temp, self.dir_fd)
            self._temp = temp

    def commit(self) -> None:
        """Put the link in place, or remove it."""
        self._put(self.before, self._temp)
        self._temp = None
        self.committed = True
        self.sync_folder()

    def close(self) -> None:
        """Remove the folders that were made for a link that is gone."""
        if self.committed and self.after is None:
            self.remove_folders_above()

    def _put(self, old: bytes | None, temp: str | None) -> None:
        if old is None and os.path.lexists(self.path):
            raise StalePreview(self.path)
        if old is not None and _content(LINK, self.name, self.dir_fd) != old:
            raise StalePreview(self.path)
        if temp is not None:
            self.disk.rename(temp, self.name, self.dir_fd)
        else:
            self.disk.unlink(self.name, self.dir_fd)

    def roll_back(self) -> None:
        """Restore the old link."""
        if self._temp is not None:
            self.remove_temporary(self._temp)
        if self.committed:
            temp = None
            if self.before is not None:
                temp = self.temp_name()
                self.disk.symlink(read_target(self.before), temp, self.dir_fd)
            self._put(self.after, temp)
        self.remove_made_folders()


def aspect_operation(disk: Disk, file: FileChange, folders: FolderHandles) -> AspectOperation:
    """Return the operation that makes a change of an aspect."""
    aspect = split_aspect(file.path)[1]
    if aspect == LINK:
        return ChangeLink(disk, file, folders)
    if aspect == FOLDER and file.before is None:
        return CreateFolder(disk, file, folders)
    if aspect == FOLDER and file.after is None:
        return RemoveFolder(disk, file, folders)
    return ChangeMode(disk, file, folders)
