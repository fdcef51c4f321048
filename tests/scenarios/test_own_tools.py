"""Tools as the user sets them up from Lua: options of single tools."""

from __future__ import annotations

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
