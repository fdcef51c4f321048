"""Tools of MCP servers, in a real Neovim with real servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from agentchat.mcp_server.configs import AGENTS
from tests.conftest import StartEditor, connected
from tests.support import mcp_server, raw_mcp_server
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Reply, call, calls, text

SAMPLE = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))]}
RAW = {"command": sys.executable, "args": [str(Path(raw_mcp_server.__file__))]}


def start_with(start: StartEditor, server: ModelServer, **servers: dict[str, Any]) -> Editor:
    return start({"mcp": {"servers": servers}}, env=connected(server))


def test_a_tool_of_a_server_is_mentioned_asked_about_and_run(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, sample=SAMPLE)
    chat = Chat.open(editor)
    model_server.script(calls(call("sample__add", {"a": 20, "b": 22})), text("42"))
    chat.send("add with @sample")
    shown = chat.asked("sample__add").text
    assert "sample__add wants to run" in shown
    assert "mcp_server.py" in shown
    assert "read-only, stays in its own domain" in shown
    assert '"a": 20' in shown
    chat.answer("a")
    chat.finished()
    assert model_server.requests[-1].result == "42"
    assert "sample__add" in model_server.requests[0].tools or "tool_search" in (
        model_server.requests[0].tools
    )
    assert "Add numbers with add." in model_server.requests[0].body["messages"][0]["content"]
    assert "Tools: sample" in chat.transcript()


def test_a_server_that_dies_in_a_call_is_one_error_and_the_next_call_starts_it_again(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    rule = {"action": "allow", "server": "raw"}
    settings = {"mcp": {"servers": {"raw": RAW}}, "rules": [rule]}
    editor = start_editor(settings, env=connected(model_server))
    chat = Chat.open(editor)
    model_server.script(
        calls(call("raw__die", {"code": 3})),
        calls(call("raw__die", {"code": -9})),
        calls(call("raw__pid", {})),
        text("done"),
    )
    chat.play("go on with @raw")
    results = [request.result for request in model_server.requests[1:]]
    assert results[0] == "MCP server raw ended (exit 3): about to die"
    assert results[1] == "MCP server raw ended (exit 137): about to die"
    assert int(results[2])
    chat.event("AgentToolProgress", text="1 of 2: half way")


def test_the_command_lists_stops_and_explains_servers(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    broken = {"command": "no-such-program"}
    editor = start_with(start_editor, model_server, sample=SAMPLE, broken=broken)
    editor.command("AgentMcp restart sample")
    editor.wait_notice("MCP server sample runs: 8 tools")
    editor.command("AgentMcp")
    page = editor.wait(lambda: next(iter(editor.floats()), None), why="the list").text
    assert "sample: running, 8 tools" in page
    assert "version: sample 1.2, protocol" in page
    assert "no-such-program does not exist" in page
    editor.keys("q")
    editor.command("checkhealth agentchat")
    assert "mcp_server.py (running, 8 tools)" in editor.eval("join(getline(1, '$'))")
    editor.command("bwipeout")
    editor.command("AgentMcp stop sample")
    editor.wait_notice("MCP server sample is stopped")
    completed = editor.eval("getcompletion('AgentMcp restart ', 'cmdline')")
    assert completed == ["broken", "sample"]
    assert editor.eval("getcompletion('AgentMcp config ', 'cmdline')") == sorted(AGENTS)
    editor.command("AgentMcp config codex")
    page = editor.wait(lambda: next(iter(editor.floats()), None), why="the configuration").text
    assert "[mcp_servers.agentchat]" in page
    assert "--state" in page
    editor.keys("q")
    editor.command("AgentMcp restart nothing")
    editor.wait_notice('There is no MCP server "nothing" here; known are: broken, sample.')


def test_the_list_of_servers_follows_their_changes(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    odd = {"command": "no-such-program", "args": ["one\ntwo"]}
    editor = start_with(start_editor, model_server, sample=SAMPLE, odd=odd)
    editor.command("AgentMcp start sample")
    editor.command("AgentMcp")
    page = editor.wait(lambda: next(iter(editor.floats()), None), why="the list").text
    assert "no-such-program one<U+000A>two" in page
    assert "sample: stopped" not in page
    editor.wait(lambda: "sample: running, 8 tools" in editor.floats()[0].text, why="it runs")
    editor.command("AgentMcp stop sample")
    editor.wait(lambda: "sample: stopped" in editor.floats()[0].text, why="it is stopped")
    assert len(editor.floats()) == 1
    assert editor.eval("execute('messages')").count("Error") == 0


def test_stopping_a_server_that_starts_ends_the_start_with_a_reason(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    hanging = {"command": "sleep", "args": ["60"]}
    editor = start_with(start_editor, model_server, hanging=hanging)
    editor.command("AgentMcp start hanging")
    editor.command("AgentMcp stop hanging")
    editor.wait_notice("MCP server hanging was stopped while it started.")
    editor.wait_notice("MCP server hanging is stopped")


def test_logging_out_names_a_variable_that_is_not_set(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    here = {"url": "http://127.0.0.1:9/mcp", "headers": {"x": "${NOT_SET_ANYWHERE}"}}
    there = {"url": "https://${NOT_SET_ANYWHERE}/mcp"}
    editor = start_with(start_editor, model_server, here=here, there=there)
    editor.command("AgentMcp logout here")
    editor.wait_notice("MCP server here: there was no login.")
    editor.command("AgentMcp logout there")
    editor.wait_notice(r"MCP server there: \$\{NOT_SET_ANYWHERE\} is not set")


def test_a_mention_loads_the_tools_of_a_server_whatever_its_name(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, files=SAMPLE, read=SAMPLE, sample=SAMPLE)
    chat = Chat.open(editor)
    model_server.script(text("ready"), text("files"), text("both"))
    chat.play("add with @sample")
    assert "sample__add" in model_server.requests[0].tools
    assert "files__add" not in model_server.requests[0].tools
    chat.play("add with @files")
    assert {"files__add", "grep"} <= set(model_server.requests[1].tools)
    chat.play("add with @read_mcp")
    assert "read__add" in model_server.requests[2].tools


def test_always_covers_one_definition_and_a_change_asks_again_or_withdraws_the_question(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    rules = [{"action": "allow", "server": "sample", "tool": "grow"}]
    settings = {"mcp": {"servers": {"sample": SAMPLE}}, "rules": rules}
    editor = start_editor(settings, env=connected(model_server))
    chat = Chat.open(editor)
    use = calls(call("sample__extra", {"text": "x"}))
    model_server.script(grow("One."), use, use, grow("Two\u202e."), use)
    chat.send("use @sample")
    chat.asked("sample__extra")
    chat.answer("A")
    shown = chat.asked("sample__extra").text
    results = [request.result for request in model_server.requests[1:]]
    assert results == ["grown", "extra: x", "extra: x", "grown"]
    assert "-description: One." in shown
    assert "+description: Two<U+202E>." in shown
    # Another chat lets the server define the tool again.
    other = Chat.open(editor, "AgentChat!")
    model_server.script(grow("Three."), text("one"), text("other"))
    other.send("change it")
    chat.event("AgentApprovalAnswered", choice="cancel")
    chat.idle()
    chat.event("AgentToolFinished", tool="sample__extra", status="denied")
    assert "changed the definition of this tool" in chat.transcript().replace("\n    ", " ")
    other.idle()


def grow(description: str) -> Reply:
    return calls(call("sample__grow", {"name": "extra", "description": description}))


def test_a_claim_of_a_server_lets_nothing_run_but_a_rule_may_trust_it(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    rules = [{"action": "allow", "server": "sample", "readonly": True}]
    settings = {"mcp": {"servers": {"sample": SAMPLE}}, "rules": rules}
    editor = start_editor(settings, env=connected(model_server))
    chat = Chat.open(editor)
    both = calls(call("sample__add", {"a": 1, "b": 2}), call("sample__pid", {}))
    model_server.script(both, text("ok"))
    chat.send("use @sample")
    shown = chat.asked("sample__pid").text
    assert "nothing: counts as destructive and open-world" in shown
    editor.command("AgentApprove reject no")
    chat.finished()
    results = list(model_server.requests[-1].results.values())
    assert results == ["3", "User rejected the sample__pid call. Reason: no"]


def test_a_server_may_ask_the_user_and_its_prompts_are_commands(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    rules = [{"action": "allow", "server": "sample"}]
    settings = {"mcp": {"servers": {"sample": SAMPLE}}, "rules": rules}
    editor = start_editor(settings, env=connected(model_server))
    chat = Chat.open(editor)
    editor.command("AgentMcp restart sample")
    editor.wait_notice("MCP server sample runs")
    model_server.script(calls(call("sample__order", {})), text("ordered"))
    chat.send("/sample:review lua, see #sample:note://one and #other:note://two")
    editor.wait_screen("The MCP server sample asks:")
    assert editor.grid.find("Something else") is None
    assert "Review this lua, see" in model_server.requests[0].last
    assert "the note one" in model_server.requests[0].last
    editor.keys("1<CR>")
    editor.wait_screen("MCP: size")
    editor.keys("2<CR>")
    editor.wait_screen("MCP: count")
    editor.keys("3<CR>")
    chat.finished()
    assert model_server.requests[-1].result == "accept: {'size': 'large', 'count': 3}"
    chat.type("#sample:no")
    editor.keys("<C-x><C-o>")
    editor.wait(lambda: chat.prompt() == "#sample:note://fixed", why="the completion")


def test_a_question_appears_though_the_message_was_sent_from_an_open_completion(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    rules = [{"action": "allow", "server": "sample"}]
    settings = {"mcp": {"servers": {"sample": SAMPLE}}, "rules": rules}
    editor = start_editor(settings, env=connected(model_server))
    chat = Chat.open(editor)
    editor.command("AgentMcp restart sample")
    editor.wait_notice("MCP server sample runs")
    model_server.script(calls(call("sample__order", {})), text("ordered"))
    chat.type("order, #")
    editor.keys("<C-x><C-o>")
    editor.wait(lambda: editor.eval("pumvisible()"), why="the menu")
    editor.keys("<C-s>")
    editor.wait_screen("The MCP server sample asks:")
    editor.keys("2<CR>")
    chat.finished()
    assert model_server.requests[-1].result.startswith("decline")
    assert "order, buffer 1" in model_server.requests[0].last
