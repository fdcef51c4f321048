"""Stage mode: the agent works on an overlay, and the user reviews everything at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return the mode and the content of everything in a folder."""
    found = {}
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        data = b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(root))] = (mode, data)
    return found


@pytest.fixture
def staging(start_editor: StartEditor, model_server: ModelServer) -> Chat:
    """A chat in stage mode."""
    editor = start_editor({"mode": "stage"}, env=connected(model_server))
    return Chat.open(editor)


def bash(command: str, **more: Any) -> Any:
    return call("bash", {"command": command, **more})


def edit(path: str, old: str, new: str) -> Any:
    return call("edit", {"path": path, "edits": [{"old_text": old, "new_text": new}]})


def test_edits_and_commands_run_unasked_and_are_one_preview_that_can_be_applied_and_undone(
    editor: Editor, chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    before = tree(workspace)
    chat.focus()
    editor.command("AgentMode stage")
    editor.wait(lambda: chat.status()["mode"] == "stage", why="the mode changed")
    model_server.script(
        calls(edit("notes.txt", "two", "2")),
        calls(bash("cat notes.txt; rm -r src; echo new > new.txt; ln -s new.txt link")),
        text("Done."),
    )
    chat.play("go")
    said = model_server.requests[-1].said()
    assert "one\n2\nthree" in said
    assert "Changed " in said
    assert "new.txt (+1 -0)" in said
    assert tree(workspace) == before
    staged = chat.event("AgentPreviewStaged", source="stage")
    assert staged["label"].startswith("Turn 1: ")
    editor.command("AgentResolve apply good")
    chat.event("AgentPreviewResolved", source="stage", status="success")
    assert (workspace / "notes.txt").read_text() == "one\n2\nthree\n"
    assert (workspace / "link").readlink() == Path("new.txt")
    assert not (workspace / "src").exists()
    model_server.script(text("Yes."))
    chat.play("and?")
    assert "Applied all of it" in model_server.requests[-1].said()
    editor.command("AgentUndo 1")
    editor.wait_text("Undo of turn 1", chat.buffer)
    editor.wait(lambda: tree(workspace) == before, why="everything is as it was")
    assert json.dumps(chat.status())
