"""Files that are no UTF-8, open in a real editor."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import Call, call, calls, text

BEFORE = "café one\r\ncafé two\r\n".encode("latin-1")


@pytest.fixture
def file(workspace: Path) -> Path:
    """A file in Latin-1."""
    path = workspace / "old.txt"
    path.write_bytes(BEFORE)
    return path


@pytest.fixture
def chat(start_editor: StartEditor, model_server: ModelServer, file: Path) -> Chat:
    """A chat in a free mode, beside the file in its buffer."""
    editor = start_editor({"mode": "edit"}, env=connected(model_server))
    editor.command("edit old.txt")
    assert editor.eval("&fileencoding") == "latin1"
    return Chat.open(editor)


def edit(new: str) -> Call:
    return call("edit", {"path": "old.txt", "edits": [{"old_text": "é one", "new_text": new}]}, "2")


def test_a_buffer_in_another_encoding_is_read_edited_saved_and_undone_in_it(
    chat: Chat, model_server: ModelServer, file: Path
) -> None:
    reading = call("read", {"path": "old.txt"}, "1")
    model_server.script(calls(reading), calls(edit("é 1")), text("ok"))
    chat.play("go")
    assert "café one" in model_server.requests[1].results["1"]
    assert model_server.requests[2].results["2"] == "Edited old.txt: 1 replacement."
    assert file.read_bytes() == BEFORE.replace(b"one", b"1")
    chat.editor.command("AgentUndo")
    chat.editor.wait(lambda: file.read_bytes() == BEFORE, why="the edit is taken back")


def test_text_that_the_encoding_cannot_hold_is_refused(
    chat: Chat, model_server: ModelServer, file: Path
) -> None:
    model_server.script(calls(edit("é → 1")), text("ok"))
    chat.play("go")
    said = model_server.requests[1].results["2"]
    assert said == (
        "The buffer of old.txt is in the encoding latin1, which cannot hold the new text. "
        "Nothing was changed."
    )
    assert file.read_bytes() == BEFORE
    assert not chat.editor.eval("getbufvar('old.txt', '&modified')")


def test_a_file_rewritten_behind_its_buffer_is_not_overwritten(
    chat: Chat, model_server: ModelServer, file: Path
) -> None:
    file.write_bytes("café one, mine\r\n".encode("latin-1"))
    model_server.script(calls(edit("é 1")), text("ok"))
    chat.play("go")
    assert b"mine" in file.read_bytes()
