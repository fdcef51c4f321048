"""What differs between two sequences of lines, or two versions of one line.

Lines that occur once on both sides anchor the comparison, and what lies between is compared by
Myers' greedy algorithm in bounded rounds. So the cost stays low where ``difflib`` is slow, or
gives up: many equal lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, repeat

Line = Hashable

_ROUND = 96
_SHORT_ROUND = 12
_LONG_ROUNDS = 24
"""A round looks for a path of so many edits, and its cost grows with their square. After so many
long rounds the texts have little in common, and short rounds are good enough."""

_WORD = re.compile(r"(?:\w[\u0300-\u036f]*)+|\s+|(.)\1*", re.DOTALL)
_LONGEST_LINE = 600
"""Characters; in longer lines only the common start and end are found."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """Lines ``a_start`` up to ``a_end`` of the one become ``b_start`` up to ``b_end`` of the other.

    0-based, ends excluded.
    """

    a_start: int
    a_end: int
    b_start: int
    b_end: int


def diff_lines(a: Sequence[Line], b: Sequence[Line]) -> list[LineChange]:
    """Return what turns ``a`` into ``b``, in order; changes never touch each other."""
    left, right = _number_lines(a, b)
    deleted, inserted = [False] * len(a), [False] * len(b)
    for part in _differing_parts(left, right, LineChange(0, len(a), 0, len(b))):
        deleted[part.a_start : part.a_end] = [True] * (part.a_end - part.a_start)
        inserted[part.b_start : part.b_end] = [True] * (part.b_end - part.b_start)
    return list(_to_changes(deleted, inserted))


def _number_lines(a: Sequence[Line], b: Sequence[Line]) -> tuple[list[int], list[int]]:
    """Return both sides with equal lines as equal small numbers, which compare faster."""
    number: dict[Line, int] = {}
    left = [number.setdefault(line, len(number)) for line in a]
    return left, [number.setdefault(line, len(number)) for line in b]


def _to_changes(deleted: list[bool], inserted: list[bool]) -> Iterator[LineChange]:
    i = j = 0
    while i < len(deleted) or j < len(inserted):
        start = (i, j)
        while i < len(deleted) and deleted[i]:
            i += 1
        while j < len(inserted) and inserted[j]:
            j += 1
        if start != (i, j):
            yield LineChange(start[0], i, start[1], j)
        i, j = i + 1, j + 1


def _differing_parts(a: list[int], b: list[int], whole: LineChange) -> Iterator[LineChange]:
    """Yield pieces that differ; pieces may touch."""
    waiting = [whole]
    while waiting:
        part = _trim(a, b, waiting.pop())
        if part.a_start == part.a_end or part.b_start == part.b_end:
            yield part
            continue
        anchors = _anchors(a, b, part)
        if anchors:
            waiting.extend(_between(part, anchors))
        elif in_place := _line_by_line(a, b, part):
            yield from in_place
        else:
            yield from _greedy(a, b, part)


def _trim(a: list[int], b: list[int], part: LineChange) -> LineChange:
    """Return the part without the lines that are the same at its start and at its end."""
    i, i_end, j, j_end = part.a_start, part.a_end, part.b_start, part.b_end
    while i < i_end and j < j_end and a[i] == b[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and a[i_end - 1] == b[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    return LineChange(i, i_end, j, j_end)


def _anchors(a: list[int], b: list[int], part: LineChange) -> list[tuple[int, int]]:
    """Return the longest ascending run of pairs of lines that occur once on each side."""
    once = _unique_lines(b, part.b_start, part.b_end)
    mine = _unique_lines(a, part.a_start, part.a_end)
    pairs = [(i, once[line]) for line, i in mine.items() if line in once]
    return _longest_ascending(pairs)


def _unique_lines(lines: list[int], start: int, end: int) -> dict[int, int]:
    """Return the place of each line that occurs exactly once between start and end."""
    seen: dict[int, int] = {}
    for at in range(start, end):
        seen[lines[at]] = -1 if lines[at] in seen else at
    return {line: at for line, at in seen.items() if at >= 0}


def _longest_ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs (sorted by the first) that ascends in the second."""
    tails: list[int] = []
    at_tail: list[int] = []
    before: list[int] = []
    for at, (_, j) in enumerate(pairs):
        place = bisect_left(tails, j)
        before.append(at_tail[place - 1] if place else -1)
        if place == len(tails):
            tails.append(j)
            at_tail.append(at)
        else:
            tails[place], at_tail[place] = j, at
    longest = []
    at = at_tail[-1] if at_tail else -1
    while at >= 0:
        longest.append(pairs[at])
        at = before[at]
    return longest[::-1]


def _between(part: LineChange, anchors: list[tuple[int, int]]) -> Iterator[LineChange]:
    i, j = part.a_start, part.b_start
    for a_at, b_at in [*anchors, (part.a_end, part.b_end)]:
        if i < a_at or j < b_at:
            yield LineChange(i, a_at, j, b_at)
        i, j = a_at + 1, b_at + 1


