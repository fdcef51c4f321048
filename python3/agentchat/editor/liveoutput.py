"""What a running tool prints, as whole lines for the next frame."""

from __future__ import annotations

from collections import deque

LINES_PER_FRAME = 200
LINE_CHARACTERS = 2_000


class LiveOutput:
    """Collects text and gives out finished lines; a flood keeps its newest lines only.

    The full output is the tool's business: it replaces the lines when the call ends.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LINES_PER_FRAME)
        self._rest = ""

    def add(self, text: str) -> None:
        """Take some more text; what has no line end yet waits for it."""
        *lines, rest = (self._rest + text).split("\n")
        self._lines.extend(line[:LINE_CHARACTERS] for line in lines[-LINES_PER_FRAME:])
        self._rest = rest[-LINE_CHARACTERS:]

    def end(self) -> list[str]:
        """Return what is left, an unfinished line too."""
        self.add("\n" if self._rest else "")
        return self.take()

    def take(self) -> list[str]:
        """Return the lines that were finished since the last time."""
        lines = list(self._lines)
        self._lines.clear()
        return lines
