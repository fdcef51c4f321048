"""The tour of `make demo`, step by step in a real editor."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import StartEditor
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.launch import CHECKOUT

OPEN = "_G.tour = dofile(...); _G.tour.open(vim.g.chat)"


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


def test_no_question_covers_the_tour(start_editor: StartEditor, workspace: Path) -> None:
    (workspace / "shop").mkdir()
    (workspace / "shop" / "pricing.py").write_text("VAT = 19\n")
    editor = start_editor(size=(80, 30))
    editor.command("edit shop/pricing.py")
    chat = Chat.open(editor)
    editor.command(f"let g:chat = {chat.buffer}")
    editor.lua(OPEN, str(CHECKOUT / "demo" / "tour.lua"))
    editor.keys("<F3><F2>")
    chat.asked("edit")
    assert any("Approve an edit" in line for line in editor.screen())
    assert any("[Do it] [Next] [Back]" in line for line in editor.screen())


def test_the_help_at_the_end_of_the_tour_opens(start_editor: StartEditor) -> None:
    editor = start_editor(init=f"vim.cmd.helptags('{CHECKOUT}/doc')")
    chat = Chat.open(editor)
    editor.command(f"let g:chat = {chat.buffer}")
    editor.lua(OPEN, str(CHECKOUT / "demo" / "tour.lua"))
    for _ in range(8):
        editor.keys("<F3>")
    editor.keys("<F2>")
    editor.wait("vim.bo.filetype == 'help'", why="the help is open")
    assert editor.notices == []


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


def test_the_tour_comes_back_from_the_list_of_chats(
    start_editor: StartEditor, workspace: Path
) -> None:
    editor = start_editor(size=(80, 24))
    chat = Chat.open(editor)
    editor.command(f"let g:chat = {chat.buffer}")
    editor.lua(OPEN, str(CHECKOUT / "demo" / "tour.lua"))
    editor.keys("<F2>")
    chat.finished()
    editor.keys("<F3><F3><F3><F3><F3><F3><F2>")
    editor.wait("vim.bo.filetype == 'agentchat-sessions'", why="the list is open")
    editor.keys("<F3>")
    assert editor.eval("tabpagenr('$')") == 1
    editor.wait_screen("step 8 of 8")


def test_a_command_that_changes_nothing_needs_no_answer_as_the_tour_says(
    start_editor: StartEditor,
) -> None:
    editor = start_editor()
    chat = Chat.open(editor)
    editor.command(f"let g:chat = {chat.buffer}")
    editor.lua(OPEN, str(CHECKOUT / "demo" / "tour.lua"))
    editor.keys("<F3><F3><F3><F3>")
    assert "need no question" in tour_text(editor)
    editor.keys("<F2>")
    chat.finished()
    assert "isolated" in chat.transcript()
