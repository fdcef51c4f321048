"""Places where a quote fits a file although it is not there to the letter.

Two ways, and a place found by either counts: the same lines with look-alike characters (quotes,
dashes, spaces, compatibility forms) or tabs for spaces, part of a line included; or whole lines
at another depth or with other blanks at their ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from agentchat.core.edit.indent import Indentation, Pair, has_same_depth, infer_indentation
from agentchat.core.edit.normalize import NormalizedText, leading_blanks, line_key, normalize

_COUNTED = 4

_RUN = re.compile(r"([ \t]+)")


@dataclass(frozen=True, slots=True)
class EditText:
    """What is looked for, and what shall be there instead; both with plain newlines."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A place that fits: offsets in the text, and how to indent there.

    ``whole_line`` says whether it begins at the start of a line; ``open_end`` that the quote's
    last newline stands for the end of a file without a final newline.
    """

    start: int
    end: int
    indentation: Indentation
    whole_line: bool
    open_end: bool


def find_fuzzy_matches(file: NormalizedText, quote: EditText, limit: int) -> list[FuzzyMatch]:
    """Return the places that fit, in order, ``limit`` at most."""
    if not quote.old.strip():
        return []
    found = list(islice(_same_lines(file, quote), limit))
    lines = len(found)
    ends = {fit.end for fit in found}
    for fit in islice(_look_alikes(file, quote), limit):
        # The same place found both ways is one: the whole lines, whose depth is known. So are
        # places that end together, for they differ only in how much blank is before them.
        if fit.end not in ends and not any(_overlap(fit, other) for other in found[:lines]):
            ends.add(fit.end)
            found.append(fit)
    return sorted(found, key=lambda fit: fit.start)[:limit]


def _overlap(fit: FuzzyMatch, other: FuzzyMatch) -> bool:
    return fit.start < other.end and other.start < fit.end


def _look_alikes(file: NormalizedText, quote: EditText) -> Iterator[FuzzyMatch]:
    """Yield the places whose plain form holds the quote's, tabs and spaces aside."""
    plain_old = normalize(quote.old)
    plain = file.plain if file.plain.endswith("\n") else file.plain + "\n"
    rarest = _rarest(plain, _RUN.split(plain_old))
    ahead = plain_old[: plain_old.index(rarest)].count("\n")
    pattern = re.compile("".join(map(_part_pattern, _RUN.split(plain_old))))
    lines = _lines_with(file, plain, rarest)
    if plain_old is quote.old and file.plain is file.text and "\t" not in plain_old + plain:
        # Nothing looks like anything else, so only the end of the file can differ.
        lines = iter([file.line_of(plain.rindex(rarest))] if plain.endswith(plain_old) else [])
    for line in lines:
        yield from _in_line(file, plain, pattern, line - ahead, quote)


def _rarest(plain: str, parts: list[str]) -> str:
    """Return the part between blanks that is found least often, of the longest few."""
    longest = sorted((part for part in parts if part.strip()), key=len)[-_COUNTED:]
    return min(longest, key=lambda part: (plain.count(part), -len(part)))


def _lines_with(file: NormalizedText, plain: str, part: str) -> Iterator[int]:
    """Yield the lines in which ``part`` begins, each once."""
    at = plain.find(part)
    while at >= 0:
        line = file.line_of(at)
        yield line
        at = plain.find(part, file.plain_start(line + 1)) if line + 1 < len(file.lines) else -1


def _part_pattern(part: str) -> str:
    if not _RUN.fullmatch(part):
        return re.escape(part)
    return r"[ \t]+" if "\t" in part else f"(?:{part}|[ ]*\t[ \t]*)"


def _in_line(
    file: NormalizedText, plain: str, pattern: re.Pattern[str], line: int, quote: EditText
) -> Iterator[FuzzyMatch]:
    """Yield the places that begin in one line."""
    if line < 0:
        return
    behind = line + quote.old.count("\n") + 1
    end = file.plain_start(behind) if behind < len(file.lines) else len(plain)
    found = pattern.search(plain, file.plain_start(line), end)
    while found and file.line_of(found.start()) == line:
        fit = _original_place(file, quote, found.start(), found.end())
        if fit:
            yield fit
        found = pattern.search(plain, found.start() + 1, end)


