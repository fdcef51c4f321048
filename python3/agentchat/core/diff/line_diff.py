"""Compare two sequences of lines, or two versions of one line.

Lines that occur once on both sides are anchors; the lines between them are compared with Myers'
greedy algorithm in bounded rounds. So the cost stays low for texts with many equal lines, where
``difflib`` is slow.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain, repeat

from agentchat.core.diff.text_file import encode
from agentchat.core.frozen import frozen

Line = Hashable

_ROUND = 96
_SHORT_ROUND = 12
_LONG_ROUNDS = 24
"""Most edits of a round, whose cost grows with their square. After this many long rounds the texts
have little in common, and short rounds are good enough."""

_WORD = re.compile(r"(?:\w[\u0300-\u036f]*)+|\s+|(.)\1*", re.DOTALL)
_LONGEST_LINE = 600
"""Most characters of a line compared by words; of a longer line only the middle is marked."""


@frozen
class LineChange:
    """Lines ``a_start`` to ``a_end`` of one text become ``b_start`` to ``b_end`` of the other.

    0-based, ends excluded.
    """

    a_start: int
    a_end: int
    b_start: int
    b_end: int


def diff_lines(a: Sequence[Line], b: Sequence[Line]) -> list[LineChange]:
    """Return the changes that turn ``a`` into ``b``, in order and never adjacent."""
    head, tail = common_ends(a, b)
    left, right = _number_lines(a[head : len(a) - tail], b[head : len(b) - tail])
    deleted, inserted = [False] * len(left), [False] * len(right)
    for part in _differing_parts(left, right, LineChange(0, len(left), 0, len(right))):
        deleted[part.a_start : part.a_end] = [True] * (part.a_end - part.a_start)
        inserted[part.b_start : part.b_end] = [True] * (part.b_end - part.b_start)
    return list(_to_changes(deleted, inserted, head))


def common_ends(a: Sequence[Line], b: Sequence[Line]) -> tuple[int, int]:
    """Return how many items both sequences have in common at the start, and at the end after it.

    Compares slices by halves: much faster than item by item.
    """
    longest = min(len(a), len(b))
    head = _longest_true(longest, lambda low, high: a[low:high] == b[low:high])
    shift = len(b) - len(a)
    size = len(a)
    tail = _longest_true(
        longest - head,
        lambda low, high: (
            a[size - high : size - low] == b[size + shift - high : size + shift - low]
        ),
    )
    return head, tail


def _longest_true(limit: int, equal: Callable[[int, int], bool]) -> int:
    """Return the greatest length up to ``limit`` for which ``equal(0, length)`` is true."""
    low = 0
    while low < limit:
        middle = (low + limit + 1) // 2
        if equal(low, middle):
            low = middle
        else:
            limit = middle - 1
    return low


def _number_lines(a: Sequence[Line], b: Sequence[Line]) -> tuple[list[int], list[int]]:
    """Return both sides with lines as numbers, which compare faster."""
    numbers: dict[Line, int] = {}
    left = [numbers.setdefault(line, len(numbers)) for line in a]
    return left, [numbers.setdefault(line, len(numbers)) for line in b]


def _to_changes(deleted: list[bool], inserted: list[bool], offset: int) -> Iterator[LineChange]:
    i = j = 0
    while i < len(deleted) or j < len(inserted):
        start = (i, j)
        while i < len(deleted) and deleted[i]:
            i += 1
        while j < len(inserted) and inserted[j]:
            j += 1
        if start != (i, j):
            yield LineChange(start[0] + offset, i + offset, start[1] + offset, j + offset)
        i, j = i + 1, j + 1


def _differing_parts(a: list[int], b: list[int], whole: LineChange) -> Iterator[LineChange]:
    """Yield the parts that differ; parts may be adjacent."""
    stack = [whole]
    while stack:
        part = _trim(a, b, stack.pop())
        if part.a_start == part.a_end or part.b_start == part.b_end:
            yield part
            continue
        anchors = _anchors(a, b, part)
        if anchors:
            stack.extend(_between(part, anchors))
        elif changes := _line_by_line(a, b, part):
            yield from changes
        else:
            yield from _greedy(a, b, part)


def _trim(a: list[int], b: list[int], part: LineChange) -> LineChange:
    """Return the part without equal lines at its start and end."""
    i, i_end, j, j_end = part.a_start, part.a_end, part.b_start, part.b_end
    while i < i_end and j < j_end and a[i] == b[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and a[i_end - 1] == b[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    return LineChange(i, i_end, j, j_end)


def _anchors(a: list[int], b: list[int], part: LineChange) -> list[tuple[int, int]]:
    """Return the longest ascending sequence of pairs of lines that occur once on each side."""
    in_b = _unique_lines(b, part.b_start, part.b_end)
    in_a = _unique_lines(a, part.a_start, part.a_end)
    pairs = [(i, in_b[line]) for line, i in in_a.items() if line in in_b]
    return _longest_ascending(pairs)


def _unique_lines(lines: list[int], start: int, end: int) -> dict[int, int]:
    """Return the index of each line that occurs exactly once between start and end."""
    indexes: dict[int, int] = {}
    for index in range(start, end):
        indexes[lines[index]] = -1 if lines[index] in indexes else index
    return {line: index for line, index in indexes.items() if index >= 0}


def _longest_ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs (sorted by the first) that ascends in the second."""
    # ``tails[n]`` is the least end of an ascending sequence of ``n + 1`` pairs.
    tails: list[int] = []
    tail_indexes: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        previous.append(tail_indexes[length - 1] if length else -1)
        tails[length : length + 1] = [j]
        tail_indexes[length : length + 1] = [index]
    longest = []
    index = tail_indexes[-1] if tail_indexes else -1
    while index >= 0:
        longest.append(pairs[index])
        index = previous[index]
    return longest[::-1]


