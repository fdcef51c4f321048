"""Patterns of file names and paths: the one dialect of tools, rules and lists of files.

``*`` and ``?`` stay within a name, ``**`` crosses names; ``[…]``, ``{a,b}`` and backslash are as in
a shell. A leading ``!`` turns the answer round.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_SPECIAL = re.compile(r"[\\*?\[\]{}]|^!")


def matcher(pattern: str, folder: str = "") -> Callable[[str], bool]:
    """Return whether a path (relative to ``folder``, ``/`` between names) fits a pattern.

    A pattern with a ``/`` is matched against the whole path, as seen from ``folder`` or with
    ``folder`` before it; any other against the file's own name.
    """
    if pattern.startswith("!"):
        positive = matcher(pattern[1:], folder)
        return lambda path: not positive(path)
    fits = compile_glob(pattern.removeprefix("./").lstrip("/")).fullmatch
    if "/" not in pattern:
        return lambda path: fits(path.rpartition("/")[2]) is not None
    prefix = f"{folder}/" if folder else ""
    return lambda path: bool(fits(path) or fits(prefix + path))


def matches_path(pattern: str, path: str) -> bool:
    """Whether a whole path fits a pattern, as it is shown: relative, or absolute outside."""
    if pattern.startswith("!"):
        return not matches_path(pattern[1:], path)
    return compile_glob(pattern.removeprefix("./")).fullmatch(path) is not None


def escape_glob(path: str) -> str:
    """Return the pattern that only this path fits."""
    return _SPECIAL.sub(r"\\\g<0>", path)


@lru_cache(512)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression that a name or path has to match as a whole."""
    return re.compile(glob_to_regex(pattern), re.DOTALL)


def glob_to_regex(pattern: str) -> str:
    """Return the text of that regular expression."""
    out, at, depth = [], 0, 0
    closing = _closing_braces(pattern)
    while at < len(pattern):
        piece, length = _piece(pattern, at, depth, closing)
        depth += (piece == "(?:") - (piece == ")")
        out.append(piece)
        at += length
    return "".join(out)


def _piece(pattern: str, at: int, depth: int, closing: set[int]) -> tuple[str, int]:
    """Return the regex for what stands at ``at``, and how many characters that is."""
    char = pattern[at]
    if char == "*":
        return _stars(pattern, at)
    if char == "[":
        return _bracket(pattern, at)
    if char == "\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1]), 2
    if depth and char == ",":
        return "|", 1
    if at in closing:
        return ("(?:" if char == "{" else ")"), 1
    return ("[^/]" if char == "?" else re.escape(char)), 1


def _stars(pattern: str, at: int) -> tuple[str, int]:
    if not pattern.startswith("**", at):
        return "[^/]*", 1
    begins = at == 0 or pattern[at - 1] == "/"
    if begins and pattern.startswith("**/", at):
        return "(?:.*/)?", 3
    return ".*", 2


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    found = re.compile(r"\[([!^]?)(\]?[^\]/]*)\]").match(pattern, at)
    if found is None:
        return r"\[", 1
    inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", found.group(2))
    kind = "(?!/)[^" if found.group(1) else "["
    piece = f"{kind}{inside}]"
    try:
        re.compile(piece)
    except re.error:
        return r"\[", 1
    return piece, found.end() - at


def _closing_braces(pattern: str) -> set[int]:
    """Return where the braces stand that have a partner."""
    found: set[int] = set()
    opened: list[int] = []
    for at, char in enumerate(pattern):
        if char == "{":
            opened.append(at)
        elif char == "}" and opened:
            found |= {opened.pop(), at}
    return found
