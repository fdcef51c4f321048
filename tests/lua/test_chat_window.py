"""The window of a chat: it shows the chat, whatever is opened from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor

from .conftest import Drawn


def shown(drawn: Drawn) -> list[str]:
    """Names of what the windows show, from left to right, with a star for the current one."""
    found: list[str] = drawn.editor.lua(
        "return vim.tbl_map(function(win)\n"
        "  local name = vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))\n"
        "  return name .. (win == vim.api.nvim_get_current_win() and '*' or '')\n"
        "end, vim.api.nvim_tabpage_list_wins(0))"
    )
    return found


@pytest.fixture
def notes(drawn: Drawn) -> Path:
    path = drawn.editor.workspace / "notes-of-mine.txt"
    path.write_text("".join(f"line {n}\n" for n in range(1, 60)))
    return path


@pytest.mark.parametrize("how", ["edit", "edit +40", "find", "drop"])
def test_a_file_that_is_edited_there_goes_to_the_other_window(
    drawn: Drawn, notes: Path, how: str
) -> None:
    drawn.editor.command(f"{how} {notes.name}")
    drawn.editor.wait(lambda: shown(drawn) in (["notes-of-mine.txt*", "1"],), why=str(how))
    assert drawn.editor.eval("line('.')") == (40 if "+" in how else 1)
    assert drawn.editor.eval(f"getwinvar(bufwinid({drawn.buffer}), '&winbar')") != ""


def test_in_the_only_window_it_gets_a_new_one(drawn: Drawn, notes: Path) -> None:
    drawn.editor.command("only")
    drawn.editor.command(f"edit {notes.name}")
    drawn.editor.wait(lambda: shown(drawn) == ["notes-of-mine.txt*", "1"])


def test_a_chat_that_is_hidden_leaves_its_window(drawn: Drawn, notes: Path) -> None:
    drawn.editor.command(f"wincmd p | edit {notes.name} | wincmd p | only")
    drawn.editor.command("AgentChat")
    drawn.editor.settle(0.05)
    assert shown(drawn) == ["notes-of-mine.txt*"]


def test_a_title_outlives_the_numbers_of_a_winbar(
    start_editor: StartEditor, never_ready: dict[str, Any]
) -> None:
    drawn = Drawn(start_editor(never_ready))
    status = {"state": "idle", "prompts": 0, "pending": 0, "mode": "ask", "turn": 1}
    status |= {"model": "a-model", "tokens": 9000, "cost": 0.009}
    drawn.draw(("message", "user", "Why do the tests of the shop fail?"), ("finish",))
    drawn.draw(("status", status | {"context": {"used": 12000, "window": 128000}}))
    for width in (160, 120, 100):
        drawn.editor.resize(width, 30)
        assert "Why do" in drawn.editor.screen()[0], width


def test_an_undone_deletion_of_the_transcript_has_its_folds_again(drawn: Drawn) -> None:
    body = [f"line {n}" for n in range(30)]
    block = {"title": "read a.py", "tool": "read", "state": "done", "body": body}
    drawn.draw(("message", "agent", ""), ("block", "1", block), ("text", "Read."), ("finish",))
    drawn.editor.keys("<Esc>")
    folded = drawn.closed("line 20")
    assert folded > 0
    before = drawn.lines()
    drawn.editor.keys("ggd3j")
    drawn.editor.keys("u")
    assert drawn.lines() == before
    assert drawn.closed("line 20") == folded
