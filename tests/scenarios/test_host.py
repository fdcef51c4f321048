"""The host process: when it starts, how it fails, how it comes back."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
import threading
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter
from tests.conftest import StartEditor, connected
from tests.support import launch
from tests.support.chat import Chat
from tests.support.editor import Editor, RpcError
from tests.support.model_server import ModelServer
from tests.support.replies import Hold, call, calls, stream, text

pytestmark = pytest.mark.real_host


def host(editor: Editor) -> int:
    """Pid of the host."""
    return editor.children()[0]


def test_nothing_is_started_or_loaded_before_the_first_use(editor: Editor) -> None:
    editor.command("edit notes.txt")
    assert editor.children() == []
    loaded = "return vim.tbl_filter(function(n) return n:find('^agentchat') end, {})"
    assert editor.lua(loaded.replace("{}", "vim.tbl_keys(package.loaded)")) == []
    assert editor.eval("exists(':AgentChat')") == 2


@pytest.mark.smoke
def test_the_host_starts_with_the_first_chat(editor: Editor) -> None:
    chat = Chat.open(editor)
    editor.wait_event("AgentHostStarted")
    assert len(editor.children()) == 1
    Chat.open(editor, "vertical AgentChat!")
    assert len(editor.children()) == 1
    assert chat.status()["state"] == "idle"


def test_the_host_goes_with_the_editor(editor: Editor) -> None:
    Chat.open(editor)
    editor.wait_event("AgentHostStarted")
    assert editor.close() == {}


def test_a_host_killed_in_mid_stream_loses_nothing_typed(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(stream("as far as ", Hold(threading.Event())))
    chat.send("go on")
    editor.wait_text("as far as", chat.buffer)
    chat.type("half a question")
    os.kill(host(editor), signal.SIGKILL)
    editor.wait_event("AgentHostExited")
    chat.finished("error")
    notice = editor.wait_notice("agentchat: ")
    assert "\n" not in notice
    assert "as far as" in chat.transcript()
    assert chat.prompt() == "half a question"
    assert chat.status()["state"] == "idle"
    model_server.script(text("I am back."))
    chat.send(" goes on")
    chat.finished()
    assert "I am back." in chat.transcript()
    assert model_server.requests[-1].last == "half a question goes on"


def test_a_message_queued_when_the_host_dies_is_not_lost(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(stream("as ", Hold(threading.Event())))
    chat.send("go on")
    editor.wait_text("as", chat.buffer)
    chat.send("a steering message")
    os.kill(host(editor), signal.SIGKILL)
    editor.wait_event("AgentHostExited")
    assert "a steering message" in chat.text()
    editor.wait_notice("agentchat: ")


@pytest.mark.asks_first
def test_prompts_close_and_what_was_remembered_is_gone_when_the_host_dies(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    ls = {"command": "ls -la"}
    model_server.script(calls(call("bash", ls)), calls(call("bash", {"command": "touch m"})))
    chat.send("list and touch")
    chat.asked("bash")
    chat.answer("A")
    chat.asked("bash")
    os.kill(host(editor), signal.SIGKILL)
    editor.wait_event("AgentHostExited")
    editor.wait(lambda: not editor.floats(), why="the prompt is closed")
    editor.wait_notice("agentchat: ")
    assert chat.event("AgentApprovalAnswered", choice="cancel")
    chat.finished("error")
    assert chat.status()["prompts"] == 0
    assert not (workspace / "m").exists()
    model_server.script(calls(call("bash", ls)))
    chat.send("list again")
    chat.asked("bash")


@pytest.mark.asks_first
def test_a_running_command_dies_with_the_host(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(calls(call("bash", {"command": "echo on; sleep 44"})))
    chat.send("wait")
    chat.asked("bash")
    chat.answer("a")
    editor.wait_text("on\n", chat.buffer)
    os.kill(host(editor), signal.SIGTERM)
    editor.wait_event("AgentHostExited")
    editor.wait_notice("agentchat: ")


# --- what is missing ------------------------------------------------------------------------


def stub(folder: Path, script: str) -> str:
    """A program that stands in the place of an interpreter."""
    path = folder / "python"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


def refused(editor: Editor, *words: str) -> str:
    """Open a chat, send, and return the one line that says why it does not work."""
    chat = Chat.open(editor)
    chat.send("keep these words")
    notice = editor.wait_notice("(?i)" + "|".join(words))
    assert "\n" not in notice
    assert len(notice) < 200
    editor.wait(lambda: chat.prompt() == "keep these words", why="the words are given back")
    editor.keys("<C-\\><C-n>")
    editor.command("normal! gg")
    assert chat.status()["state"] == "idle"
    editor.allow(".")
    return notice


def test_no_python_is_one_line_with_a_remedy(start_editor: StartEditor) -> None:
    editor = start_editor({"python": "/nowhere/python3"})
    notice = refused(editor, "/nowhere/python3")
    assert "AgentInstall" in notice or "g:agentchat.python" in notice


def test_a_python_too_old_is_one_line_with_a_remedy(
    start_editor: StartEditor, tmp_path: Path
) -> None:
    pretend = (
        "import sys; sys.version_info = (3, 6, 9); code = sys.argv[2]; "
        "sys.argv[:] = sys.argv[2:]; exec(code)"
    )
    old = stub(tmp_path, f"exec '{sys.executable}' -c '{pretend}' \"$@\"\n")
    notice = refused(start_editor({"python": old}), r"3\.11", "too old", "AgentInstall")
    assert "AgentInstall" in notice or "3.11" in notice


def test_a_missing_package_is_one_line_with_a_remedy(
    start_editor: StartEditor, tmp_path: Path
) -> None:
    bare = stub(tmp_path, f"exec '{sys.executable}' -I -S \"$@\"\n")
    notice = refused(start_editor({"python": bare}), "AgentInstall")
    assert "AgentInstall" in notice


def test_a_host_that_dies_at_once_is_one_line(start_editor: StartEditor, tmp_path: Path) -> None:
    dying = stub(tmp_path, "echo oh no >&2; exit 3\n")
    refused(start_editor({"python": dying}), "agentchat: ")


def test_health_reports_each_part(editor: Editor) -> None:
    Chat.open(editor)
    editor.wait_event("AgentHostStarted")
    editor.command("checkhealth agentchat")
    report = editor.text()
    for word in ("python", "pynvim", "Neovim"):
        assert word.lower() in report.lower()
    assert "ERROR" not in report


TAGS = [
    "agentchat",
    "agentchat.status()",
    "g:agentchat",
    *(f":Agent{name}" for name in ("Chat", "Send", "Stop", "Resolve", "Approve", "Approvals")),
    *(f":Agent{name}" for name in ("Mode", "Model", "Tools", "Log", "Install")),
]


def test_each_command_has_help(start_editor: StartEditor, tmp_path: Path) -> None:
    # The checkout has no tags file of its own; a plugin manager makes one where it puts the help.
    shutil.copytree(launch.CHECKOUT / "doc", tmp_path / "help/doc")
    editor = start_editor(init=f"vim.opt.runtimepath:prepend('{tmp_path}/help')")
    editor.command(f"helptags {tmp_path}/help/doc")
    missing = []
    for tag in TAGS:
        try:
            editor.command(f"help {tag}")
        except RpcError:
            missing.append(tag)
    assert missing == []
    assert editor.eval("&filetype") == "help"


# --- more than one --------------------------------------------------------------------------


def test_two_editors_on_one_project_do_not_disturb_each_other(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    first = Chat.open(start_editor(env=connected(model_server)))
    second = Chat.open(start_editor(env=connected(model_server)))
    model_server.script(text("to one"), when="I am one")
    model_server.script(text("to two"), when="I am two")
    first.send("I am one")
    second.play("I am two")
    first.finished()
    assert "to one" in first.transcript()
    assert "to two" in second.transcript()


def test_files_that_a_killed_host_left_half_changed_are_as_before(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(text("Hello."))
    chat.play("hello")
    os.kill(host(editor), signal.SIGKILL)
    editor.wait_event("AgentHostExited")
    editor.wait_notice("agentchat: ")
    (path,) = Path(editor.eval("stdpath('state')")).rglob("journals/*.msgpack")
    journal = JournalWriter.open(path.parent.parent, chat.id)
    files = [workspace / name for name in ("README.md", "notes.txt")]
    before = [file.read_bytes() for file in files]
    changes = [
        FileChange(str(file), data, b"new\n") for file, data in zip(files, before, strict=True)
    ]
    journal.add(r.ChangeStarted("c", journal.store(ChangeSet(tuple(changes)).parts)))
    journal.close()
    files[0].write_bytes(b"new\n")
    model_server.script(text("I am back."))
    chat.play("go on")
    assert [file.read_bytes() for file in files] == before
    assert "taken back" in chat.transcript()
    assert "README.md" in chat.transcript().partition("taken back")[2]
