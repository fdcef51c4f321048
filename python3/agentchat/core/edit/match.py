"""Old text → exactly one place in a file, or an error that says how to call again."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from agentchat.core.diff.text_file import BOM, NormalizedLines, has_surrogates, normalize_newlines
from agentchat.core.edit.closest import find_closest
from agentchat.core.edit.fuzzy import EditText, FuzzyMatch, find_fuzzy_matches
from agentchat.core.edit.normalize import NormalizedText
from agentchat.core.edit.rewrite import TextReplacement, rewrite, splice
from agentchat.core.errors import ToolError

MOST_REPLACEMENTS = 10_000
"""Occurrences that one ``replace_all`` may replace."""

MOST_TOLERANT_LINES = 500_000
"""A file of more lines (a table of data, perhaps) is matched to the letter only."""

_LISTED = 20
"""Places of an ambiguous text whose lines are named."""


class EditError(ToolError):
    """An edit that cannot be made; nothing was changed, and the message says how to call again."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem} Nothing was changed.")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``old_text``, which stands in exactly one place, by ``new_text``.

    ``replace_all`` replaces every exact occurrence, however many. Both texts are literal.
    """

    old_text: str
    new_text: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """The text after all edits, the number of replacements, and what the model must know."""

    text: str
    count: int
    notes: tuple[str, ...] = ()
    lines: tuple[tuple[int, int], ...] = ()
    """The first and last line of each replacement in the text before, from 1."""


def apply_edits(text: str, edits: Sequence[Edit], path: str) -> EditOutcome:
    """Return the text with all edits made; each is matched against the text as it was.

    Args:
        text: the whole file as ``textfile.decode`` gives it: with its BOM and line ends.
        path: what the messages call the file.

    Raises:
        EditError: one of the edits cannot be made, or two overlap.
    """
    if not edits:
        raise EditError("edits must contain at least one replacement.")
    bom = BOM if text.startswith(BOM) else ""
    raw = text.removeprefix(BOM)
    file = normalize_newlines(raw)
    matcher = _Matcher(file, path, bom=bool(bom))
    found = [one for index, edit in enumerate(edits) for one in matcher.find(index, edit)]
    found.sort(key=lambda one: (one.start, one.end))
    _refuse_overlaps(found, path)
    text = bom + splice(raw, file, found)
    return EditOutcome(text, len(found), tuple(matcher.notes), tuple(_lines(file.text, found)))


def _lines(text: str, found: Sequence[TextReplacement]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each replacement; they come in order."""
    line, at = 1, 0
    for one in found:
        line += text.count("\n", at, one.start)
        at = one.start
        yield line, line + text.count("\n", one.start, max(one.end - 1, one.start))


def _refuse_overlaps(found: list[TextReplacement], path: str) -> None:
    for one, other in pairwise(found):
        if other.start < one.end:
            first, second = sorted((one.edit, other.edit))
            both = f"edits[{first}] and edits[{second}]"
            raise EditError(f"{both} overlap in {path}. Merge them into one edit.")


