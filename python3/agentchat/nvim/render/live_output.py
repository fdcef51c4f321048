"""The output of a call while it runs: what of it is drawn in each frame."""

from __future__ import annotations

from collections import deque

from agentchat.core.text import drop_overwritten

LINES_PER_FRAME = 200
LINE_CHARACTERS = 2_000


class LiveOutput:
    """Collects the output of one call between two frames, at most its newest lines.

    The tool's result replaces the output when the call ends.
    """

    def __init__(self, tool: str = "") -> None:
        self.tool = tool
        self._lines: deque[str] = deque(maxlen=LINES_PER_FRAME)
        self._rest = ""
        self._break = False

    def add(self, text: str) -> None:
        """Add text."""
        *lines, rest = (self._rest + text).split("\n")
        self._lines.extend(line[:LINE_CHARACTERS] for line in lines[-LINES_PER_FRAME:])
        self._rest = rest[-LINE_CHARACTERS:]

    def take(self) -> str:
        """Return and forget the text since the last time.

        A line end at the end is kept until more text follows, and so is a carriage return: what
        follows replaces the line.
        """
        text = _newest_states("\n".join([*self._lines, self._rest]))
        if not text:
            return ""
        self._lines.clear()
        self._rest = "\r" if text.endswith("\r") else ""
        text = text.rstrip("\r")
        if not text:
            return ""
        text = "\n" + text if self._break else text
        self._break = text.endswith("\n")
        return text.removesuffix("\n")


def _newest_states(text: str) -> str:
    """Return a piece of output without what it overwrites itself.

    A carriage return stays where it may overwrite what came before the piece.
    """
    first = text.partition("\n")[0].rstrip("\r")
    return "\r" * ("\r" in first) + drop_overwritten(text)
