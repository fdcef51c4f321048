"""``fetch`` as a user meets it: asked for each host, local hosts only by rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import Reply, call, calls, text
from tests.support.web_server import Resource, WebServer

SETTINGS = """
local settings = vim.g.agentchat or {}
settings.rules = ...
settings.tools = { default = { 'agent', 'web' } }
vim.g.agentchat = settings
"""


VISIT = """
require('agentchat').register_tool({
  name = 'visit',
  read_only = true,
  urls = { 'to' },
  schema = { properties = { to = { type = 'string' } } },
  run = function() error('it ran') end,
})
"""


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer({"/": Resource(b"<h1>Hello</h1>"), "/b": Resource(b"<p>there</p>")})
    yield server
    server.close()


def start(start: StartEditor, server: ModelServer, *rules: dict[str, Any]) -> Chat:
    editor = start(None, env=connected(server))
    editor.lua(SETTINGS, list(rules))
    return Chat.open(editor)


def fetch(url: str) -> Reply:
    return calls(call("fetch", {"url": url}))


def test_a_page_is_fetched_after_a_question_and_always_covers_its_host(
    start_editor: StartEditor, model_server: ModelServer, web: WebServer
) -> None:
    rule = {"tool": "fetch", "host": "127.0.0.1"}
    chat = start(start_editor, model_server, {"action": "allow", **rule})
    model_server.script(fetch(web.url()), text("ok"))
    chat.play("go")
    assert "<web-page>\n# Hello\n</web-page>" in model_server.requests[-1].result
    assert "▸ fetch" in chat.transcript()
    # A name that is not resolved: only the question is looked at.
    model_server.script(fetch("https://docs.example.invalid/a"), text("ok"))
    chat.send("again")
    shown = chat.asked("fetch").text
    assert "fetch wants to reach docs.example.invalid" in shown
    assert "https://docs.example.invalid/a" in shown
    assert "fetch on docs.example.invalid" in shown
    assert "undo" not in shown
    chat.answer("A")
    chat.finished()
    assert "is not found" in model_server.requests[-1].result
    model_server.script(fetch("https://docs.example.invalid/b"), text("ok"))
    chat.play("once more")
    assert "is not found" in model_server.requests[-1].result


def test_a_local_host_is_denied_without_a_question_and_names_the_rule(
    start_editor: StartEditor, model_server: ModelServer, web: WebServer
) -> None:
    chat = start(start_editor, model_server)
    chat.editor.lua(VISIT)
    visit = call("visit", {"to": web.url()})
    model_server.script(fetch(web.url()), calls(visit), text("ok"))
    chat.play("go, @visit it")
    answers = list(model_server.requests[-1].results.values())
    assert answers[0].startswith("127.0.0.1 is a host of this computer")
    assert answers[1] == answers[0].replace('"fetch"', '"visit"')
    assert web.requests == []
