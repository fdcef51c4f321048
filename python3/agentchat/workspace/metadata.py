"""What a file has beside its bytes: owner, mode, extended attributes (access lists among them)."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence

from agentchat.core.diff.changeset import FileChange
from agentchat.workspace.disk import Disk


def copy_metadata(disk: Disk, source: int, target: int) -> None:
    """Give an open file the owner, attributes and mode of another; raises OSError."""
    seen, mine = os.fstat(source), os.fstat(target)
    if (mine.st_uid, mine.st_gid) != (seen.st_uid, seen.st_gid):
        disk.chown(target, seen.st_uid, seen.st_gid)
    _set_attributes(disk, target, attributes(source))
    disk.chmod(target, stat.S_IMODE(seen.st_mode))


def dress(disk: Disk, target: int, file: FileChange) -> None:
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


def attributes(file: int | str) -> tuple[tuple[str, bytes], ...]:
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
    have = dict(attributes(target)) if wanted else {}
    for name, value in wanted:
        if have.get(name) != value:
            disk.set_attribute(target, name, value)
