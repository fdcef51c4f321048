"""Replacements put into a file's text: every other byte stays, line ends follow the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentchat.core.diff.line_diff import diff_lines
from agentchat.core.diff.text_file import NormalizedLines


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
