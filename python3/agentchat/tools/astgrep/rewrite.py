"""Matches of a pattern as a change: which may be made together, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agentchat.core.diff.changeset import FileChange, line_edits
from agentchat.core.diff.text_file import BOM, split_lines
from agentchat.core.errors import ToolError
from agentchat.tools.astgrep.program import Match, Op
from agentchat.tools.format import count_summary, escape_name

_VARIABLE = re.compile(r"(\$\$\$|\$)([A-Z_][A-Z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One file with its matches in order, and its bytes before."""

    path: str
    shown: str
    before: bytes
    matches: tuple[Match, ...]

    def change(self) -> FileChange:
        """Return the file's change; every byte outside the matches stays."""
        out: list[bytes] = []
        at = 0
        for match in self.matches:
            out += (self.before[at : match.start], match.replacement.encode())
            at = match.end
        after = b"".join([*out, self.before[at:]])
        return FileChange(self.path, self.before, after, self.shown)

    def within(self, change: FileChange) -> Rewrite:
        """Return the rewrite with those matches only that lie in lines the change changes.

        Of a change on top of another text nothing is known, and all are kept.
        """
        if change.before != self.before:
            return self
        old, new = (split_lines((side or b"").decode()) for side in (change.before, change.after))
        spans = [range(first + 1, last + 1) for first, last, _ in line_edits(old, new)]
        kept = (match for match in self.matches if any(self._touches(match, s) for s in spans))
        return replace(self, matches=tuple(kept))

    def _touches(self, match: Match, span: range) -> bool:
        first, last = (position(self.before, at)[0] for at in (match.start, match.end))
        return first < span.stop and last >= span.start

    def lines(self) -> Iterator[str]:
        """Yield the preview: the file, then each match as ``-LINE:COL`` and ``+LINE:COL``."""
        yield f"# {escape_name(self.shown)} ({count_summary(len(self.matches), 'replacement')})"
        for match in self.matches:
            line, column = position(self.before, match.start)
            for sign, text in (("-", match.text), ("+", match.replacement)):
                for ahead, part in enumerate(text.splitlines() or [""]):
                    yield f"{sign}{line + ahead}:{1 if ahead else column} {part}"


def check_ops(ops: Sequence[Op]) -> None:
    """Raise ToolError for ops that can mean nothing."""
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
    """Raise ToolError if ``out`` uses what ``pat`` does not capture: it would become nothing."""
    captured = {found.group() for found in _VARIABLE.finditer(op.pat) if found[2][0] != "_"}
    for found in _VARIABLE.finditer(op.out):
        if found.group() not in captured:
            name = f"ops[{index}]"
            raise ToolError(f"{name}.out uses {found.group()}, which {name}.pat does not capture.")


def drop_no_ops(matches: Sequence[Match], shown: str, before: bytes) -> tuple[Match, ...]:
    """Return the matches that change something, in order, each once.

    Raises:
        ToolError: two of them overlap.
    """
    changing = {match for match in matches if match.text != match.replacement}
    ordered = sorted(changing, key=lambda match: (match.start, -match.end, match.op))
    for one, other in pairwise(ordered):
        if other.start < one.end:
            line, _ = position(before, other.start)
            both = sorted({one.op, other.op})
            raise ToolError(_overlap(both, f"{shown}:{line}"))
    return tuple(ordered)


def _overlap(ops: list[int], place: str) -> str:
    if len(ops) == 1:
        problem = f"ops[{ops[0]}] matches inside another match of itself at {place}."
        return f"{problem} Rewrite the inner one first, with a pattern that matches only it."
    problem = f"ops[{ops[0]}] and ops[{ops[1]}] overlap at {place}."
    return f"{problem} Make them one op, or stage one after the other."


def is_unchanged(match: Match, before: bytes) -> bool:
    """Whether the match is where it was found: the bytes are the text that was searched."""
    return before[match.start : match.end] == match.text.encode("utf-8", "surrogateescape")


def position(data: bytes, offset: int) -> tuple[int, int]:
    """Return line and column (in characters), both from 1, of an offset in bytes."""
    start = data.rfind(b"\n", 0, offset) + 1
    before = data[start:offset].decode("utf-8", "surrogateescape")
    if start == 0:
        before = before.removeprefix(BOM)
    return data.count(b"\n", 0, start) + 1, len(before) + 1
