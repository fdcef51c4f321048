"""Long texts keep head and tail, cut between characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentchat.core.text import (
    drop_partial_end,
    drop_partial_start,
    end_sentence,
    head_and_tail,
)

NOTE = re.compile(r"\n?\[\.\.\. (\d+) bytes truncated; full output: /p \.\.\.\]\n")


@pytest.mark.parametrize("text", ["", "short", "x" * 64])
def test_a_short_text_stays_as_it_is(text: str) -> None:
    assert head_and_tail(text, "/p", limit=64) == text


def test_a_long_text_loses_its_middle() -> None:
    assert head_and_tail("a" * 10 + "b" * 5 + "c" * 10, "/p", limit=20) == (
        "a" * 10 + "\n[... 5 bytes truncated; full output: /p ...]\n" + "c" * 10
    )


@given(st.text(alphabet="aé€😀\n", min_size=1), st.integers(8, 40))
def test_what_is_left_and_what_is_counted_is_the_whole_text(text: str, limit: int) -> None:
    found = NOTE.search(cut := head_and_tail(text, "/p", limit))
    if found is None:
        assert cut == text
        return
    head, tail = cut[: found.start()], cut[found.end() :]
    kept = len(head.encode()) + len(tail.encode())
    missing = len(text.encode()) - kept - int(found.group(1))
    assert missing in (0, 1)  # a newline at the cut may stand for the one before the note
    assert text.startswith(head)
    assert text.endswith(tail)
    assert kept <= limit


@given(st.text(alphabet="aé€😀"), st.integers(0, 3))
def test_only_a_broken_character_is_dropped_at_an_edge(text: str, cut: int) -> None:
    data = text.encode()
    end = data[: max(len(data) - cut, 0)]
    assert text.startswith(drop_partial_end(end).decode())
    assert len(end) - len(drop_partial_end(end)) <= 3
    start = data[cut:]
    assert text.endswith(drop_partial_start(start).decode())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("too hot", "too hot."), ("no!", "no!"), ("done. ", "done."), ("", ""), ("why?", "why?")],
)
def test_a_sentence_has_one_end(text: str, sentence: str) -> None:
    assert end_sentence(text) == sentence
