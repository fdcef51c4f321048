"""Where lines of code go in a text."""

from __future__ import annotations

import pytest

from agentchat.agent.code_inserts import replace_lines


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        ("a\nb\n", 1, "a\nx\n  y\nb\n"),
        ("a\nb\n", 2, "a\nb\nx\n  y\n"),
        ("a\nb", 2, "a\nb\nx\n  y\n"),
        ("a\r\nb\r\n", 1, "a\r\nx\r\n  y\r\nb\r\n"),
        ("", 0, "x\n  y\n"),
        ("a\n", 0, "x\n  y\na\n"),
        ("a\x0cb\nc\n", 1, "a\x0cb\nx\n  y\nc\n"),
    ],
)
def test_lines_are_inserted_below_a_line_with_the_line_ends_of_the_text(
    text: str, line: int, after: str
) -> None:
    assert replace_lines(text, line, line, ["x", "  y"]) == after


@pytest.mark.parametrize(
    ("text", "line", "last", "after"),
    [
        ("a\nb\nc\n", 1, 2, "a\nx\nc\n"),
        ("a\r\nb\r\n", 0, 2, "x\r\n"),
        ("a\nb", 1, 2, "a\nx\n"),
    ],
)
def test_lines_are_replaced_with_the_line_ends_of_the_text(
    text: str, line: int, last: int, after: str
) -> None:
    assert replace_lines(text, line, last, ["x"]) == after
