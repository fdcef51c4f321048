"""What a chat costs, as its user sees it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Reply, call, calls, text


def settings(server: ModelServer, name: str = "gpt-4o", **more: Any) -> dict[str, Any]:
    model = {"provider": "openai", "name": name, "base_url": server.url}
    return {"model": {**model, "protocol": "openai-chat"}, **more}


KEY = {"OPENAI_API_KEY": "sk-1"}
DOLLAR = Reply(("One dollar.",), usage=(400_000, 0))
"""At 2.5 dollars a million tokens."""


def page(editor: Editor, command: str) -> str:
    editor.command(command)
    shown = editor.wait(editor.floats, why="the page")
    assert isinstance(shown, list)
    return str(shown[-1].text)


@pytest.mark.smoke
def test_cost_is_in_the_status_the_winbar_and_the_log_and_stays_after_a_resume(
    start_editor: StartEditor, model_server: ModelServer, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    editor = start_editor(settings(model_server), env=KEY, home=home)
    chat = Chat.open(editor)
    model_server.script(DOLLAR, DOLLAR)
    chat.play("one")
    chat.play("two")
    assert chat.status()["cost"] == pytest.approx(2)
    editor.wait_screen("$2.00")
    chat.focus()
    usage = page(editor, "AgentLog usage")
    assert [line.split()[-1] for line in usage.splitlines() if "turn" in line] == ["$1.00"] * 2
    assert usage.count("$2.00") == 2  # the chat and the day
    editor.finish()

    second = start_editor(settings(model_server), env=KEY, home=home)
    second.lua("vim.ui.select = function(items, _, choose) choose(items[1], 1) end")
    again = Chat.open(second, "AgentHistory")
    second.wait(lambda: again.status().get("cost"), why="the cost")
    assert again.status()["cost"] == pytest.approx(2)


def test_an_unknown_price_is_no_cost(start_editor: StartEditor, model_server: ModelServer) -> None:
    editor = start_editor(settings(model_server, "test-model"), env=KEY)
    chat = Chat.open(editor)
    model_server.script(calls(call("ls", {})), text("done"))
    chat.play("look")
    assert "cost" not in chat.status()
    editor.resize(160, 24)
    editor.wait_screen("price unknown")
    chat.focus()
    assert "price unknown" in page(editor, "AgentLog usage")


def test_a_budget_that_is_reached_asks_and_goes_on_for_as_much_again(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    works = [replace(calls(call("ls", {"path": "src"})), usage=(400_000, 0)) for _ in range(3)]
    editor = start_editor(settings(model_server, budget={"turn": 1}), env=KEY)
    chat = Chat.open(editor)
    model_server.script(*works, DOLLAR)
    chat.send("work")
    shown = chat.asked("budget")
    assert "This turn has cost $1.00, of a budget of $1.00" in f"{shown.title} {shown.text}"
    reached = chat.event("AgentBudgetReached")
    assert (reached["scope"], reached["limit"], reached["spent"]) == ("turn", 1, 1)
    assert chat.status()["state"] == "waiting"
    assert len(model_server.requests) == 1
    chat.answer("a")
    assert "$1.00 more" in chat.asked("budget").text
    editor.command("AgentApprove reject enough")
    chat.finished()
    assert len(model_server.requests) == 2
    assert "The user ended the turn here" in chat.transcript()


def test_a_budget_says_once_that_it_does_not_count_an_unknown_price(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    given = settings(model_server, "test-model", budget={"turn": 0.01})
    chat = Chat.open(start_editor(given, env=KEY))
    model_server.script(calls(call("ls", {})), text("done"))
    chat.play("look")
    said = "The price of test-model is unknown: the budget does not count its requests."
    assert chat.transcript().count(said) == 1
