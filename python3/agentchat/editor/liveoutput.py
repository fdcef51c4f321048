"""What a running tool prints, as pieces of text for the next frame."""

from __future__ import annotations

from collections import deque

LINES_PER_FRAME = 200
LINE_CHARACTERS = 2_000


class LiveOutput:
    """Collects text of one call; a flood keeps its newest lines only.

    The full output is the tool's business: it replaces the text when the call ends.
    """

    def __init__(self, tool: str = "") -> None:
        self.tool = tool
        self._lines: deque[str] = deque(maxlen=LINES_PER_FRAME)
        self._rest = ""
        self._break = False

    def add(self, text: str) -> None:
        """Take some more text."""
        *lines, rest = (self._rest + text).split("\n")
        self._lines.extend(line[:LINE_CHARACTERS] for line in lines[-LINES_PER_FRAME:])
        self._rest = rest[-LINE_CHARACTERS:]

    def take(self) -> str:
        """Return what came since the last time.

        A line end at its end is held back until something follows it.
        """
        text = "\n".join([*self._lines, self._rest])
        if not text:
            return ""
        self._lines.clear()
        self._rest = ""
        text = "\n" + text if self._break else text
        self._break = text.endswith("\n")
        return text.removesuffix("\n")
