"""Code of an answer that the user puts into a file."""

from __future__ import annotations

from pathlib import Path

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import text

CODE = "Use this:\n\n```python\ndef bye(name):\n    return 'Bye'\n```\n"


def test_code_is_put_into_the_last_code_window_as_a_preview_to_review(
    editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    file = workspace / "src/greet.py"
    before = file.read_text()
    editor.command("edit src/greet.py")
    editor.command("1")
    chat = Chat.open(editor)
    model_server.script(text(CODE))
    chat.play("how?")
    chat.focus()
    editor.keys("<C-\\><C-n>")
    editor.command("call search('return .Bye', 'bw')")
    editor.keys("gp")
    editor.wait_event("AgentPreviewStaged", label="Code: 2 lines into src/greet.py", source="code")
    assert file.read_text() == before
    chat.focus()
    editor.command("AgentResolve apply")
    editor.wait_event("AgentPreviewResolved", action="apply", status="success")
    first, rest = before.split("\n", 1)
    assert file.read_text() == f"{first}\ndef bye(name):\n    return 'Bye'\n{rest}"


def propose(editor: Editor, chat: Chat, find: str) -> str:
    """Press ``gp`` on the code of the answer; return the label of the preview."""
    chat.focus()
    editor.keys("<C-\\><C-n>")
    editor.command(f"call search('{find}', 'bw')")
    editor.keys("gp")
    label: str = editor.wait_event("AgentPreviewStaged", source="code")["label"]
    return label


def apply(editor: Editor, chat: Chat) -> None:
    chat.focus()
    editor.command("AgentResolve apply")
    editor.wait_event("AgentPreviewResolved", action="apply", status="success")


def test_code_replaces_the_selection_that_was_left_in_the_code_window(
    editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    editor.command("edit notes.txt")
    editor.keys("ggVj")
    editor.keys(":AgentChat<CR>")
    chat = Chat(editor, editor.wait_event("AgentChatOpened"))
    model_server.script(text("```\n1\n```\n"))
    chat.play("how?")
    assert propose(editor, chat, "^1$") == "Code: 1 line for notes.txt:1-2"
    apply(editor, chat)
    assert (workspace / "notes.txt").read_text() == "1\nthree\n"


def test_a_selection_that_was_changed_since_is_not_replaced(
    editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    editor.command("edit notes.txt")
    editor.keys("ggVd")
    chat = Chat.open(editor)
    model_server.script(text("```\n1\n```\n"))
    chat.play("how?")
    assert propose(editor, chat, "^1$") == "Code: 1 line into notes.txt"


LUA = """\
local M = {}

function M.greet(name)
  return 'Hello, ' .. name
end

do
  local function bye()
    return 'Bye'
  end
end

return M
"""


def test_code_replaces_the_function_around_the_cursor_that_it_defines_anew(
    editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    (workspace / "m.lua").write_text(LUA)
    editor.command("edit m.lua | 4")
    chat = Chat.open(editor)
    model_server.script(
        text("```lua\nfunction M.greet(name)\n  return name\nend\n```\n"),
        text("```lua\n-- Ends it.\nlocal function bye()\n  return 'Ciao'\nend\n```\n"),
        text("```lua\nlocal function other() end\n```\n"),
    )
    chat.play("how?")
    assert propose(editor, chat, "return name") == "Code: 3 lines for m.lua:3-5"
    apply(editor, chat)
    after = LUA.replace("'Hello, ' .. name", "name")
    assert (workspace / "m.lua").read_text() == after
    editor.command("wincmd p | checktime | 9")
    chat.play("and bye?")
    assert propose(editor, chat, "Ciao") == "Code: 4 lines for m.lua:8-10"
    apply(editor, chat)
    after = after.replace("'Bye'", "'Ciao'").replace("  local f", "  -- Ends it.\n  local f")
    assert (workspace / "m.lua").read_text() == after
    chat.play("another?")
    assert propose(editor, chat, "other") == "Code: 1 line into m.lua"