def _original_place(
    file: NormalizedText, quote: EditText, plain_start: int, plain_end: int
) -> FuzzyMatch | None:
    open_end = plain_end > len(file.plain)
    start = file.original_offset(plain_start)
    end = len(file.text) if open_end else file.original_offset(plain_end)
    if start is None or end is None:
        return None
    return _fit(file, quote, start, end, open_end)


def _same_lines(file: NormalizedText, quote: EditText) -> Iterator[FuzzyMatch]:
    """Yield the places where whole lines are the quote's but for blanks around them."""
    lines = normalize(quote.old).split("\n")
    head = len(lines) > 1 and lines[0] == ""
    tail = len(lines) > 1 and lines[-1] == ""
    lines = lines[head : len(lines) - tail]
    places = {at: file.by_key.get(line_key(line), []) for at, line in enumerate(lines)}
    anchor = min((at for at in places if lines[at].strip()), key=lambda at: len(places[at]))
    for place in places[anchor]:
        first = place - anchor
        if first >= head and _lines_fit(file, lines, first, anchor):
            fit = _line_place(file, quote, first, first + len(lines), head, tail)
            if fit:
                yield fit


def _lines_fit(file: NormalizedText, lines: list[str], first: int, anchor: int) -> bool:
    count = len(file.lines) - (file.lines[-1] == "")
    if first + len(lines) > count or not _alike(lines[anchor], file.plain_lines[first + anchor]):
        return False
    return all(map(_alike, lines, file.plain_lines[first : first + len(lines)]))


def _alike(line: str, other: str) -> bool:
    """Whether two lines in plain form are the same but for blanks around, and tabs for spaces."""
    line, other = line.strip(" \t"), other.strip(" \t")
    if line == other:
        return True
    if "\t" not in line and "\t" not in other:
        return False
    parts, others = _RUN.split(line), _RUN.split(other)
    return len(parts) == len(others) and all(map(_same_part, parts, others))


def _same_part(part: str, other: str) -> bool:
    return part == other or (part.isspace() and other.isspace() and "\t" in part + other)


def _line_place(
    file: NormalizedText, quote: EditText, first: int, behind: int, head: bool, tail: bool
) -> FuzzyMatch | None:
    """Return whole lines as a place; ``head`` and ``tail``: the newlines around belong to it."""
    start = file.starts[first] - head
    end = file.starts[behind - 1] + len(file.lines[behind - 1])
    open_end = tail and behind == len(file.lines)
    end += tail and not open_end
    whole = _fit(file, quote, start, end, open_end)
    if head or leading_blanks(quote.old):
        return whole
    # The quote may have lost the indentation of its first line only.
    start += leading_blanks(file.lines[first])
    rest = _depths(file, quote, start, end)
    if whole is None or (rest and has_same_depth(rest, _deep_lines(quote))):
        return _fit(file, quote, start, end, open_end)
    return whole


def _fit(
    file: NormalizedText, quote: EditText, start: int, end: int, open_end: bool
) -> FuzzyMatch | None:
    """Return the place if its lines stand to each other as the quote's do."""
    whole_line = _begins_line(file, quote, start)
    quoted = quote.old.split("\n") if whole_line else []
    quoted += [*_deep_lines(quote), *quote.new.split("\n")[:1]]
    indentation = infer_indentation(_depths(file, quote, start, end), quoted, file.lines)
    return (
        None if indentation is None else FuzzyMatch(start, end, indentation, whole_line, open_end)
    )


def _begins_line(file: NormalizedText, quote: EditText, start: int) -> bool:
    return start == 0 or (file.text[start - 1] == "\n" and quote.old[0] != "\n")


def _deep_lines(quote: EditText) -> list[str]:
    """Return the lines whose indentation is surely whole: all but the first ones."""
    return [*quote.old.split("\n")[1:], *quote.new.split("\n")[1:]]


def _depths(file: NormalizedText, quote: EditText, start: int, end: int) -> list[Pair]:
    """Return the indentation of each line that is quoted from its start and is not blank."""
    first = 0 if _begins_line(file, quote, start) else 1
    pairs = zip(quote.old.split("\n"), file.text[start:end].split("\n"), strict=False)
    return [
        (line[: leading_blanks(line)], own[: leading_blanks(own)])
        for line, own in islice(pairs, first, None)
        if line.strip()
    ]
