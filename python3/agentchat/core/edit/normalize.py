"""Look-alike characters: one plain form for comparing, and the way back to the original."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate

_QUOTES = dict.fromkeys("‘’‚‛", "'") | dict.fromkeys("“”„‟", '"')
_DASHES = dict.fromkeys("‐‑‒–—―−﹘﹣－", "-")
_SPACES = dict.fromkeys(
    map(chr, [0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000]), " "
)
_PLAIN = _QUOTES | _DASHES | _SPACES
_LOOK_ALIKE = re.compile(f"[{''.join(_PLAIN)}]")

_LONGEST_MAPPED = 100_000
"""Characters; in a longer line with compatibility forms no place can be found again."""

_BLANKS = re.compile(r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]*")
_KEY_WORDS = 5


def normalize(text: str) -> str:
    """Return the plain form: quotes, dashes and spaces as in ASCII, the rest as NFKC.

    Line ends and tabs stay, so lines of the plain form are lines of the text.
    """
    plain = _without_look_alikes(text)
    normal = unicodedata.normalize("NFKC", plain)
    return plain if normal == plain else _without_look_alikes(normal)


def _without_look_alikes(text: str) -> str:
    """Return the text with each look-alike as one plain character."""
    if text.isascii():
        return text
    return _LOOK_ALIKE.sub(lambda found: _PLAIN[found.group()], text)


def split_indent(line: str) -> tuple[str, str]:
    """Return the leading tabs and spaces (of any kind) of a line, and the rest of it."""
    end = leading_blanks(line)
    return line[:end], line[end:]


def leading_blanks(line: str) -> int:
    """Return how many tabs and spaces (of any kind) a line begins with."""
    found = _BLANKS.match(line)
    return found.end() if found else 0


class NormalizedText:
    """A whole text (plain newlines) beside its plain form, line by line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.plain = normalize(text)
        self.plain_lines = self.lines if self.plain is text else self.plain.split("\n")
        self.starts = _starts(self.lines)
        self._plain_starts = self.starts if self.plain is text else _starts(self.plain_lines)

    @cached_property
    def by_key(self) -> dict[str, list[int]]:
        """The 0-based lines by their key, blank ones left out."""
        found: dict[str, list[int]] = {}
        for at, line in enumerate(self.plain_lines):
            key = line_key(line)
            if key:
                found.setdefault(key, []).append(at)
        return found

    def line_of(self, plain_offset: int) -> int:
        """Return the 0-based line in which an offset of the plain form lies."""
        return bisect_right(self._plain_starts, plain_offset) - 1

    def plain_start(self, line: int) -> int:
        """Return the offset in the plain form at which a line begins."""
        return self._plain_starts[line]

    def original_offset(self, plain_offset: int) -> int | None:
        """Return the offset in the text; ``None`` if it would split a character."""
        if self.plain is self.text:
            return plain_offset
        line = self.line_of(plain_offset)
        column = plain_offset - self._plain_starts[line]
        found = original_column(self.lines[line], self.plain_lines[line], column)
        return None if found is None else self.starts[line] + found


def line_key(plain_line: str) -> str:
    """Return the first words of a line: lines that match tolerantly have the same key."""
    return " ".join(plain_line.split(None, _KEY_WORDS)[:_KEY_WORDS])


def original_column(line: str, plain: str, column: int) -> int | None:
    """Return the column of ``line`` that stands for ``column`` of its plain form.

    ``None`` if that is in the middle of a character (``fi`` from one ligature, a letter and its
    accent).
    """
    if column == 0 or _without_look_alikes(line) == plain:
        return column
    if len(line) > _LONGEST_MAPPED:
        return None
    wanted = (plain[:column], plain[column:])
    at = bisect_left(range(len(line)), column, key=lambda end: len(normalize(line[:end])))
    while at <= len(line):
        head = normalize(line[:at])
        if head == wanted[0] and normalize(line[at:]) == wanted[1]:
            return at
        if len(head) > column:
            return None
        at += 1
    return None


def _starts(lines: list[str]) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in lines)][:-1]
