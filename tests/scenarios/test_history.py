"""Saved chats: listed, resumed in another Neovim, forked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

SELECT = """
vim.ui.select = function(items, opts, choose)
  vim.g.offered = vim.tbl_map(opts.format_item, items)
  vim.schedule(function() choose(items[1], 1) end)
end
"""
"""Takes the first that is offered."""


def resumed(editor: Editor, command: str) -> Chat:
    """The chat that a command opens."""
    editor.lua(SELECT)
    return Chat.open(editor, command)


def test_a_chat_is_resumed_in_another_neovim_and_its_changes_can_be_taken_back(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = start_editor(env=connected(model_server), home=home)
    chat = Chat.open(first)
    model_server.script(
        calls(call("write", {"path": "new.txt", "content": "made\n"}, "c1")), text("It is made.")
    )
    chat.send("make a file")
    chat.asked("write")
    chat.answer("a")
    chat.finished()
    first.finish()

    second = start_editor(env=connected(model_server), home=home)
    second.command("AgentHistory nothing like this")
    second.wait_notice('no saved chats of this project with "nothing like this"')
    again = resumed(second, "AgentHistory FILE")
    assert again.id == chat.id
    second.wait_text("It is made.", again.buffer)
    assert second.eval("g:offered")[0].endswith("make a file")
    transcript = again.transcript()
    assert transcript.index("make a file") < transcript.index("write new.txt")
    assert transcript.index("write new.txt") < transcript.index("It is made.")
    again.idle()
    assert again.status()["turn"] == 1

    model_server.script(text("Welcome back."))
    again.play("do you remember?")
    asked = model_server.requests[-1]
    assert asked.last == "do you remember?"
    assert asked.results["c1"].startswith("Created new.txt")
    second.command("AgentUndo 1")
    second.wait(lambda: not (workspace / "new.txt").exists(), why="the file is gone")


def test_a_resumed_chat_has_the_tools_the_folds_and_the_previews_it_had(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    home, notes = tmp_path / "home", workspace / "notes.txt"
    settings = {"tools": {"edits": "stage"}}
    first = start_editor(settings, env=connected(model_server), home=home)
    chat = Chat.open(first)
    chat.focus()
    first.command("AgentTools remove bash")
    edit = {"path": "notes.txt", "edits": [{"old_text": "two", "new_text": "2"}]}
    model_server.script(
        calls(call("read", {"path": "notes.txt"}, "1"), call("read", {"path": "README.md"}, "2")),
        calls(call("edit", edit, "3")),
        text("a line\n\n" * 100 + "Shall I?"),
    )
    chat.play("count")
    before = chat.transcript().removeprefix("Tools removed: bash\n\n")
    assert chat.status()["pending"] == 1
    first.finish()

    second = start_editor(settings, env=connected(model_server), home=home)
    again = resumed(second, "AgentHistory")
    again.event("AgentPreviewStaged", label="Edit: 1 replacement in 1 file")
    second.wait(lambda: again.transcript() == before, why="all is drawn again, in two parts")
    again.focus()
    second.keys("gg")
    second.wait_screen("read 2 files")
    assert again.status()["pending"] == 1
    second.command("AgentResolve apply")
    second.wait(lambda: notes.read_text() == "one\n2\nthree\n", why="the preview is applied")
    second.command("AgentUndo")
    second.wait(lambda: notes.read_text() == "one\ntwo\nthree\n", why="it is undone")
    model_server.script(text("Bye."))
    again.play("thanks")
    asked = model_server.requests[-1]
    assert "edit" in asked.tools
    assert "bash" not in asked.tools
    assert "Applied 1 replacement in 1 file." in asked.said()


@pytest.mark.smoke
def test_a_fork_goes_on_in_a_copy_of_a_chat_that_is_open(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(text("The plan is A."), text("In the copy."), text("In the first."))
    chat.play("make a plan")
    copy = resumed(editor, "AgentHistory!")
    assert copy.id != chat.id
    editor.wait_text("The plan is A.", copy.buffer)
    copy.play("try B in the copy")
    assert "make a plan" in [m["content"] for m in model_server.requests[-1].body["messages"]]
    assert "try B" not in chat.text()
    chat.play("go on with A")
    assert "try B" not in str(model_server.requests[-1].body["messages"])


def test_choosing_a_chat_that_is_open_shows_it(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(text("Hello."))
    chat.play("hi")
    editor.command("tabnew")
    editor.lua(SELECT)
    editor.command("AgentHistory")
    editor.wait(lambda: editor.eval("bufnr()") == chat.buffer, why="the chat is shown")
    assert "(open)" in editor.eval("g:offered")[0]


def test_an_unsent_prompt_returns_when_the_chat_is_resumed(
    start_editor: StartEditor, model_server: ModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = start_editor(env=connected(model_server), home=home)
    model_server.script(text("Hello."))
    chat = Chat.open(first)
    chat.play("hi")
    chat.type("half a\nquestion")
    first.keys("<C-\\><C-n>")
    first.command(f"bdelete {chat.buffer}")
    again = resumed(first, "AgentHistory")
    assert again.prompt() == "half a\nquestion"
    first.keys("<C-\\><C-n>")
    first.close()
    second = start_editor(env=connected(model_server), home=home)
    last = resumed(second, "AgentHistory")
    assert last.prompt() == "half a\nquestion"
    second.wait_text("Hello.", last.buffer)
    assert last.prompt() == "half a\nquestion"
    assert not list(home.rglob("drafts/*"))
