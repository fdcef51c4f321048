"""Plan mode in a real editor."""

from __future__ import annotations

import pytest

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text


@pytest.mark.smoke
def test_a_plan_is_refined_and_then_approved(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    chat.focus()
    editor.command("AgentMode plan")
    editor.wait(lambda: chat.status()["mode"] == "plan", why="plan mode")

    def submit(id: str, plan: str) -> None:
        given = {"action": "apply", "reason": "ready", "extra": {"title": "Greet louder"}}
        model_server.script(calls(call("resolve", given, id), say=plan))

    submit("p", "1. Shout")
    submit("q", "1. Add an exclamation mark")
    model_server.script(text("Carried out."))
    chat.send("plan it")
    shown = chat.asked("resolve")
    assert "Plan: Greet louder" in shown.title
    assert "1. Shout" in shown.text
    editor.command("AgentApprove reject no shouting")
    chat.event("AgentApprovalAnswered")
    assert "exclamation mark" in chat.asked("resolve").text
    chat.answer("a")
    chat.finished()
    assert "no shouting" in model_server.requests[1].results["p"]
    assert "You are in ask mode now" in model_server.requests[2].results["q"]
    assert chat.status()["mode"] == "ask"
