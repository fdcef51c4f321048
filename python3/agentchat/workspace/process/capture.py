"""The output of a program: head and tail in memory, and all of it in a file if it is long."""

from __future__ import annotations

import os
from typing import BinaryIO

MAX_FILE_BYTES = 256 * 1024 * 1024
"""A program that writes without end must not fill the disk."""


class Capture:
    """Collects the output of one program.

    Args:
        limit: the most bytes kept in memory, half of it the head and half the tail.
        overflow: path of the file that gets all of a longer output; ``None`` for no file.
    """

    def __init__(self, limit: int, overflow: str | None = None) -> None:
        self._half = max(limit // 2, 1)
        self._overflow = overflow
        self._file: BinaryIO | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._file_size = 0

    @property
    def head(self) -> bytes:
        """The first bytes; all of them if nothing was dropped."""
        return bytes(self._head) if self.dropped else bytes(self._head + self._tail)

    @property
    def tail(self) -> bytes:
        """The last bytes, if some before them were dropped."""
        return bytes(self._tail[-self._half :]) if self.dropped else b""

    @property
    def dropped(self) -> int:
        """How many bytes between head and tail are not in memory."""
        return max(0, self._size - 2 * self._half)

    def add(self, data: bytes) -> None:
        """Add a piece of output."""
        if self._overflow and self._file is None and self._size + len(data) > 2 * self._half:
            self._open_file(self._overflow)
        self._keep(data)
        self._write(data)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def _open_file(self, path: str) -> None:
        self._overflow = None
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return
        self._file = os.fdopen(fd, "wb", buffering=0)
        self._write(bytes(self._head + self._tail))

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        data = data[: MAX_FILE_BYTES - self._file_size]
        self._file_size += len(data)
        try:
            self._file.write(data)
        except OSError:  # a full disk must not end the program's run
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
