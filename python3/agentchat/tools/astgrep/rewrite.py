"""Make a change of the matches of patterns, and describe it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from agentchat.core.diff.changeset import FileChange, line_edits
from agentchat.core.diff.text_file import BOM, split_lines
from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.text import escape_line
from agentchat.tools.astgrep.program import Match, Op
from agentchat.tools.format import count_summary

_VARIABLE = re.compile(r"(\$\$\$|\$)([A-Z_][A-Z0-9_]*)")


@frozen
class Rewrite:
    """One file with its matches in order, and its bytes before."""

    path: str
    shown: str
    before: bytes
    matches: tuple[Match, ...]

    def change(self) -> FileChange:
        """Return the file's change; every byte outside the matches stays."""
        parts: list[bytes] = []
        end = 0
        for match in self.matches:
            parts += (self.before[end : match.start], match.replacement.encode())
            end = match.end
        after = b"".join([*parts, self.before[end:]])
        return FileChange(self.path, self.before, after, self.shown)

    def within(self, change: FileChange) -> Rewrite:
        """Return the rewrite with only the matches in lines that the change changes.

        If the change begins with another text, all are kept.
        """
        if change.before != self.before:
            return self
        old, new = (split_lines((side or b"").decode()) for side in (change.before, change.after))
        spans = [range(first + 1, last + 1) for first, last, _ in line_edits(old, new)]
        kept = (m for m in self.matches if any(self._touches(m, span) for span in spans))
        return replace(self, matches=tuple(kept))

    def _touches(self, match: Match, span: range) -> bool:
        first, last = (position(self.before, offset)[0] for offset in (match.start, match.end))
        return first < span.stop and last >= span.start

    def lines(self) -> Iterator[str]:
        """Yield the preview: the file, then each match as ``-LINE:COL`` and ``+LINE:COL``."""
        yield f"# {escape_line(self.shown)} ({count_summary(len(self.matches), 'replacement')})"
        for match in self.matches:
            line, column = position(self.before, match.start)
            for sign, text in (("-", match.text), ("+", match.replacement)):
                for index, part in enumerate(text.splitlines() or [""]):
                    yield f"{sign}{line + index}:{1 if index else column} {part}"


def check_ops(ops: Sequence[Op]) -> None:
    """Raise ToolError for invalid ops."""
    if not ops:
        raise ToolError("ops needs at least one entry with pat and out.")
    seen: set[str] = set()
    for index, op in enumerate(ops):
        if not op.pat.strip():
            raise ToolError(f"ops[{index}].pat must be a non-empty pattern")
        if op.pat in seen:
            raise ToolError(f"Duplicate rewrite pattern: {op.pat}")
        seen.add(op.pat)
        _check_variables(index, op)


def _check_variables(index: int, op: Op) -> None:
    """Raise ToolError if ``out`` uses a variable that ``pat`` does not capture: it is empty."""
    captured = {variable[0] for variable in _VARIABLE.finditer(op.pat) if variable[2][0] != "_"}
    for variable in _VARIABLE.finditer(op.out):
        if variable[0] not in captured:
            name = f"ops[{index}]"
            raise ToolError(f"{name}.out uses {variable[0]}, which {name}.pat does not capture.")


def drop_no_ops(matches: Sequence[Match], shown: str, before: bytes) -> tuple[Match, ...]:
    """Return the matches that change something, in order, each once.

    Raises:
        ToolError: two of them overlap.
    """
    changing = {match for match in matches if match.text != match.replacement}
    ordered = sorted(changing, key=lambda match: (match.start, -match.end, match.op))
    for match, following in pairwise(ordered):
        if following.start < match.end:
            line, _ = position(before, following.start)
            ops = sorted({match.op, following.op})
            raise ToolError(_overlap_message(ops, f"{shown}:{line}"))
    return tuple(ordered)


def _overlap_message(ops: list[int], place: str) -> str:
    if len(ops) == 1:
        problem = f"ops[{ops[0]}] matches inside another match of itself at {place}."
        return f"{problem} Rewrite the inner one first, with a pattern that matches only it."
    problem = f"ops[{ops[0]}] and ops[{ops[1]}] overlap at {place}."
    return f"{problem} Make them one op, or stage one after the other."


def is_unchanged(match: Match, before: bytes) -> bool:
    """Whether the bytes at the match are still the text that was searched."""
    return before[match.start : match.end] == match.text.encode("utf-8", "surrogateescape")


def position(data: bytes, offset: int) -> tuple[int, int]:
    """Return line and column (in characters), both from 1, of an offset in bytes."""
    start = data.rfind(b"\n", 0, offset) + 1
    before = data[start:offset].decode("utf-8", "surrogateescape")
    if start == 0:
        before = before.removeprefix(BOM)
    return data.count(b"\n", 0, start) + 1, len(before) + 1
