"""Compare the indentation of a quote with the file's, and indent new lines like the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from math import gcd

from agentchat.core.edit.normalize import leading_blanks, split_indent
from agentchat.core.frozen import frozen

Pair = tuple[str, str]
"""The indentation of one line: in the quote, and in the file."""

_TABS = (4, 8, 2, 3)
"""Possible widths of a tab; the first that explains the text counts."""
_UNITS = (2, 3, 4, 8)
_SAMPLE = 2_000


@frozen
class Indentation:
    """The mapping from a quote's indentation to the file's.

    ``known`` maps columns in the quote to blanks in the file; ``step`` more columns in the quote
    are one more ``unit`` in the file.
    """

    known: dict[int, str]
    tab: int
    step: int
    unit: str

    def convert(self, indent: str) -> str:
        """Return the file's indentation for a line that has ``indent`` in the quote."""
        columns = width(indent, self.tab)
        if columns in self.known or not self.known:
            return self.known.get(columns, indent)
        nearest = max((known for known in self.known if known < columns), default=None)
        if nearest is not None:
            return self.known[nearest] + self._blanks(columns - nearest)
        nearest = min(self.known)
        return self._dedent(self.known[nearest], nearest - columns)

    def _blanks(self, columns: int) -> str:
        levels, rest = divmod(columns, self.step)
        return self.unit * levels + " " * rest

    def _dedent(self, indent: str, columns: int) -> str:
        """Return ``indent`` without so many columns of the quote."""
        for piece in (" " * (columns % self.step), self.unit * (columns // self.step)):
            indent = indent.removesuffix(piece)
        return indent


def width(indent: str, tab: int) -> int:
    """Return the columns that spaces and tabs take."""
    return len(indent.expandtabs(tab))


def infer_indentation(
    pairs: Sequence[Pair], quoted: Iterable[str], file_lines: Sequence[str]
) -> Indentation | None:
    """Return how to indent for the file; ``None`` if quote and file are nested differently.

    Args:
        pairs: the indentation of corresponding lines that are not blank.
        quoted: all lines of the old and the new text.
        file_lines: the whole file, for its style if the pairs do not show it.
    """
    tabs = _matching_tabs(pairs)
    if tabs is None:
        return None
    quote_tab, file_tab = tabs
    known = {width(quote, quote_tab): own for quote, own in reversed(pairs)}
    indents = [split_indent(line)[0] for line in quoted if line.strip()]
    step, unit = _step(known, indents, file_lines, quote_tab, file_tab)
    return Indentation(known, quote_tab, step, unit)


def has_same_depth(pairs: Sequence[Pair], quoted: Iterable[str]) -> bool:
    """Whether the lines have the same depth in quote and file, perhaps with spaces for tabs."""
    unit = gcd(*(len(split_indent(line)[0]) for line in quoted if line.strip()))
    return all(own in (quote, "\t" * (len(quote) // (unit or 1))) for quote, own in pairs)


def _matching_tabs(pairs: Sequence[Pair]) -> tuple[int, int] | None:
    """Return tab widths with which the lines have the same order of depth in quote and file."""
    for quote_tab, file_tab in product(_TABS, _TABS):
        columns = {(width(quote, quote_tab), width(own, file_tab)) for quote, own in pairs}
        if all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(sorted(columns))):
            return quote_tab, file_tab
    return None


def _step(
    known: dict[int, str], indents: list[str], file_lines: Sequence[str], quote_tab: int, tab: int
) -> tuple[int, str]:
    """Return the columns of the quote for one unit of the file, and that unit."""
    quote_unit = _quote_unit(known, indents, quote_tab)
    if _uses_tabs(known, file_lines):
        return _columns_per_tab(known, quote_unit), "\t"
    columns = {quote: width(own, tab) for quote, own in known.items()}
    ratio = _slope(columns)
    if ratio is not None:
        return ratio[0], " " * ratio[1]
    file_unit = _file_unit(file_lines)
    if any("\t" in indent for indent in indents):
        return quote_tab, " " * (file_unit or 4)
    # Eight columns are two levels more often than one.
    usual = quote_unit in _UNITS[:-1] and file_unit in _UNITS
    if usual and _same_level(columns, quote_unit, file_unit):
        return quote_unit, " " * file_unit
    return 1, " "


def _quote_unit(known: dict[int, str], indents: list[str], tab: int) -> int:
    """Return the columns of one level in the quote; 0 if it has no levels."""
    columns = {width(indent, tab) for indent in indents} | set(known)
    if any("\t" in indent for indent in indents):
        return tab
    unit = gcd(*columns)
    return unit if unit in _UNITS or unit == 0 else min(unit, 4)


def _uses_tabs(known: dict[int, str], file_lines: Sequence[str]) -> bool:
    indents = [indent for indent in known.values() if indent]
    if indents:
        return any("\t" in indent for indent in indents)
    counts = Counter(line[0] for line in file_lines[:_SAMPLE] if line[:1] in {" ", "\t"})
    return counts["\t"] > counts[" "]


def _columns_per_tab(known: dict[int, str], quote_unit: int) -> int:
    """Return the columns of the quote for one tab of the file."""
    points = sorted((own.count("\t"), quote) for quote, own in known.items())
    # A single line shows the columns only if its depth in the quote is a known one.
    start = [(0, 0)] if quote_unit in {0, *known} else []
    for (few, narrow), (many, wide) in pairwise([*start, *points]):
        if many > few and wide > narrow and (wide - narrow) % (many - few) == 0:
            per_tab = (wide - narrow) // (many - few)
            if per_tab in _UNITS:
                return per_tab
    return quote_unit or 4


def _slope(columns: dict[int, int]) -> tuple[int, int] | None:
    """Return the step in the quote and in the file between two levels; ``None`` for one level."""
    points = sorted(columns.items())
    for (quote, own), (deeper, own_deeper) in pairwise(points):
        if deeper - quote == own_deeper - own:
            return 1, 1
        return deeper - quote, own_deeper - own
    return None


def _same_level(columns: dict[int, int], quote_unit: int, file_unit: int) -> bool:
    return all(quote * file_unit == own * quote_unit for quote, own in columns.items())


def _file_unit(file_lines: Sequence[str]) -> int:
    """Return the usual indentation step of a file with spaces; 0 if it has none."""
    depths = [leading_blanks(line) for line in file_lines[:_SAMPLE] if line.strip()]
    steps = Counter(deeper - depth for depth, deeper in pairwise(depths) if deeper > depth)
    usual = [(count, step) for step, count in steps.items() if step in _UNITS]
    return max(usual)[1] if usual else 0
