"""Find the one place of each edit's old text; else report the closest lines."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from agentchat.core.diff.text_file import BOM, NormalizedLines, has_surrogates, normalize_newlines
from agentchat.core.edit.fuzzy import EditText, FuzzyMatch, find_fuzzy_matches
from agentchat.core.edit.normalize import NormalizedText, line_key, normalize
from agentchat.core.edit.rewrite import TextReplacement, rewrite, splice
from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen

_CANDIDATES = 24
_COMPARED_LINES = 12
_COMPARED_CHARACTERS = 160
_WORDS = 8
_PLACES_PER_WORD = 400
_LINES_TRIED = 1_500

_SHOWN_LINES = 20
_SHOWN_CHARACTERS = 200

_WORD = re.compile(r"\w{2,}")


@frozen
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


MOST_REPLACEMENTS = 10_000
"""Most occurrences that one ``replace_all`` replaces."""

MOST_TOLERANT_LINES = 500_000
"""A file with more lines is matched exactly, never tolerantly."""

_LISTED = 20
"""Most places of an ambiguous text that the error lists."""


class EditError(ToolError):
    """An edit that cannot be applied; the message says how to call again."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem} Nothing was changed.")


@frozen
class Edit:
    """Replace ``old_text``, which occurs exactly once, with ``new_text``; both are literal.

    ``replace_all`` replaces every exact occurrence.
    """

    old_text: str
    new_text: str
    replace_all: bool = False