def _between(part: LineChange, anchors: list[tuple[int, int]]) -> Iterator[LineChange]:
    i, j = part.a_start, part.b_start
    for next_i, next_j in [*anchors, (part.a_end, part.b_end)]:
        if i < next_i or j < next_j:
            yield LineChange(i, next_i, j, next_j)
        i, j = next_i + 1, next_j + 1


def _line_by_line(a: list[int], b: list[int], part: LineChange) -> list[LineChange]:
    """Return the lines that differ one to one; nothing if they are too many."""
    size = part.a_end - part.a_start
    if size != part.b_end - part.b_start:
        return []
    i, j = part.a_start, part.b_start
    differing = [n for n in range(size) if a[i + n] != b[j + n]]
    if len(differing) * 4 > size:
        return []
    return [LineChange(i + n, i + n + 1, j + n, j + n + 1) for n in differing]


def _greedy(a: list[int], b: list[int], part: LineChange) -> Iterator[LineChange]:
    """Yield Myers' edits of a part, in bounded rounds."""
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
    a: list[int], b: list[int], part: LineChange, limit: int
) -> tuple[list[LineChange], tuple[int, int]]:
    """Return the edits up to the end of the part, or the best ``limit`` edits, and where they end.

    ``rows[d][k]`` is the furthest index in ``a`` after ``d`` edits on diagonal ``k``, where the
    index in ``a`` is ``k`` more than the index in ``b``.
    """
    n, m = part.a_end - part.a_start, part.b_end - part.b_start
    rows: list[Row] = []
    for d in range(limit + 1):
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
    """Return the index in ``a`` after one more edit to diagonal ``k``; -1 if outside the part."""
    right = row.get(k - 1, -2) + 1
    down = row.get(k + 1, -1)
    right = right if right <= n else -1
    down = down if down - k <= m else -1
    return max(right, down)


def _trace(rows: list[Row], k: int, part: LineChange) -> list[LineChange]:
    """Return the edits that led to diagonal ``k`` of the last row, in order."""
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


@frozen
class WordSpan:
    """A part of a line: characters ``start`` to ``end``, ``end`` excluded."""

    start: int
    end: int


def changed_words(before: str, after: str) -> tuple[list[WordSpan], list[WordSpan]]:
    """Return the words of each of two versions of a line that the other does not have.

    Both lists are empty if the lines have little in common: then the whole line changed.
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
        _word_spans(old, [(op[1], op[2]) for op in edits]),
        _word_spans(new, [(op[3], op[4]) for op in edits]),
    )


def split_words(text: str) -> list[str]:
    """Return the words, runs of white space and runs of one other character; joined: the text."""
    return [match.group() for match in _WORD.finditer(text)]


def _word_spans(parts: list[str], spans: list[tuple[int, int]]) -> list[WordSpan]:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return [WordSpan(starts[first], starts[last]) for first, last in spans if first < last]


def _changed_middle(before: str, after: str) -> tuple[list[WordSpan], list[WordSpan]]:
    size = min(len(before), len(after))
    start = next((n for n in range(size) if before[n] != after[n]), size)
    end = next((n for n in range(size - start) if before[-1 - n] != after[-1 - n]), size - start)
    return [WordSpan(start, len(before) - end)], [WordSpan(start, len(after) - end)]


def join_changes(old: list[str], changes: Sequence[tuple[LineChange, list[str]]]) -> bytes:
    """Return ``old`` with changes applied, each with the lines that it takes its text from."""
    lines: list[str] = []
    position = 0
    for change, source in changes:
        lines += old[position : change.a_start]
        lines += source[change.b_start : change.b_end]
        position = change.a_end
    return encode("".join(lines + old[position:]))
