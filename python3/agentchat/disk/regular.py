"""Reads files of others that may be no files: opening a pipe would wait for its writer."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open an ordinary file for reading; raises OSError, also for anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no ordinary file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: str | os.PathLike[str], limit: int, start: int = 0) -> bytes:
    """Return at most ``limit`` bytes of an ordinary file from ``start``; raises OSError."""
    with open_regular(path) as file:
        file.seek(start)
        return file.read(limit)
