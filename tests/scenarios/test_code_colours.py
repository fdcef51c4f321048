"""Code in answers: highlighted also where Neovim has no parser of its language."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Hold, call, calls, stream, text

CODE = "Like this:\n\n```python\ndef größe(name):\n    return 'ü', 42\n```\n\nDone."


def wait_for_colours(editor: Editor, chat: Chat, word: str, group: str) -> None:
    """Wait until a word of the chat has a highlight group."""
    editor.wait(lambda: group in editor.groups(word, chat.buffer), why=f"{group} on {word}")


def test_code_without_a_parser_is_highlighted(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(text(CODE))
    chat.play("show me")
    wait_for_colours(editor, chat, "return", "AgentChatCodeKeyword")
    assert "AgentChatCodeFunction" in editor.groups("größe", chat.buffer)
    wait_for_colours(editor, chat, "42", "AgentChatCodeNumber")


def test_a_diff_has_its_colours_and_a_file_that_was_read_once_its_fold_opens(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    (workspace / "x").write_text("@@ -1,2 +1,2 @@\n-old words\n+new words\n")
    read, run = call("read", {"path": "src/greet.py"}, "1"), call("bash", {"command": "cat x"}, "2")
    model_server.script(calls(read, run), text("Seen."))
    chat.play("look")
    wait_for_colours(editor, chat, "+new words", "AgentChatCodeAdded")
    assert "AgentChatCodeKeyword" not in editor.groups("def greet", chat.buffer)
    editor.command("%foldopen!")
    wait_for_colours(editor, chat, "def greet", "AgentChatCodeKeyword")


def test_code_is_highlighted_before_its_block_is_complete(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    hold = Hold(threading.Event())
    model_server.script(stream("```python\ndef first(): pass\nret", hold, "urn 1\n```\n"))
    chat.send("show me")
    wait_for_colours(editor, chat, "def", "AgentChatCodeKeyword")
    hold.gate.set()
    chat.finished()
    wait_for_colours(editor, chat, "return", "AgentChatCodeKeyword")


def test_a_resumed_chat_has_its_colours_where_it_is_seen(
    start_editor: StartEditor, model_server: ModelServer, tmp_path: Path
) -> None:
    home, filler = tmp_path / "home", "a line\n\n" * 200
    first = start_editor(env=connected(model_server), home=home)
    model_server.script(text(f"```python\nyield first\n```\n\n{filler}```rust\nlet last = 1;\n```"))
    Chat.open(first).play("show me")
    first.finish()

    second = start_editor(env=connected(model_server), home=home)
    second.lua("vim.ui.select = function(items, _, choose) choose(items[1], 1) end")
    chat = Chat.open(second, "AgentHistory")
    wait_for_colours(second, chat, "let last", "AgentChatCodeKeyword")
    assert not second.groups("yield first", chat.buffer)
    second.keys("<C-\\><C-n>gg")
    wait_for_colours(second, chat, "yield first", "AgentChatCodeKeyword")
    second.command("colorscheme habamax")
    assert second.look("yield first").foreground != second.look("show me").foreground
