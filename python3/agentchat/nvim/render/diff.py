"""Documents for approval requests and reviews: diffs, commands, arguments, text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from types import MappingProxyType
from typing import Any

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.diff.diff_text import NO_NEWLINE, file_facts, file_title, lines_without_hunks
from agentchat.core.diff.hunks import Hunk, HunkLine, hunks, split_hunks
from agentchat.core.diff.line_diff import WordSpan, changed_words
from agentchat.core.diff.text_file import split_lines
from agentchat.core.text import escape_character, escape_line, hidden_character_offsets
from agentchat.core.turn.hunk_decisions import hunk_keys, hunk_line_range
from agentchat.nvim.render.syntax import LONGEST_TEXT, HighlightSpan, highlight_code, language_of

Document = dict[str, Any]
"""``lines``, ``marks`` of each line and ``rows`` (row, group of a whole line).

Rows count from 0, columns are bytes. Marks are a string like ``4:9:Group 7:8:Other``, the last on
top: decoding thousands of lists instead would block Neovim noticeably.
"""


UNIFIED_DIFF = re.compile(r"^(@@ .+ @@|--- .+\n\+\+\+ )", re.MULTILINE)


class StyledLines:
    """Builds a document line by line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._marks: list[str] = []
        self._rows: list[list[int | str]] = []

    def add(
        self, text: str, tokens: Iterable[HighlightSpan] = (), *, gutter: str = "", group: str = ""
    ) -> None:
        """Add one line: an ASCII gutter, then the text with its hidden characters shown.

        Args:
            tokens: parts of ``text``, in characters; later ones cover earlier ones.
            group: highlight of the whole line.
        """
        hidden = hidden_character_offsets(text)
        columns = _columns(text, hidden, len(gutter))
        marks = [(0, len(gutter), "AgentChatLineNr")] if gutter else []
        marks += [(columns[t.start], columns[t.end], t.group) for t in tokens]
        marks += [(columns[i], columns[i + 1], "AgentChatEscape") for i in hidden]
        if group:
            self._rows.append([self.rows, group])
        self._lines.append(gutter + _visible(text, hidden))
        self._marks.append(" ".join(f"{start}:{end}:{name}" for start, end, name in marks))

    @property
    def rows(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def document(self) -> Document:
        """Return the table for the float."""
        return {"lines": self._lines, "marks": self._marks, "rows": self._rows}


def _visible(text: str, hidden: Sequence[int]) -> str:
    if not hidden:
        return text
    chars = list(text)
    for i in hidden:
        chars[i] = escape_character(chars[i])
    return "".join(chars)


def _columns(text: str, hidden: Sequence[int], first: int) -> Sequence[int]:
    """Return the byte column of each character as shown, and of the end."""
    if text.isascii() and not hidden:
        return range(first, first + len(text) + 1)
    escaped = set(hidden)
    widths = (
        len(escape_character(char)) if i in escaped else len(char.encode())
        for i, char in enumerate(text)
    )
    return list(accumulate(widths, initial=first))


__all__ = ["Document", "command_document", "diff_document", "json_document", "text_document"]

_MOST_PAIRS = 400
"""Changed lines of a hunk that are compared word by word."""

_GROUPS = {"+": "AgentChatAdd", "-": "AgentChatDelete", " ": ""}
_WORD_GROUPS = {"+": "AgentChatAddWord", "-": "AgentChatDeleteWord"}
_WIDEST_NAME = 60
"""Characters: after a longer name in the list of files the counts are not aligned."""
_MOST_COLOURED = 200
"""Files of a change whose code is coloured; of more, the diff would take seconds."""
_MOST_MEMBERS = 2_000
"""Files of a group that are named."""
_LARGEST_MEMBER = 64 * 1024
_MOST_MEMBER_ROWS = 2_000
_MOST_MEMBER_LINES = 200
"""Bytes of a file, rows of a group and lines of a hunk, above which contents are left out."""
_CARRIAGE_RETURN = "\r"

Colours = dict[tuple[str, int], list[HighlightSpan]]
"""Tokens by side (``old`` or ``new``) and 1-based line number."""


def diff_document(
    change: ChangeSet,
    root: str,
    heading: Sequence[str] = (),
    notes: Mapping[str, str] = MappingProxyType({}),
) -> Document:
    """Return a whole change, file by file and hunk by hunk, after a list of several files.

    ``heading`` are lines above it, ``notes`` what is special about a file, by path.

    ``hunks`` of the document describes each hunk: ``row`` of its header, number of ``rows``,
    ``path``, ``index``, ``first`` and ``last`` line in the file, a ``key`` that the same hunk has
    in another diff of the file, ``digits`` of its line numbers, if it has lines, and ``parts`` if
    it can be split.
    """
    page = StyledLines()
    places: list[dict[str, Any]] = []
    for line in heading:
        page.add(line)
    if len(change.files) > 1:
        _add_list(page, change, root, notes)
    colourful = len(change.files) <= _MOST_COLOURED
    for number, file in enumerate(change.files):
        if number:
            page.add("")
        places += _add_file(page, file, root, notes.get(file.path, ""), colourful=colourful)
    return {**page.document(), "hunks": places}


def command_document(command: str) -> Document:
    """Return a shell command in full."""
    return _code(command, "bash")


def json_document(arguments: Any) -> Document:
    """Return a call's arguments in full, one a line."""
    return _code(json.dumps(arguments, indent=2, ensure_ascii=False, default=str), "json")


def text_document(text: str) -> Document:
    """Return text, with the colours of a unified diff if there is one in it."""
    return _code(text, "diff" if UNIFIED_DIFF.search(text) else "")


def _code(text: str, language: str) -> Document:
    page = StyledLines()
    lines = text.split("\n")
    for line, tokens in zip(lines, highlight_code(lines, language), strict=True):
        page.add(line, tokens)
    return page.document()


def _add_file(
    page: StyledLines, file: FileChange, root: str, note: str, *, colourful: bool
) -> list[dict[str, Any]]:
    page.add(
        _with_note(f"{file_title(file, root)}  {file_facts(file)}", note), group="AgentChatFile"
    )
    file_hunks = hunks(file)
    starts = []
    if not any(hunk.lines for hunk in file_hunks):
        starts.append(page.rows)
        _add_members(page, file, root)
        for line in () if file.members else lines_without_hunks(file):
            page.add(line)
    else:
        starts += _add_hunks(page, file, file_hunks, colourful=colourful)
    places = zip(file_hunks, pairwise([*starts, page.rows]), hunk_keys(file), strict=False)
    return [
        _place(file, hunk, row, end, key) | _parts(file, hunk) for hunk, (row, end), key in places
    ]


def _add_members(page: StyledLines, file: FileChange, root: str) -> None:
    """Add the files of a group, and what changes in the first ones."""
    end = page.rows + _MOST_MEMBER_ROWS
    for member in file.members[:_MOST_MEMBERS]:
        page.add(f"  {file_title(member, root)}  {file_facts(member)}", group="AgentChatHunk")
        is_large = max(len(member.before or b""), len(member.after or b"")) > _LARGEST_MEMBER
        for hunk in () if is_large or page.rows >= end else hunks(member):
            for line in hunk.lines[:_MOST_MEMBER_LINES]:
                _add_line(page, line, [], _digits([hunk]), show_ends=False)
            if len(hunk.lines) > _MOST_MEMBER_LINES:
                page.add(f"  and {len(hunk.lines) - _MOST_MEMBER_LINES} more lines")
    if len(file.members) > _MOST_MEMBERS:
        page.add(f"  and {len(file.members) - _MOST_MEMBERS} more files")


def _parts(file: FileChange, hunk: Hunk) -> dict[str, Any]:
    """Return what a hunk can be split into, as ``parts``: each with its number of ``rows``."""
    if not hunk.splits:
        return {}
    split = hunks(split_hunks(file, {hunk.index}))
    parts = split[hunk.index : hunk.index + len(hunk.splits) + 1]
    return {"parts": [_part(part) for part in parts]}


def _part(part: Hunk) -> dict[str, Any]:
    first, last = hunk_line_range(part)
    rows = len(part.lines) + sum(not line.end for line in part.lines)
    return {"header": part.header, "rows": rows, "first": first, "last": last}


def _place(file: FileChange, hunk: Hunk, row: int, end: int, key: str) -> dict[str, Any]:
    first, last = hunk_line_range(hunk)
    digits = {"digits": _digits(hunks(file))} if hunk.lines else {}
    return {
        **digits,
        **({"left_out": True} if file.left_out else {}),
        "row": row,
        "rows": end - row,
        "path": file.path,
        "index": hunk.index,
        "first": first,
        "last": last,
        "key": key,
    }


def _add_hunks(
    page: StyledLines, file: FileChange, hunks: Sequence[Hunk], *, colourful: bool
) -> Iterator[int]:
    """Add the hunks; yield the row where each begins."""
    colours = _colours(file, hunks) if colourful else {}
    show_ends = _has_mixed_ends(file)
    width = _digits(hunks)
    for hunk in hunks:
        yield page.rows
        page.add(hunk.header, group="AgentChatHunk")
        for line, tokens in _hunk_lines(hunk, colours):
            _add_line(page, line, tokens, width, show_ends)


def _digits(hunks: Sequence[Hunk]) -> int:
    """Return how many digits the greatest line number has."""
    ends = (max(h.old_start + h.old_count, h.new_start + h.new_count) for h in hunks)
    return len(str(max(ends)))


def _with_note(text: str, note: str) -> str:
    return f"{text} · {note}" if note else text


def _add_list(page: StyledLines, change: ChangeSet, root: str, notes: Mapping[str, str]) -> None:
    """List the files with their counts."""
    page.add(change.summary(), group="AgentChatSummary")
    names = [escape_line(file_title(file, root)) for file in change.files]
    width = min(max(map(len, names)), _WIDEST_NAME)
    for file, name in zip(change.files, names, strict=True):
        facts = _with_note(file_facts(file), notes.get(file.path, ""))
        row = f"  {name:<{width}}  "
        page.add(row + facts, [HighlightSpan(len(row), len(row) + len(facts), "AgentChatFact")])
    page.add("")


def _add_line(
    page: StyledLines, line: HunkLine, tokens: list[HighlightSpan], width: int, show_ends: bool
) -> None:
    old, new = ("" if number is None else str(number) for number in (line.old, line.new))
    gutter = f"{old:>{width}} {new:>{width}} {line.kind} "
    text = line.text + _CARRIAGE_RETURN if show_ends and line.end == "\r\n" else line.text
    page.add(text, tokens, gutter=gutter, group=_GROUPS[line.kind])
    if not line.end:
        page.add(NO_NEWLINE, gutter=" " * len(gutter))


def _has_mixed_ends(file: FileChange) -> bool:
    """Whether line ends differ inside the file or by the change, and so must be visible."""
    lines = sum(side.count(b"\n") for side in (file.before or b"", file.after or b""))
    crlf = sum(side.count(b"\r\n") for side in (file.before or b"", file.after or b""))
    return 0 < crlf < lines


def _colours(file: FileChange, hunks: Sequence[Hunk]) -> Colours:
    """Return the colours of the lines of both sides, from the whole text unless it is too long."""
    lines = [line for hunk in hunks for line in hunk.lines]
    is_first = lines[0].new == 1 or lines[0].old == 1
    language = language_of(file.path, lines[0].text if is_first else "")
    colours: Colours = {}
    for side, data in (("old", file.before), ("new", file.after)):
        if data and any(getattr(line, side) is not None for line in lines):
            colours.update(_side_colours(side, data, lines, language))
    return colours


def _side_colours(
    side: str, data: bytes, lines: Sequence[HunkLine], language: str
) -> Iterator[tuple[tuple[str, int], list[HighlightSpan]]]:
    texts = {number: line.text for line in lines if (number := getattr(line, side)) is not None}
    whole = _first_lines(max(texts), data)
    if sum(map(len, whole)) <= LONGEST_TEXT:
        texts = dict(enumerate(whole, start=1))
    for number, tokens in zip(texts, highlight_code(list(texts.values()), language), strict=True):
        yield (side, number), tokens


def _first_lines(last: int, data: bytes) -> list[str]:
    """Return the lines up to number ``last``: colours do not depend on later ones."""
    lines = split_lines(data.decode("utf-8", "surrogateescape"))
    return [line.rstrip("\r\n") for line in lines[:last]]


def _hunk_lines(hunk: Hunk, colours: Colours) -> Iterator[tuple[HunkLine, list[HighlightSpan]]]:
    """Yield the lines with their highlights: colours first, changed words over them."""
    words = dict(changed_word_spans(hunk))
    for index, line in enumerate(hunk.lines):
        number = line.old if line.new is None else line.new
        tokens = colours.get(("old" if line.new is None else "new", number or 0), [])
        yield line, [*tokens, *words.get(index, ())]


def changed_word_spans(hunk: Hunk) -> Iterator[tuple[int, list[HighlightSpan]]]:
    """Yield the highlights of the changed words of a line, with its index in the hunk."""
    for index, pieces in _changed_words(hunk):
        group = _WORD_GROUPS[hunk.lines[index].kind]
        yield index, [HighlightSpan(piece.start, piece.end, group) for piece in pieces]


def _changed_words(hunk: Hunk) -> Iterator[tuple[int, list[WordSpan]]]:
    """Yield the changed words of each removed line and the added line that replaces it."""
    runs = [
        (kind, [index for index, _ in run])
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