def _line_by_line(a: list[int], b: list[int], part: LineChange) -> list[LineChange]:
    """Return the lines that differ if few do when compared one to one, else nothing."""
    size = part.a_end - part.a_start
    if size != part.b_end - part.b_start:
        return []
    pairs = zip(a[part.a_start : part.a_end], b[part.b_start : part.b_end], strict=True)
    differ = [at for at, (mine, yours) in enumerate(pairs) if mine != yours]
    if len(differ) * 4 > size:
        return []
    i, j = part.a_start, part.b_start
    return [LineChange(i + at, i + at + 1, j + at, j + at + 1) for at in differ]


def _greedy(a: list[int], b: list[int], part: LineChange) -> Iterator[LineChange]:
    """Yield Myers' edits of a part, a bounded round at a time."""
    rest = part
    if set(a[part.a_start : part.a_end]).isdisjoint(b[part.b_start : part.b_end]):
        yield part
        return
    rounds = chain(repeat(_ROUND, _LONG_ROUNDS), repeat(_SHORT_ROUND))
    while rest.a_start < rest.a_end and rest.b_start < rest.b_end:
        steps, (i, j) = _round(a, b, rest, next(rounds))
        yield from steps
        rest = LineChange(i, rest.a_end, j, rest.b_end)
    yield rest


Row = dict[int, int]


def _round(
    a: list[int], b: list[int], part: LineChange, most: int
) -> tuple[list[LineChange], tuple[int, int]]:
    """Return the edits up to the end of the part, or as far as the ``most`` edits lead.

    ``rows[d][k]`` is how far into ``a`` one gets with ``d`` edits when ``k`` more lines of ``a``
    than of ``b`` are behind.
    """
    n, m = part.a_end - part.a_start, part.b_end - part.b_start
    rows: list[Row] = []
    for d in range(most + 1):
        row: Row = {}
        for k in range(-d, d + 1, 2):
            x = _step(rows[-1], k, n, m) if rows else 0
            if x < 0:
                continue
            while x < n and x - k < m and a[part.a_start + x] == b[part.b_start + x - k]:
                x += 1
            row[k] = x
            if x == n and x - k == m:
                return _trace([*rows, row], k, part), (part.a_end, part.b_end)
        rows.append(row)
    best = max(row, key=lambda k: (2 * row[k] - k, -abs(k)))
    return _trace(rows, best, part), (part.a_start + row[best], part.b_start + row[best] - best)


def _step(row: Row, k: int, n: int, m: int) -> int:
    """Return where one more edit leads on diagonal ``k``; -1 if it leads out of the part."""
    right = row.get(k - 1, -2) + 1
    down = row.get(k + 1, -1)
    right = right if right <= n else -1
    down = down if down - k <= m else -1
    return max(right, down)


def _trace(rows: list[Row], k: int, part: LineChange) -> list[LineChange]:
    """Return the edits that led to diagonal ``k`` of the last row, first one first."""
    n, m = part.a_end - part.a_start, part.b_end - part.b_start
    steps = []
    for row in reversed(rows[:-1]):
        x = _step(row, k, n, m)
        i, j = part.a_start + x, part.b_start + x - k
        if row.get(k - 1, -2) + 1 == x:
            steps.append(LineChange(i - 1, i, j, j))
            k -= 1
        else:
            steps.append(LineChange(i, i, j - 1, j))
            k += 1
    return steps[::-1]


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A part of a line: ``start`` up to ``end``, in characters."""

    start: int
    end: int


def changed_words(before: str, after: str) -> tuple[list[WordSpan], list[WordSpan]]:
    """Return the parts of each of two versions of a line that the other does not have.

    Whole words, not letters. Two lines with little in common are not compared: both lists are
    empty, for the whole line is what changed.
    """
    if max(len(before), len(after)) > _LONGEST_LINE:
        return _changed_middle(before, after)
    old, new = split_words(before), split_words(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    codes = matcher.get_opcodes()
    kept = sum(len(word.strip()) for op in codes if op[0] == "equal" for word in old[op[1] : op[2]])
    if kept * 3 < max(len(before.strip()), len(after.strip())):
        return [], []
    edits = [op for op in codes if op[0] != "equal"]
    return (
        _pieces(old, [(op[1], op[2]) for op in edits]),
        _pieces(new, [(op[3], op[4]) for op in edits]),
    )


def split_words(text: str) -> list[str]:
    """Return the words, runs of white space and runs of one other character; joined: the text."""
    return [found.group() for found in _WORD.finditer(text)]


def _pieces(parts: list[str], spans: list[tuple[int, int]]) -> list[WordSpan]:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return [WordSpan(starts[first], starts[last]) for first, last in spans if first < last]


def _changed_middle(before: str, after: str) -> tuple[list[WordSpan], list[WordSpan]]:
    size = min(len(before), len(after))
    start = next((at for at in range(size) if before[at] != after[at]), size)
    end = next(
        (at for at in range(size - start) if before[-1 - at] != after[-1 - at]), size - start
    )
    pieces = (WordSpan(start, len(before) - end), WordSpan(start, len(after) - end))
    return [pieces[0]], [pieces[1]]
