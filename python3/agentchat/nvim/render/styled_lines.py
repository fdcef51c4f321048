"""Lines with highlights for a float; hidden characters are shown escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from agentchat.core.text import escape_character, hidden_character_offsets
from agentchat.nvim.render.syntax import HighlightSpan

Document = dict[str, Any]
"""``lines``, ``marks`` of each line and ``rows`` (row, group of a whole line).

Rows count from 0, columns are bytes. Marks are a string like ``4:9:Group 7:8:Other``, the last on
top: decoding thousands of lists instead would block Neovim noticeably.
"""


class StyledLines:
    """Builds a document line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._marks: list[str] = []
        self._rows: list[list[int | str]] = []

    def add(
        self, text: str, tokens: Iterable[HighlightSpan] = (), *, gutter: str = "", group: str = ""
    ) -> None:
        """Add one line: an ASCII gutter, then the text with its hidden characters shown.

        Args:
            tokens: parts of ``text``, in characters; later ones cover earlier ones.
            group: highlight of the whole line.
        """
        hidden = hidden_character_offsets(text)
        columns = _columns(text, hidden, len(gutter))
        marks = [(0, len(gutter), "AgentChatLineNr")] if gutter else []
        marks += [(columns[t.start], columns[t.end], t.group) for t in tokens]
        marks += [(columns[i], columns[i + 1], "AgentChatEscape") for i in hidden]
        if group:
            self._rows.append([self.rows, group])
        self._lines.append(gutter + _visible(text, hidden))
        self._marks.append(" ".join(f"{start}:{end}:{name}" for start, end, name in marks))

    @property
    def rows(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def document(self) -> Document:
        """Return the table for the float."""
        return {"lines": self._lines, "marks": self._marks, "rows": self._rows}


def _visible(text: str, hidden: Sequence[int]) -> str:
    if not hidden:
        return text
    chars = list(text)
    for i in hidden:
        chars[i] = escape_character(chars[i])
    return "".join(chars)


def _columns(text: str, hidden: Sequence[int], first: int) -> Sequence[int]:
    """Return the byte column of each character as shown, and of the end."""
    if text.isascii() and not hidden:
        return range(first, first + len(text) + 1)
    escaped = set(hidden)
    widths = (
        len(escape_character(char)) if i in escaped else len(char.encode())
        for i, char in enumerate(text)
    )
    return list(accumulate(widths, initial=first))
