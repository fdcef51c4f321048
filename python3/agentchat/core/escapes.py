"""Characters that hide or reorder text, and how they are shown so that nobody is fooled."""

from __future__ import annotations

import re

# Every control character but newline and tab; what Unicode calls default-ignorable (zero-width,
# bidirectional, fillers, variation selectors, tags); separators that look like nothing; the
# lone surrogates that stand for bytes which are no UTF-8.
_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)


def has_hidden(text: str) -> bool:
    """Whether the text holds anything that :func:`escape` would show."""
    return _HIDDEN.search(text) is not None


def escape(text: str) -> str:
    """Return the text with every hidden character shown like ``<U+202E>``.

    A byte that is no UTF-8 (decoded with ``surrogateescape``) is shown like ``<0xFF>``.
    """
    return _HIDDEN.sub(lambda found: shown(found.group()), text)


def hidden_at(text: str) -> list[int]:
    """Return the offsets of all hidden characters."""
    return [found.start() for found in _HIDDEN.finditer(text)]


def shown(char: str) -> str:
    """Return how one hidden character is shown."""
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"<0x{code - 0xDC00:02X}>"
    return f"<U+{code:04X}>"
