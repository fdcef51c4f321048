"""Tools as the user sets them up from Lua: options of single tools."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Reply, call, calls, text

OPTIONS = """
local settings = vim.g.agentchat or {}
settings.tools = { opts = {
  bash = {
    require_approval_before = function(args, about)
      if args.command == 'echo broken' then error('no such word') end
      return about.tool ~= 'bash' or args.command ~= 'echo quiet'
    end,
    system_prompt = function() return 'Mind the shell.' end,
  },
  grep = { enabled = function() return false end },
} }
vim.g.agentchat = settings
"""


def start_with(start: StartEditor, server: ModelServer, lua: str) -> Editor:
    editor = start(None, env=connected(server))
    editor.lua(lua)
    return editor


def bash(command: str) -> Reply:
    return calls(call("bash", {"command": command}))


def test_lua_functions_among_the_options_decide_what_is_asked_offered_and_prompted(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, OPTIONS)
    chat = Chat.open(editor)
    model_server.script(bash("echo quiet"), bash("echo loud"), bash("echo broken"), text("ok"))
    chat.send("go")
    assert "tools.opts.bash.require_approval_before" in chat.asked("bash").text
    assert "▸ bash: echo quiet · done" in chat.transcript()
    chat.answer("a")
    assert "echo broken" in chat.asked("bash").text
    chat.answer("a")
    chat.finished()
    request = model_server.requests[0]
    assert "Mind the shell." in request.body["messages"][0]["content"]
    assert "grep" not in request.tools
    # The options of the next message count for it.
    editor.command("let g:agentchat = {}")
    model_server.script(text("ok"))
    chat.play("again")
    assert "grep" in model_server.requests[-1].tools


REGISTER = """
local agentchat = require('agentchat')
_G.seen = {}
agentchat.register_tool({
  name = 'shout',
  description = 'Make a text loud.',
  schema = {
    properties = { text = { type = 'string' }, times = { type = 'integer' } },
    required = { 'text' },
  },
  require_approval_before = function(args) return args.text ~= 'hi' end,
  run = function(args, ctx)
    _G.seen = { buf = ctx.buf, cwd = ctx.cwd }
    if args.text == 'fail' then error('no voice') end
    return { text = args.text:upper(), details = { times = args.times or 1 } }
  end,
})
agentchat.register_tool({
  name = 'later',
  description = 'Answer later.',
  read_only = true,
  run = function(_, ctx)
    ctx.progress('halfway')
    vim.defer_fn(function() ctx.done('in time') end, 1)
    ctx.on_cancel(function() vim.g.cancelled = true end)
  end,
})
agentchat.register_tool({
  name = 'chain',
  read_only = true,
  run = {
    function(args, ctx) return args.fail and { text = 'stop', is_error = true } or 'one' end,
    function(_, ctx) vim.schedule(function() ctx.done(ctx.last_output .. ' two') end) end,
    function(_, ctx) return ctx.last_output .. ' three' end,
  },
})
agentchat.register_tool({
  name = 'never',
  read_only = true,
  run = function(_, ctx) ctx.on_cancel(function() vim.g.cancelled = true end) end,
})
agentchat.register_tool({ name = 'bash', run = function() end })
"""


def test_a_tool_registered_from_lua_runs_in_the_editor_and_asks_by_default(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, REGISTER)
    chat = Chat.open(editor)
    assert "taken by the built-in tool bash" in editor.wait_notice("register_tool")
    model_server.script(
        calls(call("shout", {"text": "hi"}), call("shout", {"text": 3}), call("later", {})),
        calls(call("chain", {}), call("chain", {"fail": True})),
        calls(call("shout", {"text": "fail"})),
        text("ok"),
    )
    chat.send("use @shout, @chain and @later")
    assert '"text": "fail"' in chat.asked("shout").text
    chat.answer("a")
    chat.finished()
    assert set(model_server.requests[0].tools) >= {"shout", "later", "bash"}
    assert '▸ shout text="hi" · done\n    HI' in chat.transcript()
    assert list(model_server.requests[-1].results.values()) == [
        "HI",
        'Validation failed for tool "shout":\n  - text: Input should be a valid string',
        "in time",
        "one two three",
        "stop",
        "shout failed: no voice",
    ]
    finished = [e.data for e in editor.events if e.name == "AgentToolFinished"]
    assert finished[0]["details"] == {"times": 1}
    assert editor.lua("return _G.seen.buf") == chat.buffer


def test_registered_tools_survive_a_host_that_died_and_can_be_unregistered(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, REGISTER)
    chat = Chat.open(editor)
    model_server.script(text("ok"), text("ok"), text("ok"))
    chat.play("use @shout and @later")
    os.kill(editor.children()[0], signal.SIGKILL)
    editor.wait_notice("the Python host ended")
    chat.play("go on")
    assert editor.lua("return require('agentchat').unregister_tool('later')")
    chat.play("and now")
    has = [{"shout", "later"} & set(request.tools) for request in model_server.requests]
    assert has == [{"shout", "later"}, {"shout", "later"}, {"shout"}]


def test_stopping_ends_a_tool_of_lua_and_calls_its_on_cancel(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, REGISTER)
    chat = Chat.open(editor)
    model_server.script(calls(call("never", {})))
    chat.send("use @never")
    chat.event("AgentToolStarted")
    chat.focus()
    editor.command("AgentStop")
    chat.finished("cancelled")
    editor.wait(lambda: editor.lua("return vim.g.cancelled") is True, why="on_cancel was called")


PHRASED = """
_G.ran = {}
require('agentchat').register_tool({
  name = 'deploy',
  label = 'Deploy',
  schema = { properties = { to = { type = 'string' } } },
  setup = function(args) table.insert(_G.ran, 'setup ' .. args.to) end,
  on_exit = function(args) table.insert(_G.ran, 'exit ' .. args.to) end,
  prompt = function(args) return ('Deploy to %s?\\nIt takes a while.'):format(args.to) end,
  run = function(args)
    if args.to == 'moon' then error('too far') end
    return { status = 'success', data = 'deployed' }
  end,
  on_success = function(args, result) return args.to .. ': ' .. result.text end,
  on_error = function(_, result) return { text = 'sorry: ' .. result.text, shown = 'sorry' } end,
  on_rejected = function(args, reason) return ('not to %s%s'):format(args.to, reason) end,
})
"""


def test_functions_of_a_tool_in_lua_phrase_its_question_and_its_outcomes(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, PHRASED)
    chat = Chat.open(editor)
    wanted = [call("deploy", {"to": place}) for place in ("prod", "moon", "home")]
    model_server.script(calls(*wanted), text("ok"))
    chat.send("use @deploy")
    question = chat.asked("deploy").text
    assert "Deploy to prod?" in question
    assert "Deploy (deploy)" in question
    assert "It takes a while." in question
    assert '"to": "prod"' in question
    for key in "aa":
        chat.answer(key)
        chat.asked("deploy")
    editor.command("AgentApprove reject")
    chat.finished()
    assert list(model_server.requests[-1].results.values()) == [
        "prod: deployed",
        "sorry: deploy failed: too far",
        "not to home",
    ]
    places = ("prod", "moon", "home")
    assert editor.lua("return _G.ran") == [f"{w} {p}" for p in places for w in ("setup", "exit")]
    assert '▸ Deploy to="moon" · failed\n    sorry' in chat.transcript()


def test_explaining_a_call_asks_the_functions_among_the_options(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_with(start_editor, model_server, OPTIONS)
    Chat.open(editor)
    editor.command("AgentApprovals explain bash echo quiet")
    editor.wait_screen("setting: tools.opts.bash.require_approval_before")
    assert editor.grid.find("verdict   allow")


DECLARED = """
from agentchat import tool

