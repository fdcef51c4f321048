"""Lines with highlights as a float draws them, whatever characters they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from agentchat.core.escapes import hidden_at, shown
from agentchat.editor.highlight import Token

Document = dict[str, Any]
"""``lines``, ``marks`` (row, column, end column, group) and ``rows`` (row, group of a whole line).

Rows count from 0, columns are bytes.
"""


class Page:
    """A document in the making."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._marks: list[list[int | str]] = []
        self._rows: list[list[int | str]] = []

    def add(
        self, text: str, tokens: Iterable[Token] = (), *, gutter: str = "", group: str = ""
    ) -> None:
        """Add one line: an ASCII gutter, then the text with its hidden characters shown.

        Args:
            tokens: parts of ``text``, in characters; later ones lie over earlier ones.
            group: highlight of the whole line.
        """
        row, hidden = len(self._lines), hidden_at(text)
        columns = _columns(text, hidden, len(gutter))
        if gutter:
            self._mark(row, 0, len(gutter), "AgentChatLineNr")
        for token in tokens:
            self._mark(row, columns[token.start], columns[token.end], token.group)
        for at in hidden:
            self._mark(row, columns[at], columns[at + 1], "AgentChatEscape")
        if group:
            self._rows.append([row, group])
        self._lines.append(gutter + _visible(text, hidden))

    @property
    def rows(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def document(self) -> Document:
        """Return what the float is given."""
        return {"lines": self._lines, "marks": self._marks, "rows": self._rows}

    def _mark(self, row: int, start: int, end: int, group: str) -> None:
        self._marks.append([row, start, end, group])


def _visible(text: str, hidden: Sequence[int]) -> str:
    if not hidden:
        return text
    chars = list(text)
    for at in hidden:
        chars[at] = shown(chars[at])
    return "".join(chars)


def _columns(text: str, hidden: Sequence[int], first: int) -> Sequence[int]:
    """Return the byte column of each character as shown, and of the end."""
    if text.isascii() and not hidden:
        return range(first, first + len(text) + 1)
    escaped = set(hidden)
    widths = (
        len(shown(char)) if at in escaped else len(char.encode()) for at, char in enumerate(text)
    )
    return list(accumulate(widths, initial=first))
