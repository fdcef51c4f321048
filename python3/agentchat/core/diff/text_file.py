"""Convert the bytes of a file to text and back without loss, and its line ends to newlines."""

from __future__ import annotations

import re
from bisect import bisect_left

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen

BOM = "\ufeff"
LARGEST_EDIT = 64 * 1024 * 1024
"""Bytes; a larger file is refused."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff")


class NotTextError(ToolError):
    """The file cannot be edited as text; the message names it and the reason."""


def decode(data: bytes, path: str) -> str:
    """Return the text of a file with its BOM; :func:`encode` returns the same bytes.

    Bytes that are not UTF-8 become lone surrogates.

    Raises:
        NotTextError: UTF-16 or UTF-32, binary (NUL bytes), or larger than ``LARGEST_EDIT``.
    """
    reason = why_not_text(data)
    if reason:
        raise NotTextError(f"{path} {reason}, so it cannot be edited as text. Nothing was changed.")
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes of a text that :func:`decode` made."""
    return text.encode("utf-8", "surrogateescape")


def why_not_text(data: bytes) -> str:
    """Return why the bytes are not text, as the rest of a sentence; empty if they are text."""
    if data.startswith(_WIDE_MARKS):
        return "is UTF-16 or UTF-32, not UTF-8"
    if b"\0" in data:
        return "is binary (it holds NUL bytes)"
    if len(data) > LARGEST_EDIT:
        return f"is larger than {LARGEST_EDIT // (1024 * 1024)} MiB"
    return ""


def has_surrogates(text: str) -> bool:
    """Whether the text contains surrogates: bytes that are not UTF-8, or invalid characters."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def split_lines(text: str) -> list[str]:
    """Return the lines with their line ends, split after ``\\n`` only."""
    lines = text.split("\n")
    last = lines.pop()
    complete = [line + "\n" for line in lines]
    return [*complete, last] if last else complete


@frozen
class NormalizedLines:
    """A text with all line ends as ``\\n``, and the offsets needed to restore the original.

    ``crlf`` are the ascending offsets in ``text`` of newlines that were ``\\r\\n``;
    ``kind`` is the line end of the original: ``\\n``, ``\\r\\n``, ``\\r``, ``mixed``, or
    empty if there is none.
    """

    text: str
    crlf: tuple[int, ...]
    kind: str

    def raw_offset(self, offset: int) -> int:
        """Return the offset in the original for an offset in ``text``."""
        return offset + bisect_left(self.crlf, offset)

    def end_at(self, offset: int) -> str:
        """Return the original's line end for the newline at ``offset`` in ``text``."""
        if self.kind != "mixed":
            return self.kind
        index = bisect_left(self.crlf, offset)
        return "\r\n" if self.crlf[index : index + 1] == (offset,) else "\n"


def normalize_newlines(text: str) -> NormalizedLines:
    """Return the text with plain newlines.

    A lone ``\\r`` is an ordinary character, unless the text has no ``\\n`` at all.
    """
    if "\r" not in text:
        return NormalizedLines(text, (), "\n" if "\n" in text else "")
    if "\n" not in text:
        return NormalizedLines(text.replace("\r", "\n"), (), "\r")
    starts = (match.start() for match in re.finditer("\r\n", text))
    crlf = tuple(start - before for before, start in enumerate(starts))
    plain = text.replace("\r\n", "\n")
    return NormalizedLines(plain, crlf, _kind(plain, len(crlf)))


def _kind(plain: str, crlf: int) -> str:
    if not crlf:
        return "\n"
    return "\r\n" if plain.count("\n") == crlf else "mixed"


def read_lines(data: bytes | None) -> list[str]:
    """Return the lines of a file with their ends; bytes that are not UTF-8 are lone surrogates."""
    return split_lines((data or b"").decode("utf-8", "surrogateescape"))
