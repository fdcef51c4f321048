"""What a prompt or a review shows, as documents: diffs, commands, arguments, text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from agentchat.core.diff.changeset import (
    ChangeSet,
    FileChange,
    Hunk,
    HunkLine,
    count_lines,
    hunks,
    split_hunks,
)
from agentchat.core.diff.line_diff import WordSpan, changed_words
from agentchat.core.diff.text_file import split_lines
from agentchat.core.text import escape
from agentchat.core.turn.hunk_decisions import changed_lines, hunk_keys
from agentchat.nvim.render.styled_lines import Document, StyledLines
from agentchat.nvim.render.syntax import LONGEST_TEXT, HighlightSpan, highlight_code, language_of

__all__ = ["Document", "command_document", "diff_document", "json_document", "text_document"]

_MOST_PAIRS = 400
"""Changed lines of a hunk that are compared word by word."""

_GROUPS = {"+": "AgentChatAdd", "-": "AgentChatDelete", " ": ""}
_WORD_GROUPS = {"+": "AgentChatAddWord", "-": "AgentChatDeleteWord"}
_LABELS = {"A": "new file", "D": "deleted", "R": "renamed"}
_WIDEST_NAME = 60
"""Characters of a name in the list of files up to which the counts stand below each other."""
_CARRIAGE_RETURN = "\r"

Colours = dict[tuple[str, int], list[HighlightSpan]]
"""Tokens by side (``old`` or ``new``) and 1-based line number."""


def diff_document(change: ChangeSet, root: str) -> Document:
    """Return a change file by file and hunk by hunk, all of it.

    ``hunks`` of the document says which rows belong to which hunk: ``row`` of its header, number
    of ``rows``, ``path``, ``index``, ``first`` and ``last`` line in the file, a ``key`` that the
    same hunk has in another diff of the file, and where it has lines how many ``digits`` their
    numbers have, and ``parts`` where it can be split. Several files are listed first.
    """
    page = StyledLines()
    places: list[dict[str, Any]] = []
    if len(change.files) > 1:
        _add_list(page, change, root)
    for number, file in enumerate(change.files):
        if number:
            page.add("")
        places += _add_file(page, file, root)
    return {**page.document(), "hunks": places}


def command_document(command: str) -> Document:
    """Return a shell command in full."""
    return _code(command, "bash")


def json_document(arguments: Any) -> Document:
    """Return a call's arguments in full, one a line."""
    return _code(json.dumps(arguments, indent=2, ensure_ascii=False, default=str), "json")


def text_document(text: str) -> Document:
    """Return plain text."""
    return _code(text, "")


def _code(text: str, language: str) -> Document:
    page = StyledLines()
    lines = text.split("\n")
    for line, tokens in zip(lines, highlight_code(lines, language), strict=True):
        page.add(line, tokens)
    return page.document()


def _add_file(page: StyledLines, file: FileChange, root: str) -> list[dict[str, Any]]:
    page.add(f"{_named(file, root)}  {_facts(file)}", group="AgentChatFile")
    found = hunks(file)
    starts = []
    if not any(hunk.lines for hunk in found):
        starts.append(page.rows)
        page.add(_without_lines(file))
    else:
        starts += _add_hunks(page, file, found)
    places = zip(found, pairwise([*starts, page.rows]), hunk_keys(file), strict=False)
    return [
        _place(file, hunk, row, end, key) | _parts(file, hunk) for hunk, (row, end), key in places
    ]


def _parts(file: FileChange, hunk: Hunk) -> dict[str, Any]:
    """Return what a hunk can be split into, as ``parts``: each with its number of ``rows``."""
    if not hunk.splits:
        return {}
    found = hunks(split_hunks(file, {hunk.index}))
    parts = found[hunk.index : hunk.index + len(hunk.splits) + 1]
    return {"parts": [_part(part) for part in parts]}


def _part(part: Hunk) -> dict[str, Any]:
    first, last = changed_lines(part)
    rows = len(part.lines) + sum(not line.end for line in part.lines)
    return {"header": part.header, "rows": rows, "first": first, "last": last}


def _place(file: FileChange, hunk: Hunk, row: int, end: int, key: str) -> dict[str, Any]:
    first, last = changed_lines(hunk)
    digits = {"digits": _digits(hunks(file))} if hunk.lines else {}
    return {
        **digits,
        "row": row,
        "rows": end - row,
        "path": file.path,
        "index": hunk.index,
        "first": first,
        "last": last,
        "key": key,
    }


def _add_hunks(page: StyledLines, file: FileChange, found: Sequence[Hunk]) -> Iterator[int]:
    """Add the hunks; yield the row where each begins."""
    colours = _colours(file, found)
    ends = _mixed_ends(file)
    width = _digits(found)
    for hunk in found:
        yield page.rows
        page.add(hunk.header, group="AgentChatHunk")
        for line, tokens in _hunk_lines(hunk, colours):
            _add_line(page, line, tokens, width, ends)


def _digits(found: Sequence[Hunk]) -> int:
    """Return how many digits the greatest line number has."""
    ends = (max(h.old_start + h.old_count, h.new_start + h.new_count) for h in found)
    return len(str(max(ends)))


