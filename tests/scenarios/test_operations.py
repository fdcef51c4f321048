"""A chat whose files and commands are operations in a file of the user's."""

from __future__ import annotations

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.launch import CHECKOUT
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

MEMORY = CHECKOUT / "doc" / "examples" / "operations" / "memory.py"


def test_a_chat_reads_edits_undoes_and_runs_in_memory(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    place = {"kind": "operations", "file": str(MEMORY)}
    editor = start_editor({"workspace": place}, env=connected(model_server), size=(100, 30))
    edits = [{"old_text": "two", "new_text": "2"}]
    model_server.script(
        calls(call("read", {"path": "notes.txt"})),
        calls(call("edit", {"path": "notes.txt", "edits": edits})),
        calls(call("bash", {"command": "count"})),
        calls(call("grep", {"pattern": "2", "path": "."})),
        text("Done."),
        calls(call("read", {"path": "notes.txt"})),
        text("Read."),
    )
    chat = Chat.open(editor)
    assert editor.screen()[0].endswith("memory.py")
    chat.send("count")
    asked = chat.asked("edit").text
    assert "memory.py" in asked
    assert "two" in asked
    chat.answer("a")
    chat.asked("bash")
    chat.answer("a")
    chat.finished()
    said = model_server.requests[-1].said()
    assert "one\ntwo\nthree" in said.replace("\\n", "\n")
    assert "1 files" in said
    assert "notes.txt" in said
    editor.command("AgentUndo")
    chat.send("again")
    chat.finished()
    assert "two" in model_server.requests[-1].said().rpartition("again")[2]


def test_a_file_without_operations_is_one_clear_line(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    place = {"kind": "operations", "file": str(CHECKOUT / "doc" / "examples" / "todos.py")}
    chat = Chat.open(start_editor({"workspace": place}, env=connected(model_server)))
    chat.editor.wait_text("there are no operations", chat.buffer)
