"""New text for a place that fits tolerantly: what did not change stays as the file has it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from agentchat.core.diff.line_diff import diff_lines, split_words
from agentchat.core.edit.indent import Indentation
from agentchat.core.edit.normalize import normalize, split_indent

_BLANK_RUN = re.compile(r"[^\S\n]+")
_LONGEST_LINE = 2_000
_LONGEST_WORD = 200
"""Characters; beyond them a changed line is taken as it was sent."""


def rewrite(old: str, found: str, new: str, indentation: Indentation, *, whole_line: bool) -> str:
    """Return ``new`` as it would stand in the file.

    Lines that are the same in ``old`` and ``new`` keep the file's bytes, and so do the unchanged
    words of a changed line; changed lines take the file's indentation.

    Args:
        old, new: the quote and what shall be there instead.
        found: the file's text for ``old``, with as many newlines.
        whole_line: whether ``found`` begins at the start of a line.
    """
    old_lines, found_lines, new_lines = old.split("\n"), found.split("\n"), new.split("\n")
    out: list[str] = []
    at = 0
    for change in diff_lines(old_lines, new_lines):
        out += found_lines[at : change.a_start]
        pairs = range(change.a_start, change.a_end)
        for row, line in enumerate(new_lines[change.b_start : change.b_end]):
            twin = pairs[row] if row < len(pairs) else None
            before = (old_lines[twin], found_lines[twin]) if twin is not None else None
            partial = change.b_start + row == 0 and not whole_line
            out.append(_line(line, before, None if partial else indentation))
        at = change.a_end
    return "\n".join(out + found_lines[at:])


def _line(line: str, before: tuple[str, str] | None, indentation: Indentation | None) -> str:
    if indentation is None:
        return _carried_over(*before, line) if before else line
    indent, body = split_indent(line)
    if not body:
        return line
    own = indentation.convert(indent)
    if before:
        (old_indent, old_body), (found_indent, found_body) = map(split_indent, before)
        body = _carried_over(old_body.rstrip(" \t"), found_body.rstrip(" \t"), body)
        own = found_indent if indent == old_indent else own
    return own + body


def _carried_over(old: str, found: str, new: str) -> str:
    """Return ``new`` with the file's own characters for the words it shares with ``old``."""
    if old == found or max(len(old), len(new)) > _LONGEST_LINE:
        return new
    old_words, new_words = split_words(old), split_words(new)
    ends = _word_ends(old_words, found)
    if ends is None:
        return new
    return "".join(_chosen(old_words, new_words, found, ends))


def _chosen(old: list[str], new: list[str], found: str, ends: Sequence[int]) -> Iterator[str]:
    starts = [0, *ends]
    for name, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield found[starts[i] : starts[i_end]] if name == "equal" else "".join(new[j:j_end])


def _word_ends(old: list[str], found: str) -> list[int] | None:
    """Return where each word of ``old`` ends in ``found``; ``None`` if they cannot be paired."""
    ends: list[int] = []
    at = 0
    for word in old:
        at = _end_of(word, found, at)
        if at < 0:
            return None
        ends.append(at)
    return ends if found[at:].strip() == "" else None


def _end_of(word: str, found: str, start: int) -> int:
    """Return the end of the word that begins at ``start`` and looks like ``word``; -1 if none."""
    if word.isspace():
        blanks = _BLANK_RUN.match(found, start)
        return blanks.end() if blanks else -1
    if found.startswith(word, start) and not _goes_on(found, start + len(word)):
        return start + len(word)
    if len(word) > _LONGEST_WORD:
        return -1
    plain = normalize(word)
    for end in range(start + 1, min(len(found), start + 2 * len(word) + 4) + 1):
        if normalize(found[start:end]) == plain and not _goes_on(found, end):
            return end
    return -1


def _goes_on(text: str, at: int) -> bool:
    return at < len(text) and unicodedata.combining(text[at]) != 0
