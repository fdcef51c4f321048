"""Lines that a search found, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass

from agentchat.core.limits import GREP_LINE_CHARACTERS
from agentchat.tools.format import escape_name, path_sort_key

CUT = "…"


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """One line of a file: ``number`` is 1-based, ``start`` where the match begins in ``text``.

    ``start`` is ``None`` for a line of context.
    """

    path: str
    number: int
    text: str
    start: int | None


class MatchCollector:
    """Collects lines until ``limit`` of them are matches; then ``full``, which ends the search."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.matches = 0
        self.full = False
        self._lines: list[MatchedLine] = []

    def add(self, line: MatchedLine) -> None:
        """Add a line, unless it is full."""
        if self.full:
            return
        if line.start is not None:
            if self.matches == self.limit:
                self.full = True
                return
            self.matches += 1
        self._lines.append(line)

    def lines(self) -> list[MatchedLine]:
        """Return the lines, file by file, each once."""
        best: dict[tuple[str, int], MatchedLine] = {}
        for line in self._lines:
            key = (line.path, line.number)
            if key not in best or line.start is not None:
                best[key] = line
        return sorted(best.values(), key=lambda line: (path_sort_key(line.path), line.number))


def format_line(line: MatchedLine, name: str) -> tuple[str, bool]:
    """Return a line as the model reads it, and whether it was cut."""
    mark = "-" if line.start is None else ":"
    text, cut = shorten_line(line.text, line.start or 0)
    return f"{escape_name(name)}{mark}{line.number}{mark} {text}", cut


def shorten_line(text: str, start: int) -> tuple[str, bool]:
    """Return the part of a long line around ``start``, with marks where it was cut."""
    if len(text) <= GREP_LINE_CHARACTERS:
        return text, False
    first = 0 if start < GREP_LINE_CHARACTERS else start - GREP_LINE_CHARACTERS // 5
    last = first + GREP_LINE_CHARACTERS
    before = CUT if first else ""
    after = f"{CUT} [cut]" if last < len(text) else ""
    return f"{before}{text[first:last]}{after}", True
