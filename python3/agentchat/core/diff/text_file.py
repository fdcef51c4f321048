"""The bytes of a file as text, losslessly, and its line ends as plain newlines and back."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from agentchat.core.errors import ToolError

BOM = "\ufeff"
LARGEST_EDIT = 64 * 1024 * 1024
"""Bytes; a larger file is refused rather than matched, diffed and shown."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff")


class NotTextError(ToolError):
    """The file cannot be edited as text; the message names it and says why."""


def decode(data: bytes, path: str) -> str:
    """Return the text of a file, its BOM included; :func:`encode` gives the same bytes back.

    Bytes that are no UTF-8 become lone surrogates, so they survive untouched.

    Raises:
        NotText: UTF-16 or UTF-32, binary (NUL bytes), or larger than ``LARGEST_EDIT``.
    """
    reason = why_not_text(data)
    if reason:
        raise NotTextError(f"{path} {reason}, so it cannot be edited as text. Nothing was changed.")
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes of a text that :func:`decode` made."""
    return text.encode("utf-8", "surrogateescape")


def why_not_text(data: bytes) -> str:
    """Return why the bytes are no text, as the rest of a sentence; empty if they are."""
    if data.startswith(_WIDE_MARKS):
        return "is UTF-16 or UTF-32, not UTF-8"
    if b"\0" in data:
        return "is binary (it holds NUL bytes)"
    if len(data) > LARGEST_EDIT:
        return f"is larger than {LARGEST_EDIT // (1024 * 1024)} MiB"
    return ""


def has_surrogates(text: str) -> bool:
    """Whether the text holds bytes that are no UTF-8, or characters that are no text."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def split_lines(text: str) -> list[str]:
    """Return the lines with their ends, split after ``\\n`` only; joined they are the text."""
    lines = text.split("\n")
    last = lines.pop()
    whole = [line + "\n" for line in lines]
    return [*whole, last] if last else whole


@dataclass(frozen=True, slots=True)
class NormalizedLines:
    """A text whose line ends are all ``\\n``, with the way back to the original.

    ``crlf`` are the offsets in ``text`` of the newlines that stand for ``\\r\\n``, ascending;
    ``kind`` is the line end of the whole original: ``\\n``, ``\\r\\n``, ``\\r``, ``mixed``, or
    empty if there is none.
    """

    text: str
    crlf: tuple[int, ...]
    kind: str

    def raw_offset(self, offset: int) -> int:
        """Return the offset in the original of ``offset`` in ``text``."""
        return offset + bisect_left(self.crlf, offset)

    def end_at(self, offset: int) -> str:
        """Return the original's line end for the newline at ``offset`` in ``text``."""
        if self.kind != "mixed":
            return self.kind
        place = bisect_left(self.crlf, offset)
        return "\r\n" if self.crlf[place : place + 1] == (offset,) else "\n"


def normalize_newlines(text: str) -> NormalizedLines:
    """Return the text with plain newlines.

    A lone ``\\r`` is an ordinary character, unless the text has no ``\\n`` at all.
    """
    if "\r" not in text:
        return NormalizedLines(text, (), "\n" if "\n" in text else "")
    if "\n" not in text:
        return NormalizedLines(text.replace("\r", "\n"), (), "\r")
    found = (at.start() for at in re.finditer("\r\n", text))
    crlf = tuple(at - before for before, at in enumerate(found))
    plain = text.replace("\r\n", "\n")
    return NormalizedLines(plain, crlf, _kind(plain, len(crlf)))


def _kind(plain: str, crlf: int) -> str:
    if not crlf:
        return "\n"
    return "\r\n" if plain.count("\n") == crlf else "mixed"
