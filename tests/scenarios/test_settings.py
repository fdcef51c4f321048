"""Settings and arguments, good and bad."""

from __future__ import annotations

from typing import Any

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import text

WRONG: dict[str, Any] = {
    "modle": {},
    "model": {"base_ulr": "x"},
    "tools": {"max_paralel": 3, "max_parallel": "three", "default": ["agent", "raed"]},
    "mode": "aks",
    "ui": {"prompt_delay_ms": "soon"},
    "rules": [{"action": "permit"}, {"acton": "deny"}],
}

REPORTED = [
    ["modle", "model"],
    ["base_ulr", "base_url"],
    ["max_paralel", "max_parallel"],
    ["max_parallel must", "whole number"],
    ["mode must", "aks", "ask"],
    ["prompt_delay_ms"],
    ["rules[1]", "deny"],
    ["rules[2]", "acton", "did you mean action"],
    ["raed", "tools.default", "did you mean read"],
]
"""Words of each line."""


def test_wrong_settings_are_reported_once_and_the_rest_applies(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(WRONG, env=connected(model_server))
    assert editor.notices == []
    model_server.always(text("ok"))
    Chat.open(editor).play("hello")
    Chat.open(editor, "vertical AgentChat!").play("again")
    # One message each about their shape, the rules and the tools.
    editor.wait(lambda: len(editor.notices) == 3, why="all is told")
    told = [notice.text for notice in editor.notices]
    assert told[0].startswith("agentchat: 6 settings are wrong: ")
    assert all(text.startswith("agentchat: ") and "\n" not in text for text in told)
    for words in REPORTED:
        assert any(all(word in text for word in words) for text in told), words
    assert "bash" in model_server.requests[-1].tools


def test_settings_that_are_no_table_are_reported(start_editor: StartEditor) -> None:
    editor = start_editor(init="vim.g.agentchat = 'yes'")
    Chat.open(editor)
    assert "g:agentchat" in editor.wait_notice("agentchat: .*(table|dictionary)")


def test_setup_is_optional_and_equal(start_editor: StartEditor, model_server: ModelServer) -> None:
    editor = start_editor(
        init="require('agentchat').setup({ python = vim.g.agentchat.python, mode = 'yolo' })",
        env=connected(model_server),
    )
    chat = Chat.open(editor)
    editor.wait_event("AgentHostStarted")
    editor.wait(lambda: chat.status()["mode"] == "yolo", why="the mode in the status")


def test_settings_are_read_when_needed(editor: Editor, model_server: ModelServer) -> None:
    editor.command("let g:agentchat.tools = {'default': ['read']}")
    chat = Chat.open(editor)
    model_server.script(text("ok"))
    chat.play("hello")
    assert model_server.requests[0].tools == ["read"]


def test_an_unknown_argument_names_those_there_are(chat: Chat, editor: Editor) -> None:
    for command, words in [
        ("AgentMode fast", ["fast", "ask", "plan"]),
        ("AgentApprove maybe", ["maybe", "accept"]),
        ("AgentApprovals all", ["all", "clear"]),
    ]:
        chat.focus()
        editor.command(command)
        notice = editor.wait_notice(words[0])
        assert [word for word in words if word not in notice] == []
        assert "\n" not in notice


def test_a_command_of_the_chat_says_so_elsewhere(editor: Editor) -> None:
    for name in ("AgentSend", "AgentStop", "AgentTools", "AgentLog"):
        editor.command(name)
        assert "\n" not in editor.wait_notice("chat")


def test_arguments_complete(chat: Chat, editor: Editor) -> None:
    editor.wait_event("AgentHostStarted")
    chat.focus()
    for line, offered in [
        ("AgentApprove ", ["always", "accept", "reject", "cancel"]),
        ("AgentResolve ", ["apply", "discard"]),
        ("AgentMode ", ["ask", "edit", "plan", "yolo"]),
        ("AgentMode p", ["plan"]),
        ("AgentApprovals ", ["clear"]),
    ]:
        found = editor.eval(f"getcompletion('{line}', 'cmdline')")
        assert [word for word in offered if word not in found] == [], line


def test_the_tools_are_listed_without_resolve(chat: Chat, editor: Editor) -> None:
    editor.wait_event("AgentHostStarted")
    chat.focus()
    editor.command("AgentTools")
    editor.wait(
        lambda: "ast_edit" in "\n".join(editor.screen()) or "ast_edit" in editor.float_text()
    )
    shown = editor.float_text() or editor.text()
    for tool in ("read", "grep", "bash", "agent", "readonly"):
        assert tool in shown
    assert "resolve" not in shown.split()


def test_the_log_shows_what_happened(chat: Chat, editor: Editor, model_server: ModelServer) -> None:
    model_server.script(text("an answer to keep"))
    chat.play("a question to keep")
    chat.focus()
    editor.command("AgentLog")
    editor.wait(lambda: "a question to keep" in (editor.float_text() or ""), why="the log")
    assert "an answer to keep" in editor.float_text()
