"""The new text of an edit, fitted to the file: indentation, line ends, unchanged bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agentchat.core.diff.line_diff import diff_lines, split_words
from agentchat.core.diff.text_file import NormalizedLines
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


@dataclass(frozen=True, slots=True)
class TextReplacement:
    """One place and what will stand there: offsets and text with plain newlines.

    ``edit`` is the index of the edit that asked for it.
    """

    edit: int
    start: int
    end: int
    text: str


def splice(raw: str, file: NormalizedLines, replacements: Sequence[TextReplacement]) -> str:
    """Return ``raw`` with the replacements made.

    Args:
        raw: the text as it is in the file.
        file: the same with plain newlines; the replacements' offsets count in it.
        replacements: in order, not overlapping.
    """
    out: list[str] = []
    at = 0
    for one in replacements:
        out += (raw[at : file.raw_offset(one.start)], _with_line_ends(file, one))
        at = file.raw_offset(one.end)
    return "".join([*out, raw[at:]])


def _with_line_ends(file: NormalizedLines, one: TextReplacement) -> str:
    if file.kind != "mixed":
        return one.text.replace("\n", file.kind or "\n")
    lines = one.text.split("\n")
    ends = list(_line_ends(file, one, lines))
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def _line_ends(file: NormalizedLines, one: TextReplacement, lines: list[str]) -> Iterator[str]:
    """Yield a line end for each newline: that of the line it replaces, else of its neighbour."""
    old = file.text[one.start : one.end].split("\n")
    twins = _twins(old, lines)
    own: list[str] = []
    at = one.start
    for line in old[:-1]:
        own.append(file.end_at(at + len(line)))
        at += len(line) + 1
    end = _neighbour(file, one)
    for row in range(len(lines) - 1):
        twin = twins.get(row, len(own))
        end = own[twin] if twin < len(own) else end
        yield end


def _twins(old: list[str], new: list[str]) -> dict[int, int]:
    """Return for lines of ``new`` the line of ``old`` that they are, or stand in for."""
    twins: dict[int, int] = {}
    at, row = 0, 0
    for change in diff_lines(old, new):
        twins.update(zip(range(row, change.b_start), range(at, change.a_start), strict=True))
        replaced = range(change.a_start, change.a_end)
        twins.update(zip(range(change.b_start, change.b_end), replaced, strict=False))
        at, row = change.a_end, change.b_end
    twins.update(zip(range(row, len(new)), range(at, len(old)), strict=True))
    return twins


def _neighbour(file: NormalizedLines, one: TextReplacement) -> str:
    before = file.text.rfind("\n", 0, one.start)
    if before >= 0:
        return file.end_at(before)
    behind = file.text.find("\n", one.start)
    return file.end_at(behind) if behind >= 0 else "\n"
