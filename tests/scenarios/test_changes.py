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
    counts = header.removesuffix(" · isolated")
    return counts.endswith(("+1 -1", "+1 -1 staged")) and body[-len(DIFF) :] == DIFF


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


def test_an_isolated_command_that_was_accepted_has_output_and_diff(
    chat: Chat, model_server: ModelServer
) -> None:
    command = {"command": "sed -i s/two/2/ notes.txt && echo made"}
    model_server.script(calls(call("bash", command, "b")), text("Done."))
    chat.send("change it")
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


def opened(chat: Chat, editor: Editor, command: str = "AgentChanges") -> list[str]:
    """The lines of the review that a command opens; the cursor is in it."""
    chat.focus()
    editor.command(command)
    editor.wait("vim.bo.filetype == 'agentchat-changes'", why="the changes are shown")
    lines: list[str] = editor.eval("getline(1, '$')")
    return lines


def two_turns(chat: Chat, model_server: ModelServer) -> None:
    model_server.script(calls(edit("notes.txt", "two", "2", "1")), text("Done."))
    chat.play("change it")
    batch = calls(edit("notes.txt", "three", "3", "2"), edit("README.md", "people", "all", "3"))
    model_server.script(batch, text("Done."))
    chat.play("change more")


def test_the_changes_of_a_turn_and_of_the_chat_are_reviewed(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(ALLOW, env=connected(model_server))
    chat = Chat.open(editor)
    two_turns(chat, model_server)
    lines = opened(chat, editor)
    assert lines[:3] == ["2 files, +3 -3", "  M README.md  +1 -1", "  M notes.txt  +2 -2"]
    editor.keys("q")
    assert opened(chat, editor, "AgentChanges 1")[:2] == ["M notes.txt  +1 -1", "@@ -1,3 +1,3 @@"]
    editor.keys("q")
    assert opened(chat, editor, "AgentChanges!")[0] == "2 files, +2 -2"
    editor.keys("q")
    chat.focus()
    editor.command("AgentChanges 9")
    editor.wait_notice("There is no turn 9")
    assert "1" in editor.eval("getcompletion('AgentChanges ', 'cmdline')")


def test_x_takes_a_hunk_back_and_redo_brings_it_back(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    home, notes = tmp_path / "home", workspace / "notes.txt"
    first = start_editor(ALLOW, env=connected(model_server), home=home)
    two_turns(Chat.open(first), model_server)
    first.finish()

    editor = start_editor(ALLOW, env=connected(model_server), home=home)
    editor.lua("vim.ui.select = function(items, _, choose) choose(items[1], 1) end")
    chat = Chat.open(editor, "AgentHistory")
    opened(chat, editor, "AgentChanges 2")
    editor.keys("gg]c")
    editor.keys("x")
    editor.wait(lambda: "people" in (workspace / "README.md").read_text(), why="taken back")
    editor.wait("vim.fn.getline(1) == 'M notes.txt  +1 -1'", why="what is left is shown")
    assert notes.read_text() == "one\n2\n3\n"
    editor.keys("q")
    chat.focus()
    editor.command("AgentRedo")
    editor.wait(lambda: "all" in (workspace / "README.md").read_text(), why="brought back")
    notes.write_text("one\n2\nmine\n")
    opened(chat, editor, "AgentChanges 2")
    editor.keys("G")
    editor.keys("x")
    editor.wait_notice("notes.txt has changed since where this hunk is")
    assert notes.read_text() == "one\n2\nmine\n"


def test_the_changes_go_to_the_quickfix_list_and_to_the_file(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    editor = start_editor(ALLOW, env=connected(model_server))
    chat = Chat.open(editor)
    two_turns(chat, model_server)
    opened(chat, editor)
    editor.keys("G")
    editor.keys("gf")
    assert editor.eval("[expand('%:t'), line('.')]") == ["notes.txt", 2]
    opened(chat, editor)
    editor.keys("Q")
    found = editor.lua(
        "return vim.tbl_map(function(item)\n"
        "  return { vim.fs.basename(vim.fn.bufname(item.bufnr)), item.lnum }\n"
        "end, vim.fn.getqflist())"
    )
    assert found == [["README.md", 3], ["notes.txt", 2]]
