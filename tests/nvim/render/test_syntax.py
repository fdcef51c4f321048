"""Highlights of code that Pygments finds."""

from __future__ import annotations

import pytest

from agentchat.nvim.render.syntax import LONGEST_TEXT, code_marks, fence_language


def test_marks_are_columns_in_bytes() -> None:
    assert code_marks(["é = 'ü' # ä"], "python") == [
        "3:4:AgentChatCodeOperator 5:9:AgentChatCodeString 10:14:AgentChatCodeComment"
    ]


def test_a_string_over_several_lines_is_marked_on_each() -> None:
    rows = code_marks(["x = '''a", "b'''"], "py")
    assert all("AgentChatCodeString" in row for row in rows)


@pytest.mark.parametrize(
    ("fence", "language"),
    [
        ("python", "python"),
        ("Rust", "rust"),
        ("jsonc", "json5"),
        ("src/app.tsx", "tsx"),
        ("c++", "c++"),
        ("nonsense", ""),
        ("", ""),
    ],
)
def test_a_fence_names_a_language_its_files_or_a_file(fence: str, language: str) -> None:
    assert fence_language(fence) == language


def test_lines_that_were_added_and_removed_are_marked_in_a_diff() -> None:
    rows = code_marks(["-old", "+new"], "diff")
    assert rows == ["0:4:AgentChatCodeDeleted", "0:4:AgentChatCodeAdded"]


def test_a_huge_block_stays_plain() -> None:
    assert set(code_marks(["x = 1"] * (LONGEST_TEXT // 4), "python")) == {""}
