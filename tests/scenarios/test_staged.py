"""Edits of several files that are staged as one preview, in a real editor."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

GREET = {"old_text": '"Hello, " + name', "new_text": '"Hi, " + name'}
RESOLVE = {"action": "apply", "reason": "ready"}


def test_edits_in_several_files_are_reviewed_applied_and_undone_as_one(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    editor = start_editor({"tools": {"edits": "stage"}}, env=connected(model_server))
    before = {path: path.read_text() for path in workspace.rglob("*") if path.is_file()}
    editor.command("edit notes.txt")
    editor.keys("oown line<Esc>")
    editor.command("write")
    notes = editor.eval("bufnr()")
    chat = Chat.open(editor)
    model_server.script(
        calls(
            call("edit", {"path": "src/greet.py", "edits": [GREET]}, "1"),
            call("delete", {"path": "notes.txt"}, "2"),
            call("write", {"path": "doc/notes.txt", "content": "one\nown line\n3\nthree\n"}, "3"),
            say="",
        ),
        calls(call("resolve", RESOLVE, "4")),
        text("done"),
    )
    chat.send("go")
    question = chat.asked("resolve").text
    assert "A always" not in question
    assert "2 files, +2 -2" in question
    assert "notes.txt → doc/notes.txt" in question
    assert (workspace / "notes.txt").exists()
    editor.command("AgentApprove accept")
    chat.finished()
    assert (workspace / "doc/notes.txt").read_text() == "one\nown line\n3\nthree\n"
    assert not (workspace / "notes.txt").exists()
    assert '"Hi, " + name' in (workspace / "src/greet.py").read_text()
    assert editor.eval(f"bufname({notes})") == "doc/notes.txt"
    assert editor.text(notes) == "one\nown line\n3\nthree"
    assert editor.eval(f"len(undotree({notes}).entries)") == 2
    chat.focus()
    editor.command("AgentUndo")
    editor.wait(lambda: (workspace / "notes.txt").exists(), why="the files come back")
    editor.wait_text("- restored: src/greet.py", chat.buffer)
    assert not (workspace / "doc/notes.txt").exists()
    assert (workspace / "notes.txt").read_text() == "one\nown line\ntwo\nthree\n"
    assert (workspace / "src/greet.py").read_text() == before[workspace / "src/greet.py"]
