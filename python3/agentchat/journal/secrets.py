"""Values that are never written down."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

LEAST_CHARACTERS = 8
"""A shorter value is no secret worth the name, and would mask ordinary words."""

MASK = "[secret]"


class Secrets:
    """A set of values and their spelling inside JSON text."""

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()
        self._bytes: tuple[bytes, ...] = ()

    def add(self, values: Iterable[str]) -> None:
        """Hide these too."""
        usable = [value for value in values if len(value) >= LEAST_CHARACTERS]
        spelled = {form for value in usable for form in _spellings(value)}
        # The longest first: one value may be a part of another.
        self._values = tuple(sorted({*self._values, *spelled}, key=len, reverse=True))
        self._bytes = tuple(value.encode("utf-8", "surrogatepass") for value in self._values)

    def within(self, data: bytes) -> bool:
        """Whether any of them stands in ``data``."""
        return any(value in data for value in self._bytes)

    def masked(self, leaf: Any) -> Any:
        """Return a text or bytes without them; anything else as it is."""
        if isinstance(leaf, str):
            return self._text(leaf)
        return self._raw(leaf) if isinstance(leaf, bytes) else leaf

    def _text(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, MASK)
        return text

    def _raw(self, data: bytes) -> bytes:
        for value in self._bytes:
            data = data.replace(value, MASK.encode())
        return data


def _spellings(value: str) -> tuple[str, ...]:
    plain, ascii_only = json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]
    return value, plain, ascii_only
