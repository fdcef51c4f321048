"""A change as lines of text: what each file is, and its hunks as in a unified diff."""

from __future__ import annotations

from collections.abc import Iterator

from agentchat.core.diff.aspects import split_aspect
from agentchat.core.diff.changeset import ChangeSet, FileChange, count_lines
from agentchat.core.diff.hunks import hunks
from agentchat.core.text import escape_hidden_characters, escape_line

MOST_LINES = 2_000
"""Lines of a diff in a chat; :AgentChanges has all."""
MOST_CHARACTERS = 200_000
NO_NEWLINE = "\\ No newline at end of file"

_LABELS = {"A": "new file", "D": "deleted", "R": "renamed"}
_MEMBERS = 50
"""Names of the files in a group that are shown."""


def diff_lines_of(change: ChangeSet) -> list[str]:
    """Return a change as lines, file by file; one that is too long ends with what is left out."""
    lines: list[str] = []
    size = left_out = 0
    for line in _lines(change):
        size += len(line)
        if len(lines) < MOST_LINES and size <= MOST_CHARACTERS:
            lines.append(line)
        else:
            left_out += 1
    return [*lines, f"[{left_out} more lines: see :AgentChanges]"] if left_out else lines


def count_text(change: ChangeSet) -> str:
    """Return how many lines a change adds and removes, like ``+3 -1``."""
    added, removed = change.counts()
    return f"+{added} -{removed}"


def file_title(file: FileChange, root: str = "") -> str:
    """Return what happens to a file, like ``M src/a.py``; below ``root`` a path is relative."""
    return f"{file.letter} {file.display_path or _relative(file.path, root)}"


def file_facts(file: FileChange) -> str:
    """Return how many lines change, and whether the file is new, deleted, binary and so on."""
    label = _LABELS.get(file.letter, "")
    if file.members:
        return f"{len(file.members)} files"
    if split_aspect(file.path)[1]:
        return "new" if file.letter == "A" else label
    added, removed = count_lines(file)
    facts = ["binary" if file.is_binary else f"+{added} -{removed}"]
    facts += [label] if label else []
    facts += [f"mode {file.mode:04o}"] if file.mode is not None else []
    return "  ".join(facts)


def lines_without_hunks(file: FileChange) -> list[str]:
    """Return what stands for a change that has no lines: of a group the names of its files."""
    lines = [f"  {escape_line(m.name)}" for m in file.members[:_MEMBERS]]
    rest = len(file.members) - _MEMBERS
    return [*lines, f"  and {rest} more"] if rest > 0 else lines or [_describe(file)]


def _lines(change: ChangeSet) -> Iterator[str]:
    if len(change.files) > 1:
        yield change.summary()
    for file in change.files:
        yield escape_line(f"{file_title(file)}  {file_facts(file)}")
        yield from _hunk_lines(file)


def _hunk_lines(file: FileChange) -> Iterator[str]:
    found = hunks(file)
    if not any(hunk.lines for hunk in found):
        yield from lines_without_hunks(file)
        return
    for hunk in found:
        yield hunk.header
        for line in hunk.lines:
            yield line.kind + escape_hidden_characters(line.text)
            if not line.end:
                yield NO_NEWLINE


def _relative(path: str, root: str) -> str:
    inside = root.rstrip("/") + "/"
    return path.removeprefix(inside) if path.startswith(inside) else path


def _describe(file: FileChange) -> str:
    if not file.is_binary:
        if file.before == file.after:
            return "(only the name changes)" if file.old_path else "(no change)"
        return "(empty file)"
    sizes = [len(side) for side in (file.before, file.after) if side is not None]
    sides = [f"{size} {'byte' if size == 1 else 'bytes'}" for size in sizes]
    return f"(binary file, {' → '.join(sides)})"
