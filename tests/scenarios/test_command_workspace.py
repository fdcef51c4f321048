"""A chat whose workspace is behind a command of the user's: a container, here a changed root."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor, connected
from tests.support import project
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

ENTER = """
root="$0" project="$1"
shift
mount --rbind / "$root" && mount --bind "$project" "$root/srv" && exec chroot "$root" "$@"
"""
"""Enters a copy of the root in which the project is at /srv, and runs the words that follow."""


@pytest.fixture
def box(tmp_path: Path) -> dict[str, Any]:
    """The setting for a container that has its own files at ``/srv``."""
    inside = project.build(tmp_path / "inside")
    (tmp_path / "root").mkdir()
    run = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ENTER]
    run += [str(tmp_path / "root"), str(inside)]
    if shutil.which("unshare") is None or subprocess.run([*run, "true"]).returncode:
        pytest.skip("this kernel gives no user namespaces")
    return {"kind": "command", "run": run, "cwd": "/srv"}


def test_a_chat_reads_edits_and_runs_in_a_container(
    start_editor: StartEditor, model_server: ModelServer, box: dict[str, Any], tmp_path: Path
) -> None:
    editor = start_editor({"workspace": box}, env=connected(model_server), size=(100, 30))
    edits = [{"old_text": "two", "new_text": "2"}]
    model_server.script(
        calls(call("edit", {"path": "notes.txt", "edits": edits})),
        calls(call("bash", {"command": "pwd; cat ../notes.txt", "cwd": "sub"})),
        text("Done."),
    )
    (tmp_path / "inside" / "sub").mkdir()
    chat = Chat.open(editor)
    assert editor.screen()[0].endswith("inside:srv")
    chat.send("count")
    assert "unshare" in chat.asked("edit").text
    chat.answer("a")
    chat.finished()  # the command only reads
    assert (tmp_path / "inside" / "notes.txt").read_text() == "one\n2\nthree\n"
    assert "/srv/sub\none\n2\nthree" in model_server.requests[-1].said()
    editor.command(f"bwipeout! {chat.buffer}")
    editor.lua("vim.ui.select = function(items, _, choose) choose(items[1]) end")
    assert Chat.open(editor, "AgentHistory").id == chat.id


def test_a_container_that_is_not_there_is_one_clear_line(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    run = ["sh", "-c", "echo 'Error: No such container: box' >&2; exit 1"]
    settings = {"workspace": {"kind": "command", "run": run}}
    chat = Chat.open(start_editor(settings, env=connected(model_server)))
    chat.editor.wait_text("failed (Error: No such container: box)", chat.buffer)
    chat.send("hello")
    chat.editor.wait_text(
        "Not sent: the workspace still cannot be reached, see above.", chat.buffer
    )
    assert chat.text().count("failed (Error: No such container") == 1
    assert "hello" in chat.text(), "the prompt is given back"
