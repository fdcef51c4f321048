"""Some lines out of a stream of bytes that may be far larger than what is kept of it."""

from __future__ import annotations


class Window:
    """Takes whole lines from ``first`` on, and counts the lines of all that is fed.

    Args:
        first: 1-based number of the first line wanted.
        lines: the most lines taken.
        size: the most bytes taken, the last line's end not counted.
    """

    def __init__(self, first: int, lines: int, size: int) -> None:
        self.first = first
        self.full = False
        self.overlong: int | None = None
        """Bytes of the first wanted line, if it alone is over ``size``."""
        self._lines = lines
        self._size = size
        self._taken: list[bytes] = []
        self._used = 0
        self._current = bytearray()
        self._current_size = 0
        self._ended = 0
        self._open = False

    @property
    def taken(self) -> int:
        """How many lines were taken."""
        return len(self._taken)

    @property
    def last(self) -> int:
        """1-based number of the last line taken."""
        return self.first + self.taken - 1

    @property
    def total(self) -> int:
        """How many lines were fed."""
        return self._ended + self._open

    @property
    def data(self) -> bytes:
        """The lines taken, with their ends."""
        return b"".join(self._taken)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        at = 0
        while at < len(data):
            if self._ended + 1 < self.first:
                at = self._skip(data, at)
            elif self.full:
                self._ended += data.count(b"\n", at)
                at = len(data)
            else:
                at = self._take(data, at)
        if data:
            self._open = not data.endswith(b"\n")

    def finish(self) -> None:
        """Tell that nothing follows."""
        if self._open and not self.full and self._ended + 1 >= self.first:
            self._end_line()

    def _skip(self, data: bytes, at: int) -> int:
        """Return where the first wanted line begins, or the end."""
        needed = self.first - 1 - self._ended
        found = data.count(b"\n", at)
        if found < needed:
            self._ended += found
            return len(data)
        for _ in range(needed):
            at = data.index(b"\n", at) + 1
        self._ended += needed
        return at

    def _take(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        stop = len(data) if end < 0 else end + 1
        self._current_size += stop - at
        if len(self._current) <= self._size + 1:
            self._current += data[at:stop]
        if end >= 0:
            self._ended += 1
            self._end_line()
        return stop

    def _end_line(self) -> None:
        ended = self._current.endswith(b"\n") or self._current_size > len(self._current)
        size = self._current_size - ended
        if self._used + size > self._size:
            self.full = True
            if not self._taken:
                self.overlong = size
        else:
            self._taken.append(bytes(self._current))
            self._used += self._current_size
            self.full = self.taken >= self._lines
        self._current = bytearray()
        self._current_size = 0
