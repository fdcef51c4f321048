"""The lines of a file that look most like a quote that is not there."""

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
    """The closest lines: ``line`` is the 1-based number of the first."""

    line: int
    text: str


def find_closest(file: NormalizedText, quote: str) -> ClosestMatch | None:
    """Return the lines closest to the quote, as many as it has; ``None`` in a blank file.

    The cost is bounded: only places that share whole lines or rare words with the quote are
    compared, and of long lines only the beginning.
    """
    wanted = normalize(quote).strip("\n").split("\n")
    pairs = [_letter_pairs(line) for line in wanted[:_COMPARED_LINES]]
    best = max(_candidates(file, wanted), key=lambda at: _likeness(file, pairs, at), default=None)
    if best is None:
        return None
    return ClosestMatch(best + 1, _shown(file.lines[best : best + min(len(wanted), _SHOWN_LINES)]))


def _candidates(file: NormalizedText, wanted: list[str]) -> list[int]:
    """Return 0-based first lines worth comparing, the likeliest first."""
    votes: Counter[int] = Counter()
    for ahead, line in enumerate(wanted):
        places = file.by_key.get(line_key(line), [])
        weight = 1 + 8 // max(len(places), 1)
        votes.update({at - ahead: weight for at in islice(places, _PLACES_PER_WORD)})
    if not votes:
        votes = _votes_of_words(file, wanted)
    lines = [at for at, _ in votes.most_common(_CANDIDATES) if at >= 0]
    return lines or list(islice(_lines_with_text(file), _LINES_TRIED // len(wanted) + 1))


def _votes_of_words(file: NormalizedText, wanted: list[str]) -> Counter[int]:
    votes: Counter[int] = Counter()
    for ahead, line in enumerate(wanted[:_COMPARED_LINES]):
        for word in sorted(set(_WORD.findall(line)), key=len, reverse=True)[:_WORDS]:
            places = list(islice(_lines_of(file, word), _PLACES_PER_WORD))
            weight = 1 + 8 * len(word) // max(len(places), 1)
            votes.update({at - ahead: weight for at in places})
    return votes


def _lines_of(file: NormalizedText, word: str) -> Iterator[int]:
    """Yield the lines in which a word occurs, each once."""
    at = file.plain.find(word)
    while at >= 0:
        line = file.line_of(at)
        yield line
        if line + 1 == len(file.lines):
            return
        at = file.plain.find(word, file.plain_start(line + 1))


def _lines_with_text(file: NormalizedText) -> Iterator[int]:
    return (at for at, line in enumerate(file.lines) if line and not line.isspace())


def _likeness(file: NormalizedText, wanted: list[Counter[str]], at: int) -> int:
    """Return how many pairs of letters the lines share, less those they do not."""
    return sum(map(_shared, wanted, file.plain_lines[at : at + len(wanted)]))


def _shared(wanted: Counter[str], line: str) -> int:
    mine = _letter_pairs(line)
    both = sum((wanted & mine).values())
    return 3 * both - sum(mine.values())


def _letter_pairs(line: str) -> Counter[str]:
    text = line[: 4 * _COMPARED_CHARACTERS].strip()[:_COMPARED_CHARACTERS]
    return Counter(map(str.__add__, text, text[1:]))


def _shown(lines: list[str]) -> str:
    return "\n".join(
        line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…" for line in lines
    )