class _Matcher:
    """Finds the places of edits in one file, and words the errors."""

    def __init__(self, file: NormalizedLines, path: str, *, bom: bool) -> None:
        self.notes: list[str] = []
        self._text = file.text
        self._kind = file.kind
        self._bom = bom
        self._path = path
        self._folded_text: NormalizedText | None = None

    def find(self, index: int, edit: Edit) -> list[TextReplacement]:
        """Return the replacements of one edit; raises EditError."""
        quote = self._checked(index, edit)
        if edit.replace_all:
            everywhere = self._everywhere(index, quote)
            if everywhere:
                return everywhere
        places = list(islice(_occurrences(self._text, quote.old), MOST_REPLACEMENTS + 1))
        if len(places) > 1:
            raise self._ambiguous(index, places)
        if places:
            return [TextReplacement(index, places[0], places[0] + len(quote.old), quote.new)]
        return [self._tolerant(index, quote, edit.replace_all)]

    def _checked(self, index: int, edit: Edit) -> EditText:
        """Return the texts as they are compared; raises EditError if they can mean nothing."""
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
            return "new_text holds lone surrogates, which are no text."
        if not quote.new.isascii() and has_surrogates(self._text):
            return f"{self._path} is not valid UTF-8, so new_text may hold ASCII only."
        return ""

    def _without_bom(self, old: str, new: str) -> EditText:
        """Return the texts without the BOM, which stays where it is in any case."""
        new = self._plain(new) if self._kind else new
        if old.startswith(BOM) and (self._bom or old not in self._text):
            return EditText(old.removeprefix(BOM), new.removeprefix(BOM))
        return EditText(old, new.removeprefix(BOM) if self._bom else new)

    def _plain(self, text: str) -> str:
        plain = text.replace("\r\n", "\n")
        return plain.replace("\r", "\n") if self._kind == "\r" else plain

    def _everywhere(self, index: int, quote: EditText) -> list[TextReplacement]:
        count = self._text.count(quote.old)
        if count > MOST_REPLACEMENTS:
            problem = f"old_text matches {count} places in {self._path}"
            limit = f"over the limit of {MOST_REPLACEMENTS}"
            raise EditError(f"edits[{index}]: {problem}, {limit}.")
        size, end, found = len(quote.old), 0, []
        for at in _occurrences(self._text, quote.old):
            if at >= end:
                end = at + size
                found.append(TextReplacement(index, at, end, quote.new))
        return found

    def _tolerant(self, index: int, quote: EditText, replace_all: bool) -> TextReplacement:
        if self._text.count("\n") > MOST_TOLERANT_LINES:
            raise EditError(f"edits[{index}]: old_text not found in {self._path}.")
        found = find_fuzzy_matches(self._folded, quote, _LISTED + 1)
        if len(found) > 1 and not replace_all:
            raise self._ambiguous(index, [fit.start for fit in found])
        if len(found) != 1:
            raise self._not_found(index, quote.old)
        made = self._fitted(index, quote, found[0])
        line = self._line(found[0].start)
        if self._text[made.start : made.end] == made.text:
            problem = f"edits[{index}]: {self._path} has new_text at line {line} already."
            raise EditError(problem)
        self.notes.append(
            f"edits[{index}] matched tolerantly at line {line}: the file's own indentation, "
            "characters and line ends were kept."
        )
        return made

    def _fitted(self, index: int, quote: EditText, fit: FuzzyMatch) -> TextReplacement:
        """Return the replacement in the file's own style, its final newline as it was."""
        old, new, start = quote.old, quote.new, fit.start
        found = self._text[start : fit.end]
        if fit.open_end:
            old = old.removesuffix("\n")
            if not new and self._text[:start].endswith("\n"):
                start, old, found = start - 1, "\n" + old, "\n" + found
            new = new.removesuffix("\n")
        elif fit.end == len(self._text) and old.endswith("\n") and new:
            new = new.removesuffix("\n") + "\n"
        text = rewrite(old, found, new, fit.indentation, whole_line=fit.whole_line)
        return TextReplacement(index, start, fit.end, text)

    @property
    def _folded(self) -> NormalizedText:
        if self._folded_text is None:
            self._folded_text = NormalizedText(self._text)
        return self._folded_text

    def _line(self, offset: int) -> int:
        return self._text.count("\n", 0, offset) + 1

    def _ambiguous(self, index: int, places: list[int]) -> EditError:
        lines = ", ".join(str(self._line(at)) for at in places[:_LISTED])
        more = ", …" if len(places) > _LISTED else ""
        number = f"over {MOST_REPLACEMENTS}" if len(places) > MOST_REPLACEMENTS else len(places)
        problem = f"old_text matches {number} places in {self._path} (lines {lines}{more})"
        advice = "Give more surrounding text, or set replace_all."
        return EditError(f"edits[{index}]: {problem}. {advice}")

    def _not_found(self, index: int, old: str) -> EditError:
        problem = f"edits[{index}]: old_text not found in {self._path}."
        closest = find_closest(self._folded, old)
        if closest is None:
            return EditError(problem)
        return EditError(f"{problem} Closest match at line {closest.line}:\n{closest.text}\n")


def _occurrences(text: str, part: str) -> Iterator[int]:
    """Yield where ``part`` stands, overlapping occurrences too.

    Not where it ends between a letter and its accent: the accent would land on the new text.
    """
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if text.isascii() or not _is_one_letter(text[end - 1 : end + 1]):
            yield at
        at = text.find(part, at + 1)


def _is_one_letter(pair: str) -> bool:
    """Whether two characters are a letter and its accent."""
    return len(pair) == 2 and len(unicodedata.normalize("NFC", pair)) == 1
