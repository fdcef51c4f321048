"""What differs between two sequences of lines, and between two versions of one line."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentchat.core.diff.line_diff import (
    LineChange,
    WordSpan,
    changed_words,
    diff_lines,
    split_words,
)

LINES = 20_000
FEW = st.lists(st.sampled_from("abcd"), max_size=16)


def patched(a: list[str], b: list[str], found: list[LineChange]) -> list[str]:
    out: list[str] = []
    at = 0
    for change in found:
        out += a[at : change.a_start] + b[change.b_start : change.b_end]
        at = change.a_end
    return out + a[at:]


def size(found: list[LineChange]) -> int:
    return sum(c.a_end - c.a_start + c.b_end - c.b_start for c in found)


@settings(deadline=None)
@given(a=FEW, b=FEW)
def test_the_changes_make_the_one_the_other(a: list[str], b: list[str]) -> None:
    assert patched(a, b, diff_lines(a, b)) == b


@settings(deadline=None)
@given(a=FEW, b=FEW)
def test_changes_are_in_order_and_never_touch(a: list[str], b: list[str]) -> None:
    found = diff_lines(a, b)
    for one, other in pairwise(found):
        assert one.a_end < other.a_start
        assert other.a_start - one.a_end == other.b_start - one.b_end


@settings(deadline=None)
@given(lines=FEW)
def test_equal_lines_have_no_changes(lines: list[str]) -> None:
    assert diff_lines(lines, list(lines)) == []


def test_an_inserted_and_a_removed_line_are_found_where_they_are() -> None:
    found = diff_lines(["a", "b", "c", "d"], ["a", "x", "b", "d"])
    assert found == [LineChange(1, 1, 1, 2), LineChange(2, 3, 3, 3)]


def test_a_replaced_line_among_equal_ones_is_found_where_it_is() -> None:
    assert diff_lines(list("xxxxxxxx"), list("xxxxyxxx")) == [LineChange(4, 5, 4, 5)]


def distinct() -> list[str]:
    return [f"line {at}" for at in range(LINES)]


def replaced(lines: list[str], count: int) -> list[str]:
    chosen = set(random.Random(count).sample(range(len(lines)), count))
    return [f"new {at}" if at in chosen else line for at, line in enumerate(lines)]


def without(lines: list[str], count: int) -> list[str]:
    chosen = set(random.Random(count).sample(range(len(lines)), count))
    return [line for at, line in enumerate(lines) if at not in chosen]


BIG = {
    "30 edits": (distinct(), replaced(distinct(), 30), 60),
    "4,000 edits": (distinct(), replaced(distinct(), 4_000), 8_100),
    "2,000 lines fewer": (distinct(), without(distinct(), 2_000), 2_000),
    "equal lines, 300 edits": (["x"] * LINES, replaced(["x"] * LINES, 300), 600),
    "equal lines, 300 edits, 150 fewer": (
        ["x"] * LINES,
        without(replaced(["x"] * LINES, 300), 150),
        900,
    ),
    "periodic lines, moved by seven": (
        [str(at % 500) for at in range(LINES)],
        [str((at + 7) % 500) for at in range(LINES)],
        14,
    ),
    "nothing in common": (["a"] * LINES, ["b"] * LINES, 2 * LINES),
    "little in common": (
        [str(at * at % 997) for at in range(LINES)],
        [str(at * 7 % 1009) for at in range(LINES)],
        2 * LINES,
    ),
}


@pytest.mark.parametrize("name", BIG)
def test_20_000_lines_are_compared_fast_and_well(name: str) -> None:
    a, b, most = BIG[name]
    start = time.process_time()
    found = diff_lines(a, b)
    assert time.process_time() - start < 1.5
    assert patched(a, b, found) == b
    assert size(found) <= most


def test_the_changed_words_of_a_line_are_found() -> None:
    before, after = changed_words("x = compute(a, 30)", "x = compute(b, 60)")
    assert before == [WordSpan(12, 13), WordSpan(15, 17)]
    assert after == [WordSpan(12, 13), WordSpan(15, 17)]


def test_an_added_word_marks_one_side_only() -> None:
    before, after = changed_words("return value", "return the value")
    assert (before, after) == ([], [WordSpan(7, 11)])


def test_lines_with_little_in_common_are_not_compared_by_words() -> None:
    assert changed_words("import os", "x = lambda: None  # nothing alike") == ([], [])


def test_of_very_long_lines_the_middle_that_differs_is_marked() -> None:
    before, after = changed_words("a" * 900 + "b" + "c" * 900, "a" * 900 + "dd" + "c" * 900)
    assert (before, after) == ([WordSpan(900, 901)], [WordSpan(900, 902)])


@settings(deadline=None)
@given(text=st.text("aZ_9 .,\t\u00e9e\u0301\u6f22\u200d\ud83d\U0001f600", max_size=20))
def test_the_words_of_a_text_joined_are_the_text(text: str) -> None:
    assert "".join(split_words(text)) == text


@settings(deadline=None)
@given(before=st.text("ab 1.", max_size=30), after=st.text("ab 1.", max_size=30))
def test_without_the_changed_words_both_versions_are_the_same(before: str, after: str) -> None:
    removed, added = changed_words(before, after)
    if removed or added:
        assert left(before, removed) == left(after, added)


def left(text: str, pieces: list[WordSpan]) -> str:
    dropped = {at for piece in pieces for at in range(piece.start, piece.end)}
    return "".join(char for at, char in enumerate(text) if at not in dropped)
