"""Slash commands as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


@pytest.mark.asks_first
def test_a_command_of_the_project_completes_asks_and_is_sent(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(None, env=connected(model_server))
    folder = Path(editor.eval("getcwd()")) / ".claude/commands"
    body = "---\ndescription: Review a file\nargument-hint: FILE\n---\nReview $1: !`echo hello`"
    write(folder / "review.md", body)
    chat = Chat.open(editor)
    chat.type("/rev")
    editor.wait(lambda: "review" in names(chat), why="the command is listed")
    editor.keys("<C-x><C-o>")
    editor.wait_screen("/review FILE")
    editor.type(" a.py")
    model_server.script(text("fine"))
    editor.keys("<C-s>")
    shown = chat.asked("bash")
    assert "for /review" in " ".join("\n".join(shown.lines).split())
    chat.answer("a")
    chat.finished()
    assert model_server.requests[-1].last == "Review a.py: hello"
    assert "/review a.py" in chat.transcript()


def names(chat: Chat) -> list[str]:
    """The commands that the chat offers."""
    source = """
        local chat = require('agentchat.chat.registry').of(...)
        return vim.tbl_map(
          function(item) return item.name end, require('agentchat.prompt.slash').list(chat)
        )
    """
    found: list[str] = chat.editor.lua(source, chat.buffer)
    return found


def test_a_built_in_command_runs_and_an_unknown_one_comes_back(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(None, env=connected(model_server))
    chat = Chat.open(editor)
    chat.send("/mode plan")
    editor.wait(lambda: chat.status()["mode"] == "plan", why="the mode")
    assert chat.prompt() == ""
    chat.send("/nothing here")
    editor.wait(lambda: chat.prompt() == "/nothing here", why="the prompt comes back")
    chat.idle()
    editor.wait_notice("There is no command /nothing")
    assert not model_server.requests


def test_a_skill_of_the_project_is_used_once_it_is_trusted(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(None, env=connected(model_server))
    skill = Path(editor.eval("getcwd()")) / ".claude/skills/pdf/SKILL.md"
    write(skill, "---\ndescription: Work with PDF files.\n---\nFill in the form.")
    chat = Chat.open(editor)
    editor.wait_notice("not trusted, so not used: pdf")
    model_server.script(text("ok"), calls(call("skill", {"name": "pdf"})), text("ok"))
    chat.play("go")
    assert "pdf" not in str(model_server.requests[-1].messages[0])
    editor.command(f"edit {skill}")
    editor.command("trust")
    chat.play("go")
    assert "- pdf: Work with PDF files." in str(model_server.requests[-1].messages[0])
    assert "Fill in the form." in model_server.requests[-1].result
