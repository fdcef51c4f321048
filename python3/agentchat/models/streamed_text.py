"""Text that arrives in pieces, some of which end in half a character."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH = re.compile("[\ud800-\udbff]$")


class Text:
    """Pieces of text joined; the halves of a surrogate pair that was cut in two find together."""

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
            piece = self._whole(self._half + piece)
        return self._keep(piece)

    def flush(self) -> str:
        """Return what was held back for a second half that did not come."""
        half, self._half = self._half, ""
        return self._keep(_mend(half)) if half else ""

    def _whole(self, piece: str) -> str:
        half = _HIGH.search(piece)
        self._half = half.group() if half else ""
        return _mend(piece[: -len(self._half)] if self._half else piece)

    def _keep(self, piece: str) -> str:
        if piece:
            self._parts.append(piece)
            self.length += len(piece)
        return piece


def _mend(text: str) -> str:
    """Join surrogate pairs; what has no partner becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
