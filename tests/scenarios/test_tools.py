"""The tools of a chat, as its user sees, gives and takes them."""

from __future__ import annotations

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import text

GROUPS = {
    "look": {"tools": ["read", "ls"], "system_prompt": "Only look."},
    "wide": {"tools": ["grep", "find", "unknown"], "collapse": False},
}
SETTINGS = {"tools": {"default": ["look"], "groups": GROUPS}}


def test_mentions_show_their_tools_and_commands_take_them_back(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    chat = Chat.open(start_editor(SETTINGS, env=connected(model_server)))
    model_server.script(text("ok"), text("ok"))
    chat.play("use @wide and @edit")
    said = chat.transcript()
    assert "\nTools: grep\nTools: find\nTools: edit\n" in said
    assert said.index("use @wide and @edit") < said.index("Tools: grep") < said.index("## Agent")
    assert set(model_server.requests[0].tools) == {"read", "ls", "grep", "find", "edit"}
    chat.editor.command("AgentTools remove look")
    chat.editor.command("AgentTools remove find")
    chat.editor.wait_text("Tools removed: find", chat.buffer)
    chat.editor.command("AgentTools add bash")
    chat.editor.wait_text("Tools: bash", chat.buffer)
    chat.play("go on")
    assert set(model_server.requests[1].tools) == {"grep", "edit", "bash"}
    assert "Only look." in model_server.requests[0].messages[0]["content"]
    assert "Only look." not in model_server.requests[1].messages[0]["content"]


def test_the_command_completes_what_can_be_added_and_removed(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(SETTINGS, env=connected(model_server))
    Chat.open(editor)

    def completed(line: str) -> list[str]:
        found: list[str] = editor.eval(f"getcompletion('{line}', 'cmdline')")
        return found

    assert completed("AgentTools re") == ["remove", "reload"]
    editor.wait(lambda: "look" in completed("AgentTools remove "), why="what the chat has")
    assert sorted(completed("AgentTools remove ")) == ["look", "ls", "read"]
    assert completed("AgentTools add wi") == ["wide"]
    editor.command("AgentTools remove nothing")
    editor.wait_notice('This chat has no tool or group "nothing"')
    editor.command("AgentTools add")
    editor.wait_notice(":AgentTools add needs the name of a tool")


def test_the_page_tells_active_and_hidden_tools(chat: Chat, editor: Editor) -> None:
    editor.command("AgentMode plan")
    editor.wait(lambda: chat.status()["mode"] == "plan")
    editor.command("AgentTools remove ls")
    editor.command("AgentTools")
    page = editor.wait(editor.float_text, why="the page")
    active, _, rest = page.partition("Hidden in plan mode")
    hidden, _, others = rest.partition("Not in this chat")
    assert "read " in active
    assert "ask " in active
    assert "edit " in hidden
    assert "bash " in active  # it runs isolated
    assert "  ls " in others
    assert "* agent: " in others
