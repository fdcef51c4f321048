"""Colours of code in any language, as groups on parts of lines, by Pygments (imported late)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_TEXT = 60_000
"""Characters that are coloured at once (some tenths of a second); beyond, nothing is."""

# The first of a token's types, from itself to its parents, that stands here names the group.
_GROUPS = {
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

_INTERPRETERS = {"python": "python", "bash": "bash", "sh": "bash", "node": "javascript"}


@dataclass(frozen=True, slots=True)
class HighlightSpan:
    """A part of one line with a colour: ``start`` up to ``end``, in characters."""

    start: int
    end: int
    group: str


def language_of(name: str, first_line: str = "") -> str:
    """Return the language of a file by its name, or by a ``#!`` line; empty if unknown."""
    known = _by_name(PurePosixPath(name).name)
    if known or not first_line.startswith("#!"):
        return known
    program = first_line.replace("/", " ").split()[-1].rstrip("0123456789.")
    return _INTERPRETERS.get(program, program)


def highlight_code(lines: Sequence[str], language: str) -> list[list[HighlightSpan]]:
    """Return the tokens of each line of a whole text; the lines have no line ends."""
    found: list[list[HighlightSpan]] = [[] for _ in lines]
    lexer = _lexer(language)
    if lexer is None or sum(map(len, lines)) > LONGEST_TEXT:
        return found
    line, start = 0, 0
    for at, kind, value in lexer.get_tokens_unprocessed("\n".join(lines)):
        while line + 1 < len(lines) and at > start + len(lines[line]):
            start += len(lines[line]) + 1
            line += 1
        group = _group(kind)
        if group:
            for ahead, token in _by_line(at - start, value, group):
                _append(found[line + ahead], token)
    return found


def _append(tokens: list[HighlightSpan], token: HighlightSpan) -> None:
    """Add a token, as a part of the last one where that has the same colour."""
    last = tokens[-1] if tokens else None
    if last is not None and (last.end, last.group) == (token.start, token.group):
        tokens[-1] = HighlightSpan(last.start, token.end, token.group)
    else:
        tokens.append(token)


def _by_line(column: int, value: str, group: str) -> Iterator[tuple[int, HighlightSpan]]:
    """Yield a token as one per line, each with how many lines further on it lies."""
    for ahead, part in enumerate(value.split("\n")):
        if part.strip():
            yield ahead, HighlightSpan(column, column + len(part), group)
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
def _by_name(name: str) -> str:
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
