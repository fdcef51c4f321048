"""Find places where a quote matches a file tolerantly.

There are two ways to match: the same text, parts of lines included, with look-alike characters
(quotes, dashes, spaces, compatibility forms) or tabs instead of spaces; or whole lines with another
indentation or other blanks at their ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from agentchat.core.edit.indent import Indentation, Pair, has_same_depth, infer_indentation
from agentchat.core.edit.normalize import NormalizedText, leading_blanks, line_key, normalize
from agentchat.core.frozen import frozen

_COUNTED = 4

_RUN = re.compile(r"([ \t]+)")


@frozen
class EditText:
    """The old and the new text of an edit, with plain newlines."""

    old: str
    new: str


@frozen
class FuzzyMatch:
    """A match: offsets in the text, and how to indent there.

    ``whole_line``: it begins at the start of a line. ``open_end``: the quote's last newline matches
    the end of a file without a final newline.
    """

    start: int
    end: int
    indentation: Indentation
    whole_line: bool
    open_end: bool


def find_fuzzy_matches(file: NormalizedText, quote: EditText, limit: int) -> list[FuzzyMatch]:
    """Return the matches in order, at most ``limit``."""
    if not quote.old.strip():
        return []
    line_matches = list(islice(_line_matches(file, quote), limit))
    matches = list(line_matches)
    ends = {match.end for match in matches}
    for match in islice(_look_alike_matches(file, quote), limit):
        # A place found both ways counts once, as whole lines, whose indentation is known. Places
        # with the same end count once, too: they differ only in the blanks before them.
        if match.end not in ends and not any(_overlap(match, other) for other in line_matches):
            ends.add(match.end)
            matches.append(match)
    return sorted(matches, key=lambda match: match.start)[:limit]


def _overlap(match: FuzzyMatch, other: FuzzyMatch) -> bool:
    return match.start < other.end and other.start < match.end


def _look_alike_matches(file: NormalizedText, quote: EditText) -> Iterator[FuzzyMatch]:
    """Yield the places whose plain form is the quote's, except for tabs and spaces."""
    plain_old = normalize(quote.old)
    plain = file.plain if file.plain.endswith("\n") else file.plain + "\n"
    rarest = _rarest_part(plain, _RUN.split(plain_old))
    lines_before = plain_old[: plain_old.index(rarest)].count("\n")
    pattern = re.compile("".join(map(_part_pattern, _RUN.split(plain_old))))
    lines = file.lines_with(rarest, plain)
    if plain_old is quote.old and file.plain is file.text and "\t" not in plain_old + plain:
        # There are no look-alikes, so only the end of the file can differ.
        lines = iter([file.line_of(plain.rindex(rarest))] if plain.endswith(plain_old) else [])
    for line in lines:
        yield from _matches_in_line(file, plain, pattern, line - lines_before, quote)


def _rarest_part(plain: str, parts: list[str]) -> str:
    """Return the least frequent of the longest parts between blanks."""
    longest = sorted((part for part in parts if part.strip()), key=len)[-_COUNTED:]
    return min(longest, key=lambda part: (plain.count(part), -len(part)))


def _part_pattern(part: str) -> str:
    if not _RUN.fullmatch(part):
        return re.escape(part)
    return r"[ \t]+" if "\t" in part else f"(?:{part}|[ ]*\t[ \t]*)"


def _matches_in_line(
    file: NormalizedText, plain: str, pattern: re.Pattern[str], line: int, quote: EditText
) -> Iterator[FuzzyMatch]:
    """Yield the matches that begin in one line."""
    if line < 0:
        return
    next_line = line + quote.old.count("\n") + 1
    end = file.plain_start(next_line) if next_line < len(file.lines) else len(plain)
    found = pattern.search(plain, file.plain_start(line), end)
    while found and file.line_of(found.start()) == line:
        match = _match_in_original(file, quote, found.start(), found.end())
        if match:
            yield match
        found = pattern.search(plain, found.start() + 1, end)


def _match_in_original(
    file: NormalizedText, quote: EditText, plain_start: int, plain_end: int
) -> FuzzyMatch | None:
    open_end = plain_end > len(file.plain)
    start = file.original_offset(plain_start)
    end = len(file.text) if open_end else file.original_offset(plain_end)
    if start is None or end is None:
        return None
    return _make_match(file, quote, start, end, open_end)