def _add_list(page: StyledLines, change: ChangeSet, root: str) -> None:
    """List the files with their counts."""
    page.add(change.summary(), group="AgentChatSummary")
    names = [escape(_named(file, root)) for file in change.files]
    width = min(max(map(len, names)), _WIDEST_NAME)
    for file, name in zip(change.files, names, strict=True):
        facts = _facts(file)
        row = f"  {name:<{width}}  "
        page.add(row + facts, [HighlightSpan(len(row), len(row) + len(facts), "AgentChatFact")])
    page.add("")


def _named(file: FileChange, root: str) -> str:
    return f"{file.letter} {file.shown or _relative(file.path, root)}"


def _facts(file: FileChange) -> str:
    """Return how many lines change, and what else is special about the change."""
    added, removed = count_lines(file)
    said = ["binary" if file.is_binary else f"+{added} -{removed}"]
    said += [label] if (label := _LABELS.get(file.letter)) else []
    said += [f"mode {file.mode:04o}"] if file.mode is not None else []
    return "  ".join(said)


def _relative(path: str, root: str) -> str:
    inside = root.rstrip("/") + "/"
    return path.removeprefix(inside) if path.startswith(inside) else path


def _without_lines(file: FileChange) -> str:
    if not file.is_binary:
        if file.before == file.after:
            return "(only the name changes)" if file.old_path else "(no change)"
        return "(empty file)"
    sizes = [len(side) for side in (file.before, file.after) if side is not None]
    sides = [f"{size} {'byte' if size == 1 else 'bytes'}" for size in sizes]
    return f"(binary file, {' → '.join(sides)})"


def _add_line(
    page: StyledLines, line: HunkLine, tokens: list[HighlightSpan], width: int, ends: bool
) -> None:
    old, new = ("" if number is None else str(number) for number in (line.old, line.new))
    gutter = f"{old:>{width}} {new:>{width}} {line.kind} "
    text = line.text + _CARRIAGE_RETURN if ends and line.end == "\r\n" else line.text
    page.add(text, tokens, gutter=gutter, group=_GROUPS[line.kind])
    if not line.end:
        page.add("\\ No newline at end of file", gutter=" " * len(gutter))


def _mixed_ends(file: FileChange) -> bool:
    """Whether line ends differ inside the file or by the change, and so must be seen."""
    lines = sum(side.count(b"\n") for side in (file.before or b"", file.after or b""))
    crlf = sum(side.count(b"\r\n") for side in (file.before or b"", file.after or b""))
    return 0 < crlf < lines


def _colours(file: FileChange, found: Sequence[Hunk]) -> Colours:
    """Return the colours of all lines shown, each side read as a whole where it is not too long."""
    shown = [line for hunk in found for line in hunk.lines]
    language = language_of(
        file.path, shown[0].text if shown[0].new == 1 or shown[0].old == 1 else ""
    )
    colours: Colours = {}
    for side, data in (("old", file.before), ("new", file.after)):
        if data and any(getattr(line, side) is not None for line in shown):
            colours.update(_side(side, data, shown, language))
    return colours


def _side(
    side: str, data: bytes, shown: Sequence[HunkLine], language: str
) -> Iterator[tuple[tuple[str, int], list[HighlightSpan]]]:
    some = {number: line.text for line in shown if (number := getattr(line, side)) is not None}
    whole = _up_to(max(some), data)
    if sum(map(len, whole)) <= LONGEST_TEXT:
        some = dict(enumerate(whole, start=1))
    for number, tokens in zip(some, highlight_code(list(some.values()), language), strict=True):
        yield (side, number), tokens


def _up_to(last: int, data: bytes) -> list[str]:
    """Return the lines up to number ``last``, which is all that its colours depend on."""
    lines = split_lines(data.decode("utf-8", "surrogateescape"))
    return [line.rstrip("\r\n") for line in lines[:last]]


def _hunk_lines(hunk: Hunk, colours: Colours) -> Iterator[tuple[HunkLine, list[HighlightSpan]]]:
    """Yield the lines with their tokens: colours first, changed words over them."""
    words = dict(_changed_words(hunk))
    for at, line in enumerate(hunk.lines):
        number = line.old if line.new is None else line.new
        tokens = colours.get(("old" if line.new is None else "new", number or 0), [])
        marks = [
            HighlightSpan(piece.start, piece.end, _WORD_GROUPS[line.kind])
            for piece in words.get(at, ())
        ]
        yield line, [*tokens, *marks]


def _changed_words(hunk: Hunk) -> Iterator[tuple[int, list[WordSpan]]]:
    """Yield the changed parts of removed and added lines that stand for each other."""
    runs = [
        (kind, [at for at, _ in run])
        for kind, run in groupby(enumerate(hunk.lines), key=lambda pair: pair[1].kind)
    ]
    budget = _MOST_PAIRS
    for (kind, removed), (next_kind, added) in pairwise(runs):
        if (kind, next_kind) != ("-", "+"):
            continue
        for old, new in list(zip(removed, added, strict=False))[:budget]:
            before, after = changed_words(hunk.lines[old].text, hunk.lines[new].text)
            yield old, before
            yield new, after
        budget = max(budget - min(len(removed), len(added)), 0)
