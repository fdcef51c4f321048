"""Glob patterns: the one dialect for tools, rules and lists of files.

``*`` and ``?`` stay within a name, ``**`` crosses names; ``[…]``, ``{a,b}`` and backslash are as in
a shell. A leading ``!`` negates the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from agentchat.core.errors import ToolError, UserError

LONGEST = 1_000
"""Characters of a pattern."""

MOST_ALTERNATIVES = 100
"""Patterns that one with braces may stand for."""

_SPECIAL = re.compile(r"[\\*?\[\]{}]|^!")


def matcher(pattern: str, folder: str = "") -> Callable[[str], bool]:
    """Return a function that tells whether a path relative to ``folder`` matches.

    A pattern with a ``/`` is matched against the whole path, as seen from ``folder`` or with
    ``folder`` before it; any other against the file's own name.
    """
    if pattern.startswith("!"):
        positive = matcher(pattern[1:], folder)
        return lambda path: not positive(path)
    match = compile_glob(pattern.removeprefix("./").lstrip("/")).fullmatch
    if "/" not in pattern:
        return lambda path: match(path.rpartition("/")[2]) is not None
    prefix = f"{folder}/" if folder else ""
    return lambda path: bool(match(path) or match(prefix + path))


def matches_path(pattern: str, path: str) -> bool:
    """Whether a whole path matches, as displayed: relative, or absolute outside the workspace."""
    if pattern.startswith("!"):
        return not matches_path(pattern[1:], path)
    return compile_glob(pattern.removeprefix("./")).fullmatch(path) is not None


def escape_glob(path: str) -> str:
    """Return the pattern that matches only this path."""
    return _SPECIAL.sub(r"\\\g<0>", path)


class GlobError(ToolError, UserError):
    """A pattern that is too long, or stands for too many others."""


@lru_cache(512)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression for a whole name or path; raises GlobError."""
    return re.compile(glob_to_regex(pattern), re.DOTALL)


def glob_to_regex(pattern: str) -> str:
    """Return the text of the regular expression for a glob; raises GlobError.

    It is matched in time that grows with the square of the path at most: the text behind a star is
    taken where it is found first, for every later place leaves less to the next star.
    """
    if len(pattern) > LONGEST:
        raise GlobError(f"The pattern is longer than {LONGEST:,} characters.")
    alternatives = dict.fromkeys(map(_sequence, _alternatives(_tokens(pattern))))
    return "|".join(alternatives) if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"


_OPEN, _NEXT, _CLOSE = "{", "{,}", "}"
_STAR, _ANY, _FOLDERS = "*", "**", "**/"
"""Tokens that are no text of a regular expression: braces, and stars."""


def _tokens(pattern: str) -> list[str]:
    tokens: list[str] = []
    index = 0
    while index < len(pattern):
        token, length = _next_token(pattern, index)
        tokens.append(token)
        index += length
    return _paired(tokens)


def _next_token(pattern: str, index: int) -> tuple[str, int]:
    """Return the token for the text at ``index``, and how many characters that text has."""
    char = pattern[index]
    if char == "*":
        return _stars(pattern, index)
    if char == "[":
        return _bracket(pattern, index)
    if char == "\\" and index + 1 < len(pattern):
        return re.escape(pattern[index + 1]), 2
    marks = {"{": _OPEN, ",": _NEXT, "}": _CLOSE, "?": "[^/]"}
    return marks.get(char) or re.escape(char), 1


def _stars(pattern: str, index: int) -> tuple[str, int]:
    if not pattern.startswith("**", index):
        return _STAR, 1
    starts_name = index == 0 or pattern[index - 1] == "/"
    if starts_name and pattern.startswith("**/", index):
        return _FOLDERS, 3
    return _ANY, 2


def _paired(tokens: list[str]) -> list[str]:
    """Return the tokens with braces that have no partner, and commas outside, as text."""
    paired: set[int] = set()
    opening: list[int] = []
    for index, token in enumerate(tokens):
        if token == _OPEN:
            opening.append(index)
        elif token == _CLOSE and opening:
            paired |= {opening.pop(), index}
    depth, kept = 0, []
    for index, token in enumerate(tokens):
        depth += (token == _OPEN and index in paired) - (token == _CLOSE and index in paired)
        is_text = index not in paired if token in (_OPEN, _CLOSE) else token == _NEXT and not depth
        kept.append(re.escape(token[:2].strip("{") or token[0]) if is_text else token)
    return kept


def _alternatives(tokens: Sequence[str]) -> list[list[str]]:
    """Return the sequences without braces that a pattern stands for."""
    done: list[list[str]] = [[]]
    index = 0
    while index < len(tokens):
        if tokens[index] != _OPEN:
            for sequence in done:
                sequence.append(tokens[index])
            index += 1
            continue
        choices, index = _choices(tokens, index + 1)
        done = [[*sequence, *choice] for sequence in done for choice in choices]
        if len(done) > MOST_ALTERNATIVES:
            raise GlobError(f"The braces stand for more than {MOST_ALTERNATIVES} patterns.")
    return done


def _choices(tokens: Sequence[str], index: int) -> tuple[list[list[str]], int]:
    """Return the sequences inside of braces, and the index behind them."""
    choices: list[list[str]] = []
    current: list[str] = []
    depth = 0
    while depth or tokens[index] != _CLOSE:
        token = tokens[index]
        depth += (token == _OPEN) - (token == _CLOSE)
        if token == _NEXT and not depth:
            choices += _alternatives(current)
            current = []
        else:
            current.append(token)
        index += 1
    return [*choices, *_alternatives(current)], index + 1


def _sequence(tokens: list[str]) -> str:
    """Return the regular expression for tokens without braces."""
    units = _split(tokens, (_ANY, _FOLDERS))
    pieces = [_unit(units[0][1], is_last=len(units) == 1)]
    for number, (mark, unit) in enumerate(units[1:], 2):
        gap = ".*?" if mark == _ANY else "(?:.*?/)??"
        is_last = number == len(units)
        text = gap + _unit(unit, is_last)
        pieces.append(text if is_last else f"(?>{text})")
    return "".join(pieces)


def _unit(tokens: list[str], is_last: bool) -> str:
    """Return the regular expression for tokens between stars that cross names."""
    chunks = _split(tokens, (_STAR,))
    pieces = ["".join(chunks[0][1])]
    for number, (_, chunk) in enumerate(chunks[1:], 2):
        text = f"[^/]*?{''.join(chunk)}"
        pieces.append(text if is_last and number == len(chunks) else f"(?>{text})")
    return "".join(pieces)


def _split(tokens: list[str], marks: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Return the tokens between marks, each with the mark before it."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for token in tokens:
        if token in marks:
            parts.append((token, []))
        else:
            parts[-1][1].append(token)
    return parts


def _bracket(pattern: str, index: int) -> tuple[str, int]:
    match = re.compile(r"\[([!^]?)(\]?[^\]/]*)\]").match(pattern, index)
    if match is None:
        return r"\[", 1
    members = re.sub(r"([\\\[\]&~|^])", r"\\\1", match.group(2))
    opening = "(?!/)[^" if match.group(1) else "["
    piece = f"{opening}{members}]"
    try:
        re.compile(piece)
    except re.error:
        return r"\[", 1
    return piece, match.end() - index
