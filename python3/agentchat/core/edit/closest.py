"""Find the lines of a file that are most similar to a quote that it does not contain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from agentchat.core.edit.normalize import NormalizedText, line_key, normalize

_CANDIDATES = 24
_COMPARED_LINES = 12
_COMPARED_CHARACTERS = 160
_WORDS = 8
_PLACES_PER_WORD = 400
_LINES_TRIED = 1_500

_SHOWN_LINES = 20
_SHOWN_CHARACTERS = 200

_WORD = re.compile(r"\w{2,}")


@dataclass(frozen=True, slots=True)
class ClosestMatch:
    """The most similar lines; ``line`` is the 1-based number of the first."""

    line: int
    text: str


def find_closest(file: NormalizedText, quote: str) -> ClosestMatch | None:
    """Return the lines most similar to the quote, as many as it has; ``None`` for a blank file.

    The cost is bounded: only places that share whole lines or rare words with the quote are
    compared, and only the beginning of long lines.
    """
    quoted = normalize(quote).strip("\n").split("\n")
    pairs = [_letter_pairs(line) for line in quoted[:_COMPARED_LINES]]
    first = max(
        _candidates(file, quoted), key=lambda line: _similarity(file, pairs, line), default=None
    )
    if first is None:
        return None
    lines = file.lines[first : first + min(len(quoted), _SHOWN_LINES)]
    return ClosestMatch(first + 1, "\n".join(map(_shorten, lines)))


def _candidates(file: NormalizedText, quoted: list[str]) -> list[int]:
    """Return 0-based first lines to compare, the most likely first."""
    votes: Counter[int] = Counter()
    for offset, line in enumerate(quoted):
        places = file.by_key.get(line_key(line), [])
        weight = 1 + 8 // max(len(places), 1)
        votes.update({place - offset: weight for place in islice(places, _PLACES_PER_WORD)})
    if not votes:
        votes = _word_votes(file, quoted)
    lines = [line for line, _ in votes.most_common(_CANDIDATES) if line >= 0]
    return lines or list(islice(_lines_with_text(file), _LINES_TRIED // len(quoted) + 1))


def _word_votes(file: NormalizedText, quoted: list[str]) -> Counter[int]:
    votes: Counter[int] = Counter()
    for offset, line in enumerate(quoted[:_COMPARED_LINES]):
        for word in sorted(set(_WORD.findall(line)), key=len, reverse=True)[:_WORDS]:
            places = list(islice(file.lines_with(word), _PLACES_PER_WORD))
            weight = 1 + 8 * len(word) // max(len(places), 1)
            votes.update({place - offset: weight for place in places})
    return votes


def _lines_with_text(file: NormalizedText) -> Iterator[int]:
    return (index for index, line in enumerate(file.lines) if line and not line.isspace())


def _similarity(file: NormalizedText, quoted: list[Counter[str]], first: int) -> int:
    """Return how many pairs of letters the lines share, minus those they do not share."""
    return sum(map(_line_similarity, quoted, file.plain_lines[first : first + len(quoted)]))


def _line_similarity(quoted: Counter[str], line: str) -> int:
    pairs = _letter_pairs(line)
    return 3 * sum((quoted & pairs).values()) - sum(pairs.values())


def _letter_pairs(line: str) -> Counter[str]:
    text = line[: 4 * _COMPARED_CHARACTERS].strip()[:_COMPARED_CHARACTERS]
    return Counter(map(str.__add__, text, text[1:]))


def _shorten(line: str) -> str:
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"