@frozen
class EditOutcome:
    """The text after all edits, the number of replacements, and notes for the model."""

    text: str
    count: int
    notes: tuple[str, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()
    """The first and last line of each replacement in the text before, from 1."""


def apply_edits(text: str, edits: Sequence[Edit], path: str) -> EditOutcome:
    """Return the text with all edits applied; each is matched against the original text.

    Args:
        text: the whole file from ``text_file.decode``, with its BOM and line ends.
        path: the name of the file in messages.

    Raises:
        EditError: an edit cannot be applied, or two overlap.
    """
    if not edits:
        raise EditError("edits must contain at least one replacement.")
    bom = BOM if text.startswith(BOM) else ""
    raw = text.removeprefix(BOM)
    file = normalize_newlines(raw)
    matcher = _Matcher(file, path, bom=bool(bom))
    replacements = [r for index, edit in enumerate(edits) for r in matcher.find(index, edit)]
    replacements.sort(key=lambda replacement: (replacement.start, replacement.end))
    _refuse_overlaps(replacements, path)
    return EditOutcome(
        text=bom + splice(raw, file, replacements),
        count=len(replacements),
        notes=tuple(matcher.notes),
        lines=tuple(_line_ranges(file.text, replacements)),
    )


def _line_ranges(text: str, replacements: Sequence[TextReplacement]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each replacement, in order."""
    line, offset = 1, 0
    for replacement in replacements:
        start, end = replacement.start, replacement.end
        line += text.count("\n", offset, start)
        offset = start
        yield line, line + text.count("\n", start, max(end - 1, start))


def _refuse_overlaps(replacements: list[TextReplacement], path: str) -> None:
    for replacement, following in pairwise(replacements):
        if following.start < replacement.end:
            first, second = sorted((replacement.edit, following.edit))
            both = f"edits[{first}] and edits[{second}]"
            raise EditError(f"{both} overlap in {path}. Merge them into one edit.")


class _Matcher:
    """Finds the places of edits in one file."""

    def __init__(self, file: NormalizedLines, path: str, *, bom: bool) -> None:
        self.notes: list[str] = []
        self._text = file.text
        self._kind = file.kind
        self._bom = bom
        self._path = path
        self._normalized_text: NormalizedText | None = None

    def find(self, index: int, edit: Edit) -> list[TextReplacement]:
        """Return the replacements of one edit; raises EditError."""
        quote = self._check(index, edit)
        if edit.replace_all:
            replacements = self._replace_all(index, quote)
            if replacements:
                return replacements
        places = list(islice(_occurrences(self._text, quote.old), MOST_REPLACEMENTS + 1))
        if len(places) > 1:
            raise self._ambiguous_error(index, places)
        if places:
            return [TextReplacement(index, places[0], places[0] + len(quote.old), quote.new)]
        return [self._match_tolerantly(index, quote, edit.replace_all)]

    def _check(self, index: int, edit: Edit) -> EditText:
        """Return the texts in the form to compare; raises EditError if they are invalid."""
        quote = self._without_bom(self._plain(edit.old_text), edit.new_text)
        problem = self._problem(quote)
        if problem:
            raise EditError(f"edits[{index}]: {problem}")
        return quote

    def _problem(self, quote: EditText) -> str:
        if not quote.old:
            return "old_text is empty. Use write to create or replace a whole file."
        if quote.old == quote.new:
            return "old_text and new_text are identical."
        if has_surrogates(quote.new):
            return "new_text holds lone surrogates, which are not text."
        if not quote.new.isascii() and has_surrogates(self._text):
            return f"{self._path} is not valid UTF-8, so new_text may hold ASCII only."
        return ""

    def _without_bom(self, old: str, new: str) -> EditText:
        """Return the texts without the BOM, which never changes."""
        new = self._plain(new) if self._kind else new
        if old.startswith(BOM) and (self._bom or old not in self._text):
            return EditText(old.removeprefix(BOM), new.removeprefix(BOM))
        return EditText(old, new.removeprefix(BOM) if self._bom else new)

    def _plain(self, text: str) -> str:
        plain = text.replace("\r\n", "\n")
        return plain.replace("\r", "\n") if self._kind == "\r" else plain

    def _replace_all(self, index: int, quote: EditText) -> list[TextReplacement]:
        count = self._text.count(quote.old)
        if count > MOST_REPLACEMENTS:
            problem = f"old_text matches {count} places in {self._path}"
            limit = f"over the limit of {MOST_REPLACEMENTS}"
            raise EditError(f"edits[{index}]: {problem}, {limit}.")
        end, replacements = 0, []
        for start in _occurrences(self._text, quote.old):
            if start >= end:
                end = start + len(quote.old)
                replacements.append(TextReplacement(index, start, end, quote.new))
        return replacements

    def _match_tolerantly(self, index: int, quote: EditText, replace_all: bool) -> TextReplacement:
        if self._text.count("\n") > MOST_TOLERANT_LINES:
            raise EditError(f"edits[{index}]: old_text not found in {self._path}.")
        matches = find_fuzzy_matches(self._normalized, quote, _LISTED + 1)
        if len(matches) > 1 and not replace_all:
            raise self._ambiguous_error(index, [match.start for match in matches])
        if len(matches) != 1:
            raise self._not_found_error(index, quote.old)
        replacement = self._replacement(index, quote, matches[0])
        line = self._line(matches[0].start)
        if self._text[replacement.start : replacement.end] == replacement.text:
            problem = f"edits[{index}]: {self._path} has new_text at line {line} already."
            raise EditError(problem)
        self.notes.append(
            f"edits[{index}] matched tolerantly at line {line}: the file's own indentation, "
            "characters and line ends were kept."
        )
        return replacement

    def _replacement(self, index: int, quote: EditText, match: FuzzyMatch) -> TextReplacement:
        """Return the replacement in the file's own style, with its final newline unchanged."""
        old, new, start = quote.old, quote.new, match.start
        found = self._text[start : match.end]
        if match.open_end:
            old = old.removesuffix("\n")
            if not new and self._text[:start].endswith("\n"):
                start, old, found = start - 1, "\n" + old, "\n" + found
            new = new.removesuffix("\n")
        elif match.end == len(self._text) and old.endswith("\n") and new:
            new = new.removesuffix("\n") + "\n"
        text = rewrite(old, found, new, match.indentation, whole_line=match.whole_line)
        return TextReplacement(edit=index, start=start, end=match.end, text=text)

    @property
    def _normalized(self) -> NormalizedText:
        if self._normalized_text is None:
            self._normalized_text = NormalizedText(self._text)
        return self._normalized_text

    def _line(self, offset: int) -> int:
        return self._text.count("\n", 0, offset) + 1

    def _ambiguous_error(self, index: int, places: list[int]) -> EditError:
        lines = ", ".join(str(self._line(place)) for place in places[:_LISTED])
        more = ", …" if len(places) > _LISTED else ""
        number = f"over {MOST_REPLACEMENTS}" if len(places) > MOST_REPLACEMENTS else len(places)
        problem = f"old_text matches {number} places in {self._path} (lines {lines}{more})"
        advice = "Give more surrounding text, or set replace_all."
        return EditError(f"edits[{index}]: {problem}. {advice}")

    def _not_found_error(self, index: int, old: str) -> EditError:
        problem = f"edits[{index}]: old_text not found in {self._path}."
        closest = find_closest(self._normalized, old)
        if closest is None:
            return EditError(problem)
        return EditError(f"{problem} Closest match at line {closest.line}:\n{closest.text}\n")


def _occurrences(text: str, part: str) -> Iterator[int]:
    """Yield the offsets of ``part``, overlapping occurrences included.

    Leaves out those that end between a letter and its accent, which would move to the new text.
    """
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        if text.isascii() or not _is_one_letter(text[end - 1 : end + 1]):
            yield start
        start = text.find(part, start + 1)


def _is_one_letter(pair: str) -> bool:
    """Whether two characters are a letter and its accent."""
    return len(pair) == 2 and len(unicodedata.normalize("NFC", pair)) == 1
