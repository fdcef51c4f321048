"""Reads files of a project that may be no files: opening a pipe would wait for its writer."""

from __future__ import annotations

import os
import stat


def read_regular(path: str, limit: int) -> bytes:
    """Return the first ``limit`` bytes of an ordinary file; raises OSError for anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is no ordinary file")
        return file.read(limit)
