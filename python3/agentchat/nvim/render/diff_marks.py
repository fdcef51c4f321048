"""The colours of a diff in a chat: of its code, and of the words that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentchat.core.diff.hunks import Hunk, HunkLine
from agentchat.nvim.render.diff import changed_word_spans
from agentchat.nvim.render.syntax import (
    HighlightSpan,
    byte_marks,
    highlight_code,
    language_of,
)

CHANGE = "change"
"""What such a diff is asked for as, in the place of a language."""

_SIDES = {"old": "- ", "new": "+ "}


def diff_marks(lines: Sequence[str]) -> list[str]:
    """Return the marks of each line of a diff, see ``core.diff.diff_text``."""
    spans: list[list[HighlightSpan]] = [[] for _ in lines]
    for first, last, name in _hunks(lines):
        for number, found in enumerate(_hunk_spans(lines[first:last], language_of(name)), first):
            spans[number] = found
    return [byte_marks(line, found) for line, found in zip(lines, spans, strict=True)]


def _hunks(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of each hunk, without its header, and the name of its file."""
    name, first = "", -1
    for number, line in enumerate([*lines, ""]):
        if line[:1] in ("+", "-", " ", "\\") and number < len(lines):
            continue
        if first >= 0:
            yield first, number, name
        first = number + 1 if line.startswith("@@ ") else -1
        if first < 0 and line:
            name = line[2:].partition("  ")[0]


def _hunk_spans(lines: Sequence[str], language: str) -> list[list[HighlightSpan]]:
    words = dict(changed_word_spans(_as_hunk(lines)))
    spans = [[*_moved(words.get(index, ()))] for index in range(len(lines))]
    for signs in _SIDES.values():
        side = [index for index, line in enumerate(lines) if line[:1] in signs]
        code = highlight_code([lines[index][1:] for index in side], language)
        for index, tokens in zip(side, code, strict=True):
            if lines[index][:1] != " " or signs == _SIDES["new"]:
                spans[index] = [*_moved(tokens), *spans[index]]
    return spans


def _moved(spans: Sequence[HighlightSpan]) -> list[HighlightSpan]:
    """Return the spans behind the sign of the line."""
    return [HighlightSpan(span.start + 1, span.end + 1, span.group) for span in spans]


def _as_hunk(lines: Sequence[str]) -> Hunk:
    found = (HunkLine(line[:1], line[1:], "\n", None, None) for line in lines)
    return Hunk(0, 0, 0, 0, 0, tuple(found))
