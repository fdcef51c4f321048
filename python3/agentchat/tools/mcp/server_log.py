"""What a server writes to standard error, and to standard output beside its messages."""

from __future__ import annotations

from collections import deque

LINES = 200
LONGEST = 500
"""Characters of a line."""


class ServerLog:
    """The last lines of one server."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LINES)
        self._rest = b""
        self.last_error_line = ""
        """The last line of standard error that is not blank."""

    @property
    def lines(self) -> list[str]:
        """The lines, oldest first."""
        return [*self._lines, *([_text(self._rest)] if self._rest else [])]

    def add(self, chunk: bytes) -> None:
        """Add a piece of standard error."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._rest = self._rest[-LONGEST:]
        for line in lines[-LINES:]:
            self._lines.append(_text(line))
        for text in map(_text, [*lines, self._rest]):
            self.last_error_line = text.strip() or self.last_error_line

    def add_noise(self, line: bytes) -> None:
        """Add a line of standard output that is no message."""
        self._lines.append(f"stdout: {_text(line)}")


def _text(line: bytes) -> str:
    return line[: 4 * LONGEST].decode("utf-8", "replace").rstrip("\r")[:LONGEST]
