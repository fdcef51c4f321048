"""Text that arrives in pieces: split characters are joined, leading ``<think>`` tags are found."""

from __future__ import annotations

import re
from enum import Enum, auto

_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH = re.compile("[\ud800-\udbff]$")
_OPEN = "<think>"
_CLOSE = "</think>"


class StreamedText:
    """Pieces of text joined; the halves of a surrogate pair in two pieces become one character."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""
        self.length = 0

    def __bool__(self) -> bool:
        return self.length > 0 or bool(self._half)

    @property
    def value(self) -> str:
        """All text so far."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def add(self, piece: str) -> str:
        """Take a piece; return what can be shown now."""
        if self._half or _SURROGATE.search(piece):
            piece = self._hold_half(self._half + piece)
        return self._append(piece)

    def flush(self) -> str:
        """Return what was held back for a second half that did not come."""
        half, self._half = self._half, ""
        return self._append(_join_surrogates(half)) if half else ""

    def _hold_half(self, piece: str) -> str:
        half = _HIGH.search(piece)
        self._half = half.group() if half else ""
        return _join_surrogates(piece[: -len(self._half)] if self._half else piece)

    def _append(self, piece: str) -> str:
        if piece:
            self._parts.append(piece)
            self.length += len(piece)
        return piece


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs; what has no partner becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _State(Enum):
    START = auto()
    """Only blanks, or a part of the opening tag, so far."""
    OPENED = auto()
    """The blanks after the opening tag."""
    THINKING = auto()
    CLOSED = auto()
    """The blanks after the closing tag."""
    TEXT = auto()


class ThinkTags:
    """Separates the reasoning in a ``<think>`` tag from the text after it.

    Only a tag at the very beginning counts. Blanks just inside the opening and just after the
    closing tag belong to neither.
    """

    def __init__(self) -> None:
        self._state = _State.START
        self._held = ""

    def split(self, piece: str) -> tuple[str, str]:
        """Take a piece; return the reasoning and the text that are certain now."""
        text, self._held, reasoning = self._held + piece, "", ""
        if self._state is _State.START:
            text = self._open(text)
        if self._state is _State.OPENED:
            text = self._skip_blanks(text, _State.THINKING)
        if self._state is _State.THINKING:
            reasoning, text = self._close(text)
        if self._state is _State.CLOSED:
            text = self._skip_blanks(text, _State.TEXT)
        return reasoning, text

    def flush(self) -> tuple[str, str]:
        """Return what was held back, as reasoning and as text; nothing more is coming."""
        held, self._held = self._held, ""
        return (held, "") if self._state is _State.THINKING else ("", held)

    def _open(self, text: str) -> str:
        start = text.lstrip()
        if start.startswith(_OPEN):
            self._state = _State.OPENED
            return start[len(_OPEN) :]
        if _OPEN.startswith(start):
            self._held = text
            return ""
        self._state = _State.TEXT
        return text

    def _close(self, text: str) -> tuple[str, str]:
        reasoning, tag, rest = text.partition(_CLOSE)
        if tag:
            self._state = _State.CLOSED
            return reasoning, rest
        kept = len(text) - _partial_tag(text)
        self._held = text[kept:]
        return text[:kept], ""

    def _skip_blanks(self, text: str, then: _State) -> str:
        text = text.lstrip()
        if text:
            self._state = then
        return text


def _partial_tag(text: str) -> int:
    """Return how many characters at the end of ``text`` may begin the closing tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(_CLOSE[:size])), 0)
