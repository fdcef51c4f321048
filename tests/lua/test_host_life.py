"""The host process as Lua sees it: what it is told, and what becomes of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.conftest import StartEditor
from tests.support.chat import Chat
from tests.support.editor import Editor

from .conftest import Drawn

PHASE = "require('agentchat.host.process').state().phase"


def test_two_halves_of_different_versions_say_so(offline_editor: Editor) -> None:
    offline_editor.lua("require('agentchat.host.process').VERSION = '9.9.9'")
    chat = Chat.open(offline_editor)
    chat.send("keep me")
    notice = offline_editor.wait_notice("version 9.9.9")
    assert "restart Neovim" in notice
    offline_editor.allow("version 9.9.9")  # again, if the words were sent to a second host
    offline_editor.wait(lambda: chat.prompt() == "keep me", why="the words are given back")
    offline_editor.wait(lambda: offline_editor.children() == [], why="no host is left")


def test_a_host_that_keeps_dying_is_started_ever_later(offline_editor: Editor) -> None:
    chat = Chat.open(offline_editor)
    for _ in range(2):
        offline_editor.wait_event("AgentHostStarted")
        os.kill(offline_editor.children()[0], signal.SIGKILL)
        offline_editor.wait_notice("the next use starts it again")
        offline_editor.command("AgentTools")
    assert offline_editor.lua(f"return {PHASE}") == "paused"
    offline_editor.wait_event("AgentHostStarted")
    assert chat.status()["state"] == "idle"


def test_after_a_restart_all_chats_are_known_again(offline_editor: Editor) -> None:
    first = Chat.open(offline_editor)
    offline_editor.wait_event("AgentHostStarted")
    second = Chat.open(offline_editor, "vertical AgentChat!")
    os.kill(offline_editor.children()[0], signal.SIGKILL)
    offline_editor.wait_notice("the next use starts it again")
    first.play("ls")
    second.play("ls")


def test_a_chat_that_is_wiped_out_is_forgotten(drawn: Drawn) -> None:
    drawn.editor.command("bwipeout!")
    assert drawn.editor.lua("return #require('agentchat.chat.registry').all()") == 0
    drawn.draw(("text", "nobody hears this"))
    drawn.editor.command("AgentChat")
    assert drawn.editor.eval("bufname()") == "agentchat://2"


def test_a_chat_that_is_deleted_is_forgotten(drawn: Drawn) -> None:
    drawn.editor.command("bdelete!")
    drawn.editor.wait("#require('agentchat.chat.registry').all() == 0")
    drawn.editor.command("AgentChat")
    assert drawn.editor.eval("bufname()") == "agentchat://2"


def test_health_names_what_is_missing(start_editor: StartEditor, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\nexit 3\n")
    bare.chmod(0o755)
    editor = start_editor({"python": str(bare), "mdoe": "ask"})
    editor.command("checkhealth agentchat")
    report = editor.text()
    assert "Python does not run" in report
    assert "did you mean mode?" in report
    assert "Run :AgentInstall" in report
    editor.wait_notice("mdoe")


def test_what_waits_for_a_host_that_is_replaced_is_sent_once(offline_editor: Editor) -> None:
    chat = Chat.open(offline_editor)
    offline_editor.wait_event("AgentHostStarted")
    offline_editor.lua(
        """
        local host = require('agentchat.host.process')
        host.stop()
        require('agentchat').send(..., 'ls')
        host.restart() -- as :AgentInstall does
        """,
        chat.buffer,
    )
    chat.finished()
    assert chat.text().count("\nls\n") == 1
    assert chat.prompt() == ""
    assert chat.status()["turn"] == 1
