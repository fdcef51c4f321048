"""Blocks of calls in a real editor: while they stream, while they run, when they are over."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Call, Hold, Reasoning, call, calls, stream, text


def run(chat: Chat, command: str) -> Call:
    """Let the model run a command, and accept it."""
    wanted = call("bash", {"command": command}, "b")
    chat.send("run it")
    chat.asked("bash")
    chat.answer("a")
    return wanted


@pytest.mark.asks_first
def test_progress_is_shown_and_told_up_to_the_end(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    command = "printf 50%%; while ! test -e go; do sleep 0.1; done; echo ' done'"
    model_server.script(calls(call("bash", {"command": command}, "b")), text("ok"))
    run(chat, command)
    told = chat.event("AgentToolProgress")
    assert (told["tool"], told["text"]) == ("bash", "50%")
    editor.wait_text("\n    50%\n", chat.buffer)
    (workspace / "go").touch()
    chat.finished()
    assert chat.event("AgentToolProgress")["text"] == " done"
    assert told["call_id"] == chat.event("AgentToolFinished")["call_id"]
    assert "\n    50% done\n" in chat.text()


@pytest.mark.asks_first
def test_a_large_result_names_a_file_that_gf_opens_in_another_window(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    command = "seq 100000"
    model_server.script(calls(call("bash", {"command": command}, "b")), text("ok"))
    run(chat, command)
    chat.finished()
    block = chat.transcript().partition("bash: seq")[2].partition("\n\n")[0].split("\n")[1:]
    assert block[:2] == ["    1", "    2"]
    assert block[-2] == "    100000"
    assert len(block) <= 10
    path = block[-1].partition("full output: ")[2]
    assert path in model_server.requests[-1].results["b"]
    chat.focus()
    editor.command(r"call search('full output: /', 'bw')")
    windows = editor.eval("winnr('$')")
    editor.keys("gf")
    assert editor.eval("expand('%:p')") == path
    assert editor.eval("line('$')") == 100000
    assert editor.eval("winnr('$')") == windows
    assert editor.lua("return vim.fn.bufwinid(...)", chat.buffer) > 0


def test_gf_goes_to_the_line_that_a_result_or_an_answer_names(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    said = "See `src/app.py`, src/app.py:3."
    model_server.script(calls(call("grep", {"pattern": "farewell"})), text(said))
    chat.play("where?")
    chat.focus()
    editor.command("only")
    editor.command("cd /")
    editor.command(r"call search('src/app.py:6', 'bw')")
    editor.keys("gf")
    assert editor.eval("expand('%:p')") == str(workspace / "src/app.py")
    assert editor.eval("line('.')") == 6
    chat.focus()
    editor.command(r"call search('src/app.py:3', 'bw')")
    editor.keys("gf")
    assert editor.eval("line('.')") == 3
    chat.focus()
    editor.command("normal! gg")
    editor.keys("gf")
    editor.wait_notice("no file")


# --- one line while the arguments stream -----------------------------------------------------

STREAMED: list[tuple[str, dict[str, Any], str]] = [
    ("read", {"path": "notes.txt", "offset": 2, "limit": 1}, "read notes.txt:2-2"),
    ("grep", {"pattern": "two", "path": "src", "glob": "*.py"}, 'grep "two" in src (*.py)'),
    ("find", {"pattern": "*.py", "path": "src"}, "find *.py in src"),
    ("ls", {"path": "src"}, "ls src"),
    ("diagnostics", {"path": "src", "severity": "error"}, "diagnostics src (error)"),
    ("edit", {"path": "a.py", "edits": []}, "edit a.py"),
    ("write", {"path": "a.py", "content": "x\n" * 50}, "write a.py"),
    ("delete", {"path": "a.py"}, "delete a.py"),
    ("bash", {"command": "make\nmake test"}, "bash: make ..."),
    ("ast_edit", {"ops": [{"pat": "f($A)", "out": "g($A)"}]}, "ast_edit f($A) → g($A)"),
    ("ask", {"questions": [{"question": "Sure?"}]}, "ask: Sure?"),
]


def streamed(chat: Chat, server: ModelServer, arriving: Call, title: str) -> None:
    """Let a call arrive, look at its block, and end the stream."""
    gate = threading.Event()
    server.script(stream(arriving, Hold(gate), finish=None, done=False))
    chat.send(f"call {arriving.name}")
    chat.editor.wait_text(f"▸ {title} · streaming", chat.buffer)
    gate.set()
    chat.finished("error")
    chat.editor.allow("cut|ended|connection")


def test_each_call_says_in_one_line_what_it_does(chat: Chat, model_server: ModelServer) -> None:
    for name, given, title in STREAMED:
        streamed(chat, model_server, call(name, given, "c"), title)


BEGUN = [
    ("read", "", "read ..."),
    ("read", '{"path": "not', "read not"),
    ("edit", '{"path": "a.py", "edits": [{"old_te', "edit a.py"),
    ("ask", '{"questions": [{"question": "Are you', "ask: Are you"),
    ("unknown", '{"a": ', "unknown"),
]


def test_a_call_is_one_line_from_its_first_piece_on(chat: Chat, model_server: ModelServer) -> None:
    for name, arguments, title in BEGUN:
        streamed(chat, model_server, Call(name, arguments, "c"), title)


def test_what_was_read_is_folded_and_calls_that_follow_one_another_are_one_line(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    (workspace / "many.txt").write_text("".join(f"row {n}\n" for n in range(1, 40)))
    read, grep = call("read", {"path": "many.txt"}, "1"), call("grep", {"pattern": "row 3"}, "2")
    missing = call("read", {"path": "missing.txt"}, "3")
    model_server.script(calls(read, grep), calls(call("ls", {}, "4")), text("ok"))
    chat.play("read it")
    editor.wait_screen("✓ read 1 file, searched 1×, listed 1 directory")
    model_server.script(calls(call("ls", {}, "5"), missing), text("well"))
    chat.play("and that")
    editor.wait_screen("✓ ls . · done (")
    editor.wait_screen("Path not found: missing.txt")


def test_reasoning_of_one_long_paragraph_is_folded_and_the_window_stays_at_its_top(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    words = "I should look at the file first. " * 80
    model_server.script(stream(*(Reasoning(f"{word} ") for word in words.split()), "Here."))
    chat.play("Think")
    window = editor.eval(f"bufwinid({chat.buffer})")
    assert editor.lua("return vim.fn.line('w0', ...)", window) == 1
    assert "▸ thought briefly (1 line)" in "\n".join(editor.screen())
