"""The list of saved chats, and forks at a message."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import text


def lines(editor: Editor) -> list[str]:
    """The lines of the current buffer."""
    found: list[str] = editor.eval("getline(1, '$')")
    return found


def listed(editor: Editor, command: str = "AgentSessions") -> list[str]:
    """Open the list and return its lines without the times."""
    editor.command(command)
    editor.wait(lambda: editor.eval("&filetype") == "agentchat-sessions", why="the list is open")
    return [line[18:] for line in lines(editor)]


def test_the_list_previews_a_chat_and_resumes_it(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(text("Both are good plans."), text("Fine."))
    chat.play("make a plan")
    other = Chat.open(editor, "AgentChat!")
    other.play("say something")
    assert listed(editor) == ["say something  (open)", "make a plan  (open)"]
    editor.keys("j")
    preview = editor.eval("winbufnr(2)")
    editor.wait_text("Both are good plans.", preview)
    editor.keys("<CR>")
    editor.wait(lambda: editor.eval("bufnr()") == chat.buffer, why="the chat is shown")
    assert editor.eval("tabpagenr('$')") == 1


def test_a_chat_that_is_closed_is_searched_exported_and_deleted(
    start_editor: StartEditor, model_server: ModelServer, tmp_path: Path, workspace: Path
) -> None:
    home = tmp_path / "home"
    editor = start_editor(env=connected(model_server), home=home)
    model_server.script(text("Paris."), text("Rome."))
    first = Chat.open(editor)
    first.play("the capital of France?")
    second = Chat.open(editor, "AgentChat!")
    second.play("the capital of Italy?")
    assert listed(editor, "AgentSessions paris") == ["the capital of France?  (open)"]
    editor.keys("d")
    editor.wait_notice("this chat is open: close it with :bdelete first")
    editor.command(f"bdelete! {first.buffer}")
    editor.lua("vim.ui.input = function(opts, done) done(vim.g.typed) end")
    editor.lua("vim.ui.select = function(items, opts, done) done(items[2]) end")
    editor.command("let g:typed = 'chat.md'")
    editor.keys("e")
    editor.wait(lambda: (workspace / "chat.md").exists(), why="the chat is exported")
    exported = (workspace / "chat.md").read_text(encoding="utf-8")
    assert exported.startswith("# the capital of France?\n\n## You\n\nthe capital of France?\n")
    assert "## Agent\n\nParis.\n" in exported
    editor.keys("d")
    editor.wait(lambda: lines(editor) == ["(none)"], why="the chat is deleted")
    assert not list(home.rglob(f"{first.id}*"))
    editor.command("let g:typed = ''")
    editor.keys("s")
    editor.wait(lambda: "Italy" in lines(editor)[0], why="all chats are listed")


def test_a_fork_at_a_message_of_the_user_ends_before_it_and_has_its_text_in_the_prompt(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(text("One."), text("Two."), text("Other."))
    chat.play("first question")
    chat.play("second question")
    chat.focus()
    editor.command("normal! gg")
    editor.keys("]]]]gF")
    editor.wait(lambda: editor.eval("bufnr()") != chat.buffer, why="the copy is shown")
    id = editor.eval("b:agentchat_chat")
    copy = Chat(editor, {"chat": id, "buf": editor.eval("bufnr()")})
    editor.wait_text("One.", copy.buffer)
    assert copy.prompt() == "second question"
    assert "Two." not in copy.transcript()
    editor.keys("<C-s>")
    copy.finished()
    asked = str(model_server.requests[-1].body["messages"])
    assert "first question" in asked
    assert "Two." not in asked
    rows = listed(editor)
    assert [row.split("  (")[0] for row in rows] == ["first question", "└ first question"]


def test_mode_and_model_of_a_chat_are_restored_and_yolo_is_not(
    start_editor: StartEditor, model_server: ModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = start_editor(env=connected(model_server), home=home)
    model_server.script(text("Hello."), text("Again."))
    chat = Chat.open(first)
    chat.play("hi")
    first.command("AgentModel other-model")
    first.command("AgentMode edit")
    first.wait(lambda: chat.status()["mode"] == "edit", why="the mode is changed")
    first.finish()
    second = start_editor(env=connected(model_server), home=home)
    second.lua("vim.ui.select = function(items, opts, choose) choose(items[1], 1) end")
    again = Chat.open(second, "AgentHistory")
    second.wait(lambda: again.status()["mode"] == "edit", why="the mode is restored")
    again.play("and now?")
    assert model_server.requests[-1].body["model"] == "other-model"
    second.command("AgentMode yolo")
    second.wait(lambda: again.status()["mode"] == "yolo", why="the mode is changed")
    second.finish()
    third = start_editor(env=connected(model_server), home=home)
    third.lua("vim.ui.select = function(items, opts, choose) choose(items[1], 1) end")
    last = Chat.open(third, "AgentHistory")
    third.wait_notice("This chat was in yolo mode")
    assert last.status()["mode"] == "ask"


def test_a_chat_is_renamed_in_the_list_and_each_line_says_what_it_is_about(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(text("Both are good plans."))
    chat.play("make a plan")
    editor.lua("vim.ui.input = function(opts, done) done(vim.g.typed) end")
    listed(editor)
    editor.wait_screen("1 turn · ")
    editor.command("let g:typed = 'The great plan'")
    editor.keys("r")
    editor.wait(lambda: "The great plan  (open)" in lines(editor)[0], why="it is renamed")
    editor.keys("q")
    editor.wait_screen("The great plan")
    assert listed(editor) == ["The great plan  (open)"]
    editor.command("let g:typed = ''")
    editor.keys("r")
    editor.wait(lambda: "make a plan  (open)" in lines(editor)[0], why="its first prompt again")
