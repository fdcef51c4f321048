"""A plain form of text for comparing look-alike characters, and offsets back to the original."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
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
"""Characters; in a longer line with compatibility forms no offset is mapped back."""

_BLANKS = re.compile(r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]*")
_KEY_WORDS = 5


def normalize(text: str) -> str:
    """Return the plain form: quotes, dashes and spaces as in ASCII, the rest as NFKC.

    Line ends and tabs stay, so the plain form has the same lines.
    """
    plain = _without_look_alikes(text)
    normal = unicodedata.normalize("NFKC", plain)
    return plain if normal == plain else _without_look_alikes(normal)


def _without_look_alikes(text: str) -> str:
    """Return the text with each look-alike as one plain character."""
    if text.isascii():
        return text
    return _LOOK_ALIKE.sub(lambda match: _PLAIN[match.group()], text)


def split_indent(line: str) -> tuple[str, str]:
    """Return the leading tabs and spaces (of any kind) of a line, and the rest of it."""
    end = leading_blanks(line)
    return line[:end], line[end:]


def leading_blanks(line: str) -> int:
    """Return how many tabs and spaces (of any kind) a line begins with."""
    match = _BLANKS.match(line)
    return match.end() if match else 0


class NormalizedText:
    """A whole text (with plain newlines) and its plain form, line by line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.plain = normalize(text)
        self.plain_lines = self.lines if self.plain is text else self.plain.split("\n")
        self.starts = _starts(self.lines)
        self._plain_starts = self.starts if self.plain is text else _starts(self.plain_lines)

    @cached_property
    def by_key(self) -> dict[str, list[int]]:
        """The 0-based lines by their key, without blank lines."""
        lines: dict[str, list[int]] = {}
        for index, line in enumerate(self.plain_lines):
            key = line_key(line)
            if key:
                lines.setdefault(key, []).append(index)
        return lines

    def line_of(self, plain_offset: int) -> int:
        """Return the 0-based line of an offset in the plain form."""
        return bisect_right(self._plain_starts, plain_offset) - 1

    def plain_start(self, line: int) -> int:
        """Return the offset in the plain form at which a line begins."""
        return self._plain_starts[line]

    def lines_with(self, part: str, plain: str | None = None) -> Iterator[int]:
        """Yield the lines of the plain form in which ``part`` begins, each once.

        Args:
            plain: the plain form with a final newline, if ``part`` may contain that.
        """
        plain = self.plain if plain is None else plain
        start = plain.find(part)
        while start >= 0:
            line = self.line_of(start)
            yield line
            if line + 1 == len(self.lines):
                return
            start = plain.find(part, self.plain_start(line + 1))

    def original_offset(self, plain_offset: int) -> int | None:
        """Return the offset in the text; ``None`` if it would split a character."""
        if self.plain is self.text:
            return plain_offset
        line = self.line_of(plain_offset)
        column = plain_offset - self._plain_starts[line]
        original = original_column(self.lines[line], self.plain_lines[line], column)
        return None if original is None else self.starts[line] + original


def line_key(plain_line: str) -> str:
    """Return the first words of a line; lines that match tolerantly have the same key."""
    return " ".join(plain_line.split(None, _KEY_WORDS)[:_KEY_WORDS])


def original_column(line: str, plain: str, column: int) -> int | None:
    """Return the column of ``line`` for a ``column`` of its plain form.

    ``None`` if that is inside a character (``fi`` from one ligature, a letter and its accent).
    """
    if column == 0 or _without_look_alikes(line) == plain:
        return column
    if len(line) > _LONGEST_MAPPED:
        return None
    candidate = bisect_left(range(len(line)), column, key=lambda end: len(normalize(line[:end])))
    while candidate <= len(line):
        head = normalize(line[:candidate])
        if head == plain[:column] and normalize(line[candidate:]) == plain[column:]:
            return candidate
        if len(head) > column:
            return None
        candidate += 1
    return None


def _starts(lines: list[str]) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in lines)][:-1]
