"""Syntax highlighting of code, by Pygments (imported late)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from agentchat.core.frozen import frozen

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_TEXT = 60_000
"""Characters that are highlighted, in some tenths of a second; a longer text is plain."""

# A token has the group of its own type, or else of the nearest parent type in this table.
_GROUPS = {
    "Generic.Deleted": "AgentChatCodeDeleted",
    "Generic.Heading": "AgentChatCodeKeyword",
    "Generic.Inserted": "AgentChatCodeAdded",
    "Generic.Prompt": "AgentChatCodeOperator",
    "Generic.Subheading": "AgentChatCodeFunction",
    "Comment": "AgentChatCodeComment",
    "Comment.Preproc": "AgentChatCodeKeyword",
    "Keyword": "AgentChatCodeKeyword",
    "Keyword.Constant": "AgentChatCodeConstant",
    "Keyword.Type": "AgentChatCodeType",
    "Literal.Number": "AgentChatCodeNumber",
    "Literal.String": "AgentChatCodeString",
    "Literal.String.Doc": "AgentChatCodeComment",
    "Name.Attribute": "AgentChatCodeName",
    "Name.Builtin": "AgentChatCodeFunction",
    "Name.Builtin.Pseudo": "AgentChatCodeName",
    "Name.Class": "AgentChatCodeType",
    "Name.Constant": "AgentChatCodeConstant",
    "Name.Decorator": "AgentChatCodeFunction",
    "Name.Exception": "AgentChatCodeType",
    "Name.Function": "AgentChatCodeFunction",
    "Name.Tag": "AgentChatCodeKeyword",
    "Name.Variable": "AgentChatCodeName",
    "Operator": "AgentChatCodeOperator",
    "Operator.Word": "AgentChatCodeKeyword",
}

_FENCE_NAMES = {"jsonc": "json5", "svelte": "html", "astro": "html", "viml": "vim"}
"""Languages under names that Pygments does not know."""

_INTERPRETERS = {"python": "python", "bash": "bash", "sh": "bash", "node": "javascript"}


@frozen
class HighlightSpan:
    """A highlighted part of one line: ``start`` up to ``end``, in characters."""

    start: int
    end: int
    group: str


def language_of(name: str, first_line: str = "") -> str:
    """Return the language of a file by its name, or by a ``#!`` line; empty if unknown."""
    language = _language_of_name(PurePosixPath(name).name)
    if language or not first_line.startswith("#!"):
        return language
    program = first_line.replace("/", " ").split()[-1].rstrip("0123456789.")
    return _INTERPRETERS.get(program, program)


def highlight_code(lines: Sequence[str], language: str) -> list[list[HighlightSpan]]:
    """Return the tokens of each line of a whole text; the lines have no line ends."""
    spans: list[list[HighlightSpan]] = [[] for _ in lines]
    lexer = _lexer(language)
    if lexer is None or sum(map(len, lines)) > LONGEST_TEXT:
        return spans
    line, start = 0, 0
    for offset, kind, value in lexer.get_tokens_unprocessed("\n".join([*lines, ""])):
        while line + 1 < len(lines) and offset > start + len(lines[line]):
            start += len(lines[line]) + 1
            line += 1
        group = _group(kind)
        if group:
            for number, span in _split_lines(offset - start, value, group):
                _append(spans[line + number], span)
    return spans


def code_marks(lines: Sequence[str], language: str) -> list[str]:
    """Return the marks of each line of a block of code, like ``4:9:Group``, in bytes.

    Args:
        language: as after a fence: a language, an ending of file names, or a file name.
    """
    found = highlight_code(lines, fence_language(language))
    return [byte_marks(line, spans) for line, spans in zip(lines, found, strict=True)]


def fence_language(name: str) -> str:
    """Return the language that a fence names; empty if unknown."""
    alias = _FENCE_NAMES.get(name.lower(), name.lower())
    for known in (alias, language_of(name), language_of(f"file.{name}")):
        if known and _lexer(known) is not None:
            return known
    return ""


def byte_marks(line: str, spans: Sequence[HighlightSpan]) -> str:
    """Return highlights of a line as marks, in bytes."""
    return " ".join(f"{_bytes(line, s.start)}:{_bytes(line, s.end)}:{s.group}" for s in spans)


def _bytes(line: str, index: int) -> int:
    """Return how many bytes come before a character."""
    return index if line.isascii() else len(line[:index].encode("utf-8", "surrogateescape"))


def _append(spans: list[HighlightSpan], span: HighlightSpan) -> None:
    """Add a span, joined to the last one if that has the same group."""
    last = spans[-1] if spans else None
    if last is not None and (last.end, last.group) == (span.start, span.group):
        spans[-1] = HighlightSpan(last.start, span.end, span.group)
    else:
        spans.append(span)


def _split_lines(column: int, value: str, group: str) -> Iterator[tuple[int, HighlightSpan]]:
    """Yield a span for each line of a token, with the number of the line in the token."""
    for number, part in enumerate(value.split("\n")):
        if part.strip():
            yield number, HighlightSpan(column, column + len(part), group)
        column = 0


@lru_cache(maxsize=256)
def _group(kind: Any) -> str:
    while kind is not None:
        group = _GROUPS.get(str(kind).removeprefix("Token."))
        if group:
            return group
        kind = kind.parent
    return ""


@lru_cache(maxsize=64)
def _language_of_name(name: str) -> str:
    from pygments.lexers import find_lexer_class_for_filename

    lexer = find_lexer_class_for_filename(name)
    aliases: Sequence[str] = getattr(lexer, "aliases", ())
    return aliases[0] if aliases else ""


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
