"""A chat whose workspace is on another machine, reached through a real SSH server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support import project
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text
from tests.support.sshd import Sshd


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """A project on the other machine."""
    return project.build(tmp_path / "far").resolve()


@pytest.fixture
def ssh_editor(start_editor: StartEditor, model_server: ModelServer, sshd: Sshd) -> Editor:
    """An editor with an ``ssh`` that reaches the server as ``box``."""
    return start_editor({"ssh": {"command": sshd.command}}, env=connected(model_server))


def tree(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_a_chat_reads_edits_runs_and_undoes_on_another_machine(
    ssh_editor: Editor, model_server: ModelServer, workspace: Path, far: Path
) -> None:
    here, there = tree(workspace), tree(far)
    edits = [{"old_text": "two", "new_text": "2"}]
    model_server.script(
        calls(call("read", {"path": "notes.txt"})),
        calls(call("edit", {"path": "notes.txt", "edits": edits})),
        calls(call("bash", {"command": "pwd; cat notes.txt; echo $HOME"})),
        text("Done."),
    )
    chat = Chat.open(ssh_editor, f"AgentChat ssh://box{far}")
    assert ssh_editor.screen()[0].endswith("box:far")
    chat.send("count")
    assert "box" in chat.asked("edit").text
    chat.answer("a")
    shown = chat.asked("bash").text
    assert "box" in shown
    assert str(far) in shown
    chat.answer("a")
    chat.finished()
    assert (far / "notes.txt").read_text() == "one\n2\nthree\n"
    assert f"{far}\none\n2\nthree\n" in model_server.requests[-1].said()
    system = model_server.requests[0].messages[0]["content"]
    assert f"Working directory: {far} (on another machine: box)" in system
    chat.focus()
    ssh_editor.command("AgentUndo")
    ssh_editor.wait_text("restored: notes.txt", chat.buffer)
    assert tree(far) == there
    assert tree(workspace) == here


def test_what_was_typed_comes_back_while_the_machine_cannot_be_reached(
    start_editor: StartEditor, model_server: ModelServer, sshd: Sshd, far: Path
) -> None:
    settings = {"ssh": {"command": sshd.command}, "workspace": f"ssh://gone{far}"}
    editor = start_editor(settings, env=connected(model_server))
    chat = Chat.open(editor)
    editor.wait_text("gone refuses connections. Check the port, and that sshd runs.", chat.buffer)
    chat.send("read the notes")
    editor.wait(lambda: chat.prompt() == "read the notes", why="the text is in the prompt again")
    chat.idle()
    assert model_server.requests == []


def test_a_saved_chat_goes_on_where_it_was(
    ssh_editor: Editor, model_server: ModelServer, far: Path
) -> None:
    url = f"ssh://box{far}"
    model_server.script(text("Yes."), calls(call("bash", {"command": "pwd"})), text("Done."))
    ssh_editor.lua("vim.ui.select = function(items, _, choose) choose(items[1]) end")
    ssh_editor.lua("vim.g.agentchat = vim.tbl_extend('force', vim.g.agentchat, ...)", {
        "workspace": url, "mode": "ask",
    })  # fmt: skip
    chat = Chat.open(ssh_editor)
    chat.play("hello")
    ssh_editor.command(f"bwipeout! {chat.buffer}")
    again = Chat.open(ssh_editor, "AgentHistory")
    assert again.id == chat.id
    again.play("where are you")  # there is no overlay there, and it only reads
    assert str(far) in model_server.requests[-1].said()


def test_what_names_no_workspace_opens_no_chat(ssh_editor: Editor) -> None:
    ssh_editor.command("AgentChat ssh://-oProxyCommand=x/y")
    ssh_editor.wait_notice(r"use ssh://\[user@\]host")
    assert ssh_editor.lua("return #require('agentchat.chat.registry').all()") == 0
