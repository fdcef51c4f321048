"""Glob patterns: what they match, and that no pattern takes long."""

from __future__ import annotations

import time
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentchat.core.globs import GlobError, escape_glob, matches_path
from tests.permissions.report import generated

PIECES = st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "ab", "[ab]", "[!a]"])


def matches_slowly(pattern: str, path: str) -> bool:
    """The meaning of a glob, without a thought about time; no braces."""

    @lru_cache(None)
    def match(i: int, j: int) -> bool:
        rest = pattern[i:]
        if not rest:
            return j == len(path)
        if rest.startswith("**/") and (i == 0 or pattern[i - 1] == "/"):
            starts = [n + 1 for n in range(j, len(path)) if path[n] == "/"]
            return any(match(i + 3, n) for n in [j, *starts])
        if rest.startswith("**"):
            return any(match(i + 2, n) for n in range(j, len(path) + 1))
        if rest[0] == "*":
            end = path.find("/", j)
            return any(match(i + 1, n) for n in range(j, (len(path) if end < 0 else end) + 1))
        if j == len(path):
            return False
        for text, allowed in (("[ab]", "ab"), ("[!a]", None)):
            if rest.startswith(text):
                fits = path[j] in allowed if allowed else path[j] not in "a/"
                return fits and match(i + len(text), j + 1)
        return (path[j] != "/" if rest[0] == "?" else path[j] == rest[0]) and match(i + 1, j + 1)

    return match(0, 0)


@settings(max_examples=generated(), deadline=None, database=None)
@given(st.lists(PIECES, max_size=8).map("".join), st.text("ab/", max_size=10))
def test_a_pattern_matches_what_it_means(pattern: str, path: str) -> None:
    assert matches_path(pattern, path) is matches_slowly(pattern, path)


@settings(max_examples=generated() // 10, deadline=None, database=None)
@given(*[st.lists(PIECES, max_size=3).map("".join)] * 4, st.text("ab/", max_size=10))
def test_braces_stand_for_each_of_their_patterns(
    start: str, first: str, second: str, end: str, path: str
) -> None:
    # A star beside a brace reads as it would without the brace.
    expected = any(matches_path(f"-{start}-{x}-{end}", f"-{path}") for x in (first, second))
    assert matches_path(f"-{start}-{{{first}-,{second}-}}{end}", f"-{path}") is expected


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 300 + "b", "**/a" * 200 + "b", "**a*" * 200 + "b", "*?" * 300, "**/*a*" * 100 + "b"],
)
@pytest.mark.parametrize("path", ["a" * 500, "a/" * 500, "ab" * 250 + "/"])
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    start = time.perf_counter()
    matches_path(pattern, path)
    assert time.perf_counter() - start < 5  # seconds; with backtracking, years


@pytest.mark.parametrize("pattern", ["{a,b}" * 7, "a" * 1001, "{a,{b,c}}{d,e,f}" * 3])
def test_a_pattern_is_bounded(pattern: str) -> None:
    with pytest.raises(GlobError, match="than"):
        matches_path(pattern, "a")


@pytest.mark.parametrize("path", ["a{b,c}d", "a*b", "[a]", "!a", "a\\b", "{", "a,b}"])
def test_an_escaped_path_matches_only_itself(path: str) -> None:
    assert matches_path(escape_glob(path), path)
    assert not matches_path(escape_glob(path), f"{path}x")
