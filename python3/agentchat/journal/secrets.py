"""Values that are never written to a journal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

MIN_CHARACTERS = 8
"""A shorter value is not treated as a secret: it would mask ordinary words."""

MASK = "[secret]"


class SecretMask:
    """A set of secret values, each also as it is spelled inside JSON text."""

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()
        self._bytes: tuple[bytes, ...] = ()

    def add(self, values: Iterable[str]) -> None:
        """Mask these too."""
        usable = [value for value in values if len(value) >= MIN_CHARACTERS]
        spelled = {form for value in usable for form in _spellings(value)}
        # The longest first: one value may be a part of another.
        self._values = tuple(sorted({*self._values, *spelled}, key=len, reverse=True))
        self._bytes = tuple(value.encode("utf-8", "surrogatepass") for value in self._values)

    def occurs_in(self, data: bytes) -> bool:
        """Whether ``data`` contains one of them."""
        return any(value in data for value in self._bytes)

    def mask(self, leaf: Any) -> Any:
        """Return a text or bytes without them; anything else as is."""
        if isinstance(leaf, str):
            return self.mask_text(leaf)
        return self._mask_bytes(leaf) if isinstance(leaf, bytes) else leaf

    def mask_text(self, text: str) -> str:
        """Return a text without them."""
        for value in self._values:
            text = text.replace(value, MASK)
        return text

    def _mask_bytes(self, data: bytes) -> bytes:
        for value in self._bytes:
            data = data.replace(value, MASK.encode())
        return data


def _spellings(value: str) -> tuple[str, ...]:
    plain, ascii_only = json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]
    return value, plain, ascii_only
