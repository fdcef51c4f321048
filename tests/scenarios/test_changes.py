"""What the agent changed stays in sight: in the blocks of its calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Call, call, calls, text

DIFF = ["M notes.txt  +1 -1", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"]

ALLOW = {"rules": [{"tool": "edit", "action": "allow"}]}


def edit(path: str, old: str, new: str, id: str = "e") -> Call:
    return call("edit", {"path": path, "edits": [{"old_text": old, "new_text": new}]}, id)


def block_of(chat: Chat, title: str) -> list[str]:
    """The lines of a block: its header as it is, then its body without indent."""
    lines = chat.transcript().split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(f"▸ {title}"))
    body = []
    for line in lines[first + 1 :]:
        if line and not line.startswith("    "):
            break
        body.append(line[4:])
    while body and not body[-1]:
        body.pop()
    return [lines[first], *body]


def has_diff(chat: Chat, title: str) -> bool:
    header, *body = block_of(chat, title)
    return header.endswith(("+1 -1", "+1 -1 staged")) and body[-len(DIFF) :] == DIFF


@pytest.mark.parametrize("way", ["accept", "always", "mode", "stage"])
def test_the_block_of_a_change_has_its_diff_whatever_let_it_run(
    chat: Chat, editor: Editor, model_server: ModelServer, way: str
) -> None:
    model_server.script(calls(edit("notes.txt", "two", "2")), text("Done."))
    if way in ("mode", "stage"):
        chat.focus()
        mode = "edit" if way == "mode" else "stage"
        editor.command(f"AgentMode {mode}")
        editor.wait(lambda: chat.status()["mode"] == mode, why="the mode")
    chat.send("change it")
    if way not in ("mode", "stage"):
        chat.asked("edit")
        chat.answer({"accept": "a", "always": "A"}[way])
    chat.finished()
    assert has_diff(chat, "edit notes.txt")


def test_an_applied_preview_has_its_diff(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    ops = [{"pat": "greet($A)", "out": "welcome($A)"}]
    model_server.script(
        calls(call("ast_edit", {"ops": ops, "lang": "python"}, "1")),
        calls(call("resolve", {"action": "apply", "reason": "as wanted"}, "2")),
        text("Done."),
    )
    chat.send("rename it")
    chat.asked("resolve")
    chat.answer("a")
    chat.finished()
    header, *body = block_of(chat, "Accept: ")
    assert header.endswith("done · +2 -2")
    assert '-    assert greet("you") == "Hello, you"' in body


def test_a_tried_command_that_was_accepted_has_output_and_diff(
    chat: Chat, model_server: ModelServer
) -> None:
    command = {"command": "sed -i s/two/2/ notes.txt && echo made"}
    model_server.script(calls(call("bash", command, "b")), text("Done."))
    chat.send("change it")
    chat.asked("bash")
    chat.answer("t")
    chat.asked("bash")
    chat.answer("a")
    chat.finished()
    assert has_diff(chat, "bash: sed")
    assert block_of(chat, "bash: sed")[1] == "made"


def test_a_rejected_change_has_no_diff(chat: Chat, model_server: ModelServer) -> None:
    model_server.script(calls(edit("notes.txt", "two", "2")), text("Done."))
    chat.send("change it")
    chat.asked("edit")
    chat.answer("r<CR>")
    chat.finished()
    assert "+2" not in chat.transcript()


def test_a_resumed_chat_has_the_diffs(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = start_editor(ALLOW, env=connected(model_server), home=home)
    chat = Chat.open(first)
    model_server.script(calls(edit("notes.txt", "two", "2")), text("It is done."))
    chat.play("change it")
    before = block_of(chat, "edit notes.txt")
    first.finish()
    second = start_editor(ALLOW, env=connected(model_server), home=home)
    second.lua("vim.ui.select = function(items, _, choose) choose(items[1], 1) end")
    again = Chat.open(second, "AgentHistory")
    second.wait_text("It is done.", again.buffer)
    assert block_of(again, "edit notes.txt") == before
    second.wait_screen("✓ edit notes.txt · done · +1 -1 (7 lines)")
