"""The tour of `make demo`, step by step in a real editor."""

from __future__ import annotations

from tests.conftest import StartEditor
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.launch import CHECKOUT

OPEN = "_G.tour = dofile(...); _G.tour.open(vim.g.chat, vim.fn.win_getid(1))"


def tour_text(editor: Editor) -> str:
    """The text of the tour's window."""
    return editor.text(editor.eval("bufnr('agentchat://tour')"))


def test_the_steps_of_the_tour_happen_in_the_chat(start_editor: StartEditor) -> None:
    editor = start_editor()
    chat = Chat.open(editor)
    editor.command(f"let g:chat = {chat.buffer}")
    editor.lua(OPEN, str(CHECKOUT / "demo" / "tour.lua"))
    assert "step 1 of 8: Ask" in tour_text(editor)
    editor.keys("<F2>")
    chat.finished()
    assert "read shop/pricing.py" in chat.transcript()
    editor.keys("<F3><F3>")
    assert "Take it back" in tour_text(editor)
    for _ in range(9):
        editor.keys("<F3>")
    assert "step 8 of 8" in tour_text(editor)


def test_the_buttons_of_the_tour_can_be_clicked(start_editor: StartEditor) -> None:
    editor = start_editor()
    chat = Chat.open(editor)
    editor.command(f"let g:chat = {chat.buffer}")
    editor.command("set mouse=a")
    editor.lua(OPEN, str(CHECKOUT / "demo" / "tour.lua"))
    row = next(n for n, line in enumerate(editor.screen()) if "[Next]" in line)
    column = editor.screen()[row].index("[Next]") + 2
    editor.keys("<C-\\><C-n>")
    for action in ("press", "release"):
        editor.request("nvim_input_mouse", "left", action, "", 0, row, column)
    editor.wait(lambda: "step 2 of 8" in tour_text(editor), why="the next step is shown")
