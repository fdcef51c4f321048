"""The todo list above the prompt."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

TODOS = [
    {"content": "read the code", "status": "completed", "priority": "high", "id": "1"},
    {"content": "rename it", "status": "in_progress", "activeForm": "Renaming"},
    {"text": "run the tests"},
]
SHOWN = ("Todo 1/3", "✓ read the code", "● rename it", "○ run the tests")


def test_a_todo_list_is_shown_edited_and_survives_a_restart(
    start_editor: StartEditor, model_server: ModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = start_editor(env=connected(model_server), home=home)
    chat = Chat.open(first)
    model_server.script(calls(call("todowrite", {"todos": TODOS})), text("I begin."), text("Yes."))
    chat.play("go")
    for line in SHOWN:
        first.wait_screen(line)
    chat.focus()
    first.command("AgentTodo")
    first.keys("Go[ ] write it down<Esc>")
    first.command("write")
    first.wait_screen("○ write it down")
    chat.focus()
    chat.play("more?")
    sent = str(model_server.requests[-1].body)
    assert "[x] read the code" in sent
    assert "[ ] write it down" in sent
    first.finish()

    second = start_editor(env=connected(model_server), home=home)
    second.lua("vim.ui.select = function(items, _, choose) choose(items[1], 1) end")
    Chat.open(second, "AgentHistory")
    second.wait_screen("Todo 1/4")
    second.wait_screen("○ write it down")
