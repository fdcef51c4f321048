"""``:AgentUndo`` and ``:AgentRedo`` in a real editor."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Call, call, calls, text


def edit(path: str, old: str, new: str, id: str = "e") -> Call:
    return call("edit", {"path": path, "edits": [{"old_text": old, "new_text": new}]}, id)


def tree(workspace: Path) -> dict[str, str]:
    found = (path for path in workspace.rglob("*") if path.is_file())
    return {str(path.relative_to(workspace)): path.read_text() for path in found}


@pytest.fixture
def yolo(chat: Chat, editor: Editor) -> Chat:
    """A chat that asks as little as can be."""
    chat.focus()
    editor.command("AgentMode yolo")
    editor.wait(lambda: chat.status()["mode"] == "yolo", why="the mode")
    return chat


def undo(chat: Chat, editor: Editor, command: str = "AgentUndo") -> None:
    chat.focus()
    editor.command(command)


def test_a_turn_is_undone_and_redone_after_the_host_died(
    yolo: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    before = tree(workspace)
    batch = calls(
        edit("notes.txt", "two", "2"),
        edit("README.md", "people", "them", "r"),
        call("write", {"path": "new.txt", "content": "new\n"}, "w"),
        call("delete", {"path": "test_greet.py"}, "d"),
    )
    model_server.script(batch, text("Done."))
    editor.command("wincmd p | edit test_greet.py | split notes.txt")
    yolo.send("change things")
    if yolo.asks():
        yolo.answer("a")
    yolo.finished()
    after = tree(workspace)
    assert after != before
    yolo.focus()
    assert editor.eval("getcompletion('AgentUndo ', 'cmdline')") == ["1"]
    undo(yolo, editor)
    editor.wait_text("removed: new.txt", yolo.buffer)
    assert tree(workspace) == before
    assert "brought back: test_greet.py" in yolo.transcript()
    assert editor.text(editor.eval("bufnr('notes.txt')")) == before["notes.txt"].rstrip("\n")
    os.kill(editor.children()[0], signal.SIGKILL)
    editor.wait_event("AgentHostExited")
    editor.wait_notice("agentchat: ")
    undo(yolo, editor, "AgentRedo")
    editor.wait_text("created again: new.txt", yolo.buffer)
    assert tree(workspace) == after
    assert yolo.status()["turn"] == 1
    model_server.script(text("I see."))
    yolo.play("go on")
    assert "The user ran :AgentRedo on turn 1." in model_server.requests[-1].said()
    assert yolo.status()["turn"] == 2


def test_a_file_edited_since_stays_and_a_command_is_named(
    yolo: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    batch = calls(
        edit("notes.txt", "two", "2"),
        edit("README.md", "people", "them", "r"),
        call("bash", {"command": "touch made"}, "b"),
    )
    model_server.script(batch, text("Done."))
    yolo.send("change things")
    if yolo.asks():
        yolo.answer("a")
    yolo.finished()
    (workspace / "notes.txt").write_text("mine\n")
    undo(yolo, editor)
    editor.wait_text("left alone: notes.txt", yolo.buffer)
    assert (workspace / "notes.txt").read_text() == "mine\n"
    assert "people" in (workspace / "README.md").read_text()
    assert "not undoable: bash `touch made`" in yolo.transcript()


@pytest.mark.smoke
def test_a_preview_applied_by_the_user_is_undone(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    before = tree(workspace)
    ops = [{"pat": "greet($A)", "out": "welcome($A)"}]
    model_server.script(calls(call("ast_edit", {"ops": ops, "lang": "python"})), text("Shall I?"))
    chat.play("rename it")
    chat.focus()
    editor.command("AgentResolve apply")
    chat.event("AgentPreviewResolved")
    assert tree(workspace) != before
    editor.lua("require('agentchat').undo(...)", chat.buffer, 1)
    editor.wait_text("restored: src/app.py", chat.buffer)
    assert tree(workspace) == before


def test_nothing_to_undo_is_one_line_and_turns_complete(chat: Chat, editor: Editor) -> None:
    for command, said in (
        ("AgentUndo", "Nothing to undo"),
        ("AgentRedo", "Nothing to redo"),
        ("AgentUndo 3", "There is no turn 3"),
        ("AgentUndo x", 'unknown turn "x"'),
    ):
        undo(chat, editor, command)
        assert "\n" not in editor.wait_notice(said)
    assert editor.eval("getcompletion('AgentUndo ', 'cmdline')") == []
