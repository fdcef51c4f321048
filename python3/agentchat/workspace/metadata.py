"""What a file has beside its bytes: owner, mode, extended attributes (access lists among them)."""

from __future__ import annotations

import errno
import os
import stat

from agentchat.workspace.disk import Disk


def copy_metadata(disk: Disk, source: int, target: int) -> None:
    """Give an open file the owner, attributes and mode of another; raises OSError."""
    seen, mine = os.fstat(source), os.fstat(target)
    if (mine.st_uid, mine.st_gid) != (seen.st_uid, seen.st_gid):
        disk.chown(target, seen.st_uid, seen.st_gid)
    _copy_attributes(disk, source, target)
    disk.chmod(target, stat.S_IMODE(seen.st_mode))


def _copy_attributes(disk: Disk, source: int, target: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    have = {name: os.getxattr(target, name) for name in _attributes(target)}
    for name in _attributes(source):
        value = os.getxattr(source, name)
        if have.get(name) != value:
            disk.set_attribute(target, name, value)


def _attributes(fd: int) -> list[str]:
    try:
        return os.listxattr(fd)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
            return []
        raise