def _line_matches(file: NormalizedText, quote: EditText) -> Iterator[FuzzyMatch]:
    """Yield the places where whole lines equal the quote's except for blanks around them."""
    lines = normalize(quote.old).split("\n")
    head = len(lines) > 1 and lines[0] == ""
    tail = len(lines) > 1 and lines[-1] == ""
    lines = lines[head : len(lines) - tail]
    places = {index: file.by_key.get(line_key(line), []) for index, line in enumerate(lines)}
    anchor = min((i for i in places if lines[i].strip()), key=lambda i: len(places[i]))
    for place in places[anchor]:
        first = place - anchor
        if first >= head and _lines_equal(file, lines, first, anchor):
            match = _line_match(file, quote, first, first + len(lines), head, tail)
            if match:
                yield match


def _lines_equal(file: NormalizedText, lines: list[str], first: int, anchor: int) -> bool:
    count = len(file.lines) - (file.lines[-1] == "")
    if first + len(lines) > count or not _is_alike(lines[anchor], file.plain_lines[first + anchor]):
        return False
    return all(map(_is_alike, lines, file.plain_lines[first : first + len(lines)]))


def _is_alike(line: str, other: str) -> bool:
    """Whether two lines in plain form differ only in outer blanks and in tabs for spaces."""
    line, other = line.strip(" \t"), other.strip(" \t")
    if line == other:
        return True
    if "\t" not in line and "\t" not in other:
        return False
    parts, others = _RUN.split(line), _RUN.split(other)
    return len(parts) == len(others) and all(map(_same_part, parts, others))


def _same_part(part: str, other: str) -> bool:
    return part == other or (part.isspace() and other.isspace() and "\t" in part + other)


def _line_match(
    file: NormalizedText, quote: EditText, first: int, next_line: int, head: bool, tail: bool
) -> FuzzyMatch | None:
    """Return whole lines as a match; ``head`` and ``tail``: with newlines around them."""
    start = file.starts[first] - head
    end = file.starts[next_line - 1] + len(file.lines[next_line - 1])
    open_end = tail and next_line == len(file.lines)
    end += tail and not open_end
    whole = _make_match(file, quote, start, end, open_end)
    if head or leading_blanks(quote.old):
        return whole
    # The quote may have lost the indentation of its first line only.
    start += leading_blanks(file.lines[first])
    others = _indent_pairs(file, quote, start, end)
    if whole is None or (others and has_same_depth(others, _later_lines(quote))):
        return _make_match(file, quote, start, end, open_end)
    return whole


def _make_match(
    file: NormalizedText, quote: EditText, start: int, end: int, open_end: bool
) -> FuzzyMatch | None:
    """Return the match if its lines are indented relative to each other as the quote's are."""
    whole_line = _begins_line(file, quote, start)
    quoted = quote.old.split("\n") if whole_line else []
    quoted += [*_later_lines(quote), *quote.new.split("\n")[:1]]
    indentation = infer_indentation(_indent_pairs(file, quote, start, end), quoted, file.lines)
    if indentation is None:
        return None
    return FuzzyMatch(start, end, indentation, whole_line=whole_line, open_end=open_end)


def _begins_line(file: NormalizedText, quote: EditText, start: int) -> bool:
    return start == 0 or (file.text[start - 1] == "\n" and quote.old[0] != "\n")


def _later_lines(quote: EditText) -> list[str]:
    """Return the lines whose indentation is surely complete: all but the first ones."""
    return [*quote.old.split("\n")[1:], *quote.new.split("\n")[1:]]


def _indent_pairs(file: NormalizedText, quote: EditText, start: int, end: int) -> list[Pair]:
    """Return the indentation of each line that is quoted from its start and not blank."""
    first = 0 if _begins_line(file, quote, start) else 1
    pairs = zip(quote.old.split("\n"), file.text[start:end].split("\n"), strict=False)
    return [
        (line[: leading_blanks(line)], own[: leading_blanks(own)])
        for line, own in islice(pairs, first, None)
        if line.strip()
    ]
