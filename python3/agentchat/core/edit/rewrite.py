"""Fit the new text of an edit to the file: indentation, line ends, unchanged bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from agentchat.core.diff.line_diff import diff_lines, split_words
from agentchat.core.diff.text_file import NormalizedLines
from agentchat.core.edit.indent import Indentation
from agentchat.core.edit.normalize import normalize, split_indent
from agentchat.core.frozen import frozen

_BLANK_RUN = re.compile(r"[^\S\n]+")
_LONGEST_LINE = 2_000
_LONGEST_WORD = 200
"""Characters; a longer changed line or word is used as sent."""


def rewrite(
    old: str, original: str, new: str, indentation: Indentation, *, whole_line: bool
) -> str:
    """Return ``new`` in the style of the file.

    Lines that are the same in ``old`` and ``new`` keep the file's bytes, and so do the unchanged
    words of a changed line; changed lines get the file's indentation.

    Args:
        old, new: the quote and its replacement.
        original: the file's text for ``old``, with as many newlines.
        whole_line: whether ``original`` begins at the start of a line.
    """
    old_lines, original_lines, new_lines = old.split("\n"), original.split("\n"), new.split("\n")
    pairs = list(zip(old_lines, original_lines, strict=False))
    lines: list[str] = []
    position = 0
    for change in diff_lines(old_lines, new_lines):
        lines += original_lines[position : change.a_start]
        replaced = pairs[change.a_start : change.a_end]
        for row, line in enumerate(new_lines[change.b_start : change.b_end]):
            before = replaced[row] if row < len(replaced) else None
            partial = change.b_start + row == 0 and not whole_line
            lines.append(_rewrite_line(line, before, None if partial else indentation))
        position = change.a_end
    return "\n".join(lines + original_lines[position:])


def _rewrite_line(
    line: str, before: tuple[str, str] | None, indentation: Indentation | None
) -> str:
    """Return a new line in the file's style; ``before`` is the line of ``old`` and of the file."""
    if indentation is None:
        return _keep_words(*before, line) if before else line
    indent, body = split_indent(line)
    if not body:
        return line
    file_indent = indentation.convert(indent)
    if before:
        (old_indent, old_body), (original_indent, original_body) = map(split_indent, before)
        body = _keep_words(old_body.rstrip(" \t"), original_body.rstrip(" \t"), body)
        file_indent = original_indent if indent == old_indent else file_indent
    return file_indent + body


def _keep_words(old: str, original: str, new: str) -> str:
    """Return ``new`` with the file's own characters for the words it shares with ``old``."""
    if old == original or max(len(old), len(new)) > _LONGEST_LINE:
        return new
    old_words, new_words = split_words(old), split_words(new)
    ends = _word_ends(old_words, original)
    if ends is None:
        return new
    starts = [0, *ends]
    codes = SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes()
    return "".join(
        original[starts[i] : starts[i_end]] if name == "equal" else "".join(new_words[j:j_end])
        for name, i, i_end, j, j_end in codes
    )


def _word_ends(old: list[str], original: str) -> list[int] | None:
    """Return where each word of ``old`` ends in ``original``; ``None`` if they cannot be paired."""
    ends: list[int] = []
    end = 0
    for word in old:
        end = _word_end(word, original, end)
        if end < 0:
            return None
        ends.append(end)
    return ends if original[end:].strip() == "" else None


def _word_end(word: str, original: str, start: int) -> int:
    """Return the end of the word that begins at ``start`` and looks like ``word``; -1 if none."""
    if word.isspace():
        blanks = _BLANK_RUN.match(original, start)
        return blanks.end() if blanks else -1
    if original.startswith(word, start) and not _has_accent(original, start + len(word)):
        return start + len(word)
    if len(word) > _LONGEST_WORD:
        return -1
    plain = normalize(word)
    for end in range(start + 1, min(len(original), start + 2 * len(word) + 4) + 1):
        if normalize(original[start:end]) == plain and not _has_accent(original, end):
            return end
    return -1


def _has_accent(text: str, end: int) -> bool:
    return end < len(text) and unicodedata.combining(text[end]) != 0


@frozen
class TextReplacement:
    """One replacement: offsets and text with plain newlines; ``edit`` is the index of its edit."""

    edit: int
    start: int
    end: int
    text: str


def splice(raw: str, file: NormalizedLines, replacements: Sequence[TextReplacement]) -> str:
    """Return ``raw`` with the replacements applied.

    Args:
        raw: the text of the file.
        file: the same text with plain newlines, to which the offsets refer.
        replacements: in order, not overlapping.
    """
    pieces: list[str] = []
    position = 0
    for replacement in replacements:
        pieces.append(raw[position : file.raw_offset(replacement.start)])
        pieces.append(_with_line_ends(file, replacement))
        position = file.raw_offset(replacement.end)
    return "".join([*pieces, raw[position:]])


def _with_line_ends(file: NormalizedLines, replacement: TextReplacement) -> str:
    if file.kind != "mixed":
        return replacement.text.replace("\n", file.kind or "\n")
    lines = replacement.text.split("\n")
    ends = list(_line_ends(file, replacement, lines))
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def _line_ends(
    file: NormalizedLines, replacement: TextReplacement, lines: list[str]
) -> Iterator[str]:
    """Yield a line end for each newline: that of the replaced line, else the one before it."""
    old = file.text[replacement.start : replacement.end].split("\n")
    old_rows = _corresponding_rows(old, lines)
    old_ends: list[str] = []
    offset = replacement.start
    for line in old[:-1]:
        old_ends.append(file.end_at(offset + len(line)))
        offset += len(line) + 1
    end = _neighbouring_end(file, replacement.start)
    for row in range(len(lines) - 1):
        old_row = old_rows.get(row, len(old_ends))
        end = old_ends[old_row] if old_row < len(old_ends) else end
        yield end


def _corresponding_rows(old: list[str], new: list[str]) -> dict[int, int]:
    """Return for rows of ``new`` the row of ``old`` that they equal or replace."""
    rows: dict[int, int] = {}
    i, j = 0, 0
    for change in diff_lines(old, new):
        rows.update(zip(range(j, change.b_start), range(i, change.a_start), strict=True))
        replaced = range(change.a_start, change.a_end)
        rows.update(zip(range(change.b_start, change.b_end), replaced, strict=False))
        i, j = change.a_end, change.b_end
    rows.update(zip(range(j, len(new)), range(i, len(old)), strict=True))
    return rows


def _neighbouring_end(file: NormalizedLines, offset: int) -> str:
    """Return the line end before an offset, else the one after it."""
    before = file.text.rfind("\n", 0, offset)
    if before >= 0:
        return file.end_at(before)
    after = file.text.find("\n", offset)
    return file.end_at(after) if after >= 0 else "\n"