@tool(destructive=True, affected_resources="database", undo_tool="recreate", dry_run=lambda: "all")
def drop_all():
    'Drop all tables.'
"""


def test_lua_lists_the_tools_of_a_chat_with_all_that_they_declare(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "drop.py").write_text(DECLARED)
    tools = {"paths": [str(folder)], "default": ["agent", "drop_all"]}
    editor = start_editor({"tools": tools}, env=connected(model_server))
    editor.command("AgentChat")
    editor.command("AgentTools")
    page = editor.wait(lambda: next(iter(editor.floats()), None), why="the list").text
    assert "does not exist" not in page
    assert "[destructive, dry run, undo by recreate, affects database]" in page
    editor.keys("q")
    buffer = editor.events[-1].data.get("buf") or editor.wait_event("AgentChatOpened")["buf"]

    def listed() -> dict[str, Any]:
        found = editor.lua("return require('agentchat').tools(...)", buffer)
        return {one["name"]: one for one in found}

    editor.wait(lambda: "drop_all" in listed(), why="the own tool")
    own = listed()["drop_all"]
    assert (own["state"], own["metadata"]["destructive"]) == ("active", True)
    assert own["capability"]["undo_tool"] == "recreate"
    assert own["capability"]["safety_level"] == 2
    assert own["capability"]["affected_resources"] == ["database"]
    assert "files" in listed()["read"]["groups"]
    assert editor.lua("return require('agentchat').tools(1) == nil or 'a list'") in (True, "a list")
    editor.lua(
        "require('agentchat').register_tool({ name = 'deploy', run = function() end,"
        " permission_class = 'cloud', audit_operation = 'deploy', setup_once = true,"
        " affected_resources = { 'server' } })"
    )
    editor.wait(lambda: "deploy" in listed(), why="the tool in Lua")
    nature = listed()["deploy"]["metadata"]
    assert (nature["permission_class"], nature["audit_operation"]) == ("cloud", "deploy")
    assert listed()["deploy"]["capability"]["affected_resources"] == ["server"]
    editor.lua("require('agentchat').mode(...)", buffer, "plan")
    editor.wait(lambda: listed()["drop_all"]["state"] == "hidden", why="the mode hides it")
