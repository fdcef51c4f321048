"""Glob patterns: the one dialect for tools, rules and lists of files.

``*`` and ``?`` stay within a name, ``**`` crosses names; ``[…]``, ``{a,b}`` and backslash are as in
a shell. A leading ``!`` negates the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

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


@lru_cache(512)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression for a whole name or path."""
    return re.compile(glob_to_regex(pattern), re.DOTALL)


def glob_to_regex(pattern: str) -> str:
    """Return the text of the regular expression for a glob."""
    pieces, index, depth = [], 0, 0
    braces = _paired_braces(pattern)
    while index < len(pattern):
        piece, length = _next_piece(pattern, index, depth, braces)
        depth += (piece == "(?:") - (piece == ")")
        pieces.append(piece)
        index += length
    return "".join(pieces)


def _next_piece(pattern: str, index: int, depth: int, braces: set[int]) -> tuple[str, int]:
    """Return the regex for the text at ``index``, and how many characters that text has."""
    char = pattern[index]
    if char == "*":
        return _stars(pattern, index)
    if char == "[":
        return _bracket(pattern, index)
    if char == "\\" and index + 1 < len(pattern):
        return re.escape(pattern[index + 1]), 2
    if depth and char == ",":
        return "|", 1
    if index in braces:
        return ("(?:" if char == "{" else ")"), 1
    return ("[^/]" if char == "?" else re.escape(char)), 1


def _stars(pattern: str, index: int) -> tuple[str, int]:
    if not pattern.startswith("**", index):
        return "[^/]*", 1
    starts_name = index == 0 or pattern[index - 1] == "/"
    if starts_name and pattern.startswith("**/", index):
        return "(?:.*/)?", 3
    return ".*", 2


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


def _paired_braces(pattern: str) -> set[int]:
    """Return the indexes of the braces that have a partner."""
    paired: set[int] = set()
    opening: list[int] = []
    for index, char in enumerate(pattern):
        if char == "{":
            opening.append(index)
        elif char == "}" and opening:
            paired |= {opening.pop(), index}
    return paired
