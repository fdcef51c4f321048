"""Turns in a real editor: what the model is told, and what happens to files and buffers."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from tests.support import processes
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer, Request
from tests.support.replies import Call, Hangup, Hold, Reasoning, call, calls, stream, text

# --- calls and their answers ----------------------------------------------------------------

READS = [
    (call("read", {"path": "notes.txt"}, "c"), "one\ntwo\nthree\n"),
    (call("read_file", {"path": "notes.txt"}, "c"), "one\ntwo\nthree\n"),
    (call("read", {"path": "@notes.txt"}, "c"), "one\ntwo\nthree\n"),
    (
        call("read", {"path": "notes.txt", "limit": 1}, "c"),
        "one\n\n[2 more lines in file. Use offset=2 to continue.]",
    ),
    (call("read", {"path": "notes.txt", "offset": 3}, "c"), "three\n"),
    (call("read", {"path": "gone.txt"}, "c"), "Path not found: gone.txt"),
    (call("grep", {"pattern": "tw.$"}, "c"), "notes.txt:2: two"),
    (
        call("grep", {"pattern": "two", "path": "notes.txt", "context": 1}, "c"),
        "notes.txt-1- one\nnotes.txt:2: two\nnotes.txt-3- three",
    ),
    (call("grep", {"pattern": "nowhere"}, "c"), "No matches found"),
    (call("find", {"pattern": "src/*.py"}, "c"), "src/app.py\nsrc/greet.py"),
    (call("find", {"pattern": "*.rs"}, "c"), "No files found matching pattern"),
    (call("ls", {}, "c"), "notes.txt\nREADME.md\nsrc/\ntest_greet.py"),
    (call("ls", {"path": "nowhere"}, "c"), "Path not found: nowhere"),
    (call("missing_tool", {}, "c"), 'Tool "missing_tool" not found. Available tools: '),
    (call("Read", {"path": "a"}, "c"), 'Tool "Read" not found. Available tools: '),
    (call("resolve", {"action": "apply", "reason": "x"}, "c"), "No pending action to resolve."),
    (call("read", '{"path":', "c"), 'Arguments for "read" are not valid JSON: '),
    (call("read", "[1]", "c"), 'Arguments for "read" are not valid JSON: '),
    (call("read", "{}{}", "c"), 'Arguments for "read" are not valid JSON: '),
    (call("read", '{"path":"a","path":"b"}', "c"), 'Arguments for "read" are not valid JSON: '),
    (call("read", {}, "c"), 'Validation failed for tool "read":\n  - path: '),
    (call("read", {"path": 1}, "c"), 'Validation failed for tool "read":\n  - path: '),
    (
        call("read", {"path": "a", "colour": "red"}, "c"),
        'Validation failed for tool "read":\n  - colour: ',
    ),
    (call("bash", "", "c"), 'Validation failed for tool "bash":\n  - command: '),
]


def test_each_call_is_answered_as_the_contract_says(chat: Chat, model_server: ModelServer) -> None:
    wrong = {}
    for wanted, expected in READS:
        model_server.script(calls(wanted), text("ok"))
        chat.play(f"do {wanted.name}")
        told = model_server.requests[-1].messages[-1]
        assert (told["role"], told["tool_call_id"]) == ("tool", "c")
        if not model_server.requests[-1].last.startswith(expected):
            wrong[wanted.name, wanted.arguments] = (model_server.requests[-1].last, expected)
    assert wrong == {}


def test_all_calls_of_a_reply_are_answered_in_one_request_in_order(
    chat: Chat, model_server: ModelServer
) -> None:
    wanted = [
        call("missing_tool", {}, "a"),
        call("read", {"path": "notes.txt"}, "b"),
        call("read", '{"q":', "c"),
        call("ls", "", "d"),
    ]
    model_server.script(calls(*wanted), text("ok"))
    chat.play("do all")
    assert list(model_server.requests[1].results) == ["a", "b", "c", "d"]
    assert model_server.requests[1].results["d"].startswith("notes.txt")


@pytest.mark.parametrize("given", ["same", ""])
def test_calls_with_the_same_or_no_id_are_all_answered(
    chat: Chat, model_server: ModelServer, given: str
) -> None:
    wanted = [call("read", {"path": f}, given) for f in ("notes.txt", "README.md")]
    model_server.script(calls(*wanted), text("ok"))
    chat.play("read both")
    tool_messages = [m for m in model_server.requests[1].messages if m["role"] == "tool"]
    assert [m["content"][:5] for m in tool_messages] == ["one\nt", "# Gre"]
    (asked,) = [m["tool_calls"] for m in model_server.requests[1].messages if "tool_calls" in m]
    assert [c["id"] for c in asked] == [m["tool_call_id"] for m in tool_messages]


def test_the_request_offers_the_agents_tools_but_never_resolve(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(text("ok"))
    chat.play("hello")
    offered = model_server.requests[0].tools
    assert {"read", "grep", "find", "ls", "edit", "write", "bash", "ast_edit"} <= set(offered)
    assert "resolve" not in offered
    assert model_server.requests[0].body["model"] == "test-model"
    assert model_server.requests[0].headers["authorization"] == "Bearer test-key"


def test_a_call_cut_off_by_the_length_limit_is_not_run(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    cut = Call("write", '{"path": "x.txt", "content": "lo', "c")
    model_server.script(calls(cut, finish="length"), text("ok"))
    chat.send("write it")
    chat.editor.wait(lambda: len(model_server.requests) == 2 or chat.status()["state"] == "idle")
    if len(model_server.requests) == 1:
        chat.send("go on")
    chat.editor.wait(lambda: len(model_server.requests) == 2)
    assert cut_off("write") in model_server.requests[1].results["c"]
    assert not (workspace / "x.txt").exists()
    chat.idle()


@pytest.mark.parametrize("ending", [[Hangup()], []], ids=["hangup", "no end"])
def test_a_cut_stream_keeps_its_text_and_runs_nothing(
    chat: Chat, model_server: ModelServer, workspace: Path, ending: list[Hangup]
) -> None:
    half = call("write", '{"path": "x.txt", "content": "y"}', "c")
    model_server.script(stream("I write it.", half, *ending, finish=None, done=False))
    chat.send("write it")
    chat.finished("error")
    assert "I write it." in chat.transcript()
    assert not (workspace / "x.txt").exists()
    assert len(model_server.requests) == 1
    assert chat.status()["state"] == "idle"
    model_server.script(text("again"))
    chat.play("once more")
    assert cut_off("write") in model_server.requests[1].results["c"]
    chat.editor.allow("cut|ended|connection")


def cut_off(tool: str) -> str:
    return (
        f'The call to "{tool}" was cut off before it was complete; it was not run. Send it again.'
    )


def test_reasoning_is_shown_and_sent_back_with_its_calls(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(
        stream(Reasoning("I should look."), call("ls", {}, "c")), text("There are files.")
    )
    chat.play("what is there?")
    (said,) = [m for m in model_server.requests[1].messages if m.get("tool_calls")]
    assert said["reasoning_content"] == "I should look."
    assert "I should look." in chat.text()


def test_usage_is_counted(chat: Chat, model_server: ModelServer) -> None:
    model_server.script(text("ok", usage=(1200, 34)))
    chat.play("hello")
    chat.editor.wait(lambda: chat.status()["tokens"] == 1234, why="1234 tokens in the status")


# --- events ---------------------------------------------------------------------------------


def test_a_turn_and_its_calls_are_announced(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(calls(call("ls", {}, "c"), call("nope", {}, "d")), text("ok"))
    chat.play("look")
    names = [e.name for e in editor.events if e.name.startswith(("AgentTurn", "AgentTool"))]
    assert names[0] == "AgentTurnStarted"
    assert names[-1] == "AgentTurnFinished"
    finished = [e.data for e in editor.events if e.name == "AgentToolFinished"]
    assert [(e["tool"], e["status"]) for e in finished] == [("ls", "success"), ("nope", "error")]
    assert {e["buf"] for e in finished} == {chat.buffer}
    assert len({e["call_id"] for e in finished}) == 2
    started = [e.data["tool"] for e in editor.events if e.name == "AgentToolStarted"]
    assert started == ["ls"]


@pytest.mark.asks_first
def test_the_status_follows_the_turn(chat: Chat, editor: Editor, model_server: ModelServer) -> None:
    gate = threading.Event()
    assert chat.status()["state"] == "idle"
    model_server.script(stream("so ", Hold(gate), call("bash", {"command": "true"})), text("done"))
    chat.send("run it")
    editor.wait_text("so", chat.buffer)
    assert chat.status()["state"] == "running"
    gate.set()
    chat.asked("bash")
    editor.wait(lambda: chat.status()["state"] == "waiting")
    assert chat.status()["prompts"] == 1
    chat.answer("a")
    chat.finished()
    chat.idle()
    status = chat.status()
    assert (status["prompts"], status["pending"], status["turn"]) == (0, 0, 1)
    assert (status["mode"], status["model"]) == ("ask", "test-model")
    editor.command("wincmd p | enew")
    assert "idle" in chat.status()["state"]
    assert isinstance(editor.lua("return require('agentchat').statusline()"), str)


# --- files and buffers ----------------------------------------------------------------------


def accepted(chat: Chat, server: ModelServer, wanted: Call) -> str:
    """Play a turn with one call, accept it, and return what the model was told."""
    server.script(calls(wanted), text("done"))
    chat.send(f"please {wanted.name}")
    chat.asked(wanted.name)
    chat.answer("a")
    chat.finished()
    return server.requests[-1].results[wanted.id]


def edit(old: str, new: str, path: str = "notes.txt") -> Call:
    return call("edit", {"path": path, "edits": [{"old_text": old, "new_text": new}]})


def test_unsaved_text_is_what_the_tools_see(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    editor.command("wincmd p | edit notes.txt")
    editor.keys("ggcwunsaved<Esc>")
    model_server.script(
        calls(call("read", {"path": "notes.txt"}, "r"), call("grep", {"pattern": "unsaved"}, "g")),
        text("ok"),
    )
    chat.play("read")
    assert model_server.requests[1].results["r"].startswith("unsaved\ntwo")
    assert model_server.requests[1].results["g"] == "notes.txt:1: unsaved"


@pytest.mark.smoke
def test_an_edit_changes_a_file_that_is_not_open_without_opening_it(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    assert accepted(chat, model_server, edit("two", "zwei")) == "Edited notes.txt: 1 replacement."
    assert (workspace / "notes.txt").read_text() == "one\nzwei\nthree\n"
    assert editor.eval("bufexists('notes.txt')") == 0


def test_an_edit_of_an_open_file_is_one_undo_step_and_is_saved(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    editor.command("wincmd p | edit notes.txt")
    editor.keys("3Gma")
    editor.command("autocmd BufWritePost notes.txt let g:saved = 1")
    accepted(chat, model_server, edit("one\ntwo", "one\nnew\nzwei"))
    assert (workspace / "notes.txt").read_text() == "one\nnew\nzwei\nthree\n"
    buffer = editor.eval("bufnr('notes.txt')")
    assert editor.text(buffer) == "one\nnew\nzwei\nthree"
    assert editor.eval(f"getbufvar({buffer}, '&modified')") == 0
    assert editor.eval("g:saved") == 1
    editor.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", buffer)
    assert editor.eval("[line('.'), line(\"'a\")]") == [4, 4]
    editor.keys("u")
    assert editor.text(buffer) == "one\ntwo\nthree"


def test_an_edit_of_a_buffer_with_unsaved_changes_is_not_saved_and_the_model_is_told(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    editor.command("wincmd p | edit notes.txt")
    editor.keys("Gomine<Esc>")
    told = accepted(chat, model_server, edit("two", "zwei"))
    assert told.startswith("Edited notes.txt: 1 replacement.\n")
    assert "unsaved changes" in told
    assert editor.text(editor.eval("bufnr('notes.txt')")) == "one\nzwei\nthree\nmine"
    assert (workspace / "notes.txt").read_text() == "one\ntwo\nthree\n"


EDITS = [
    (edit("four", "4"), "edits[0]: old_text not found in notes.txt."),
    (edit("e", "E"), "edits[0]: old_text matches "),
    (edit("two", "two"), "edits[0]: old_text and new_text are identical."),
    (edit("", "x"), "edits[0]: old_text is empty. Use write to create or replace a whole file."),
    (
        call("edit", {"path": "notes.txt", "edits": []}),
        'Validation failed for tool "edit":\n  - edits: edits must contain at least one',
    ),
    (edit("a", "b", "gone.txt"), "Path not found: gone.txt"),
]


def test_a_refused_edit_asks_nothing_and_changes_nothing(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    wrong = {}
    for wanted, expected in EDITS:
        model_server.script(calls(wanted), text("ok"))
        chat.play("edit it")
        told = model_server.requests[-1].results[wanted.id]
        if not told.startswith(expected):
            wrong[wanted.arguments] = (told, expected)
    assert wrong == {}
    assert not [e for e in editor.events if e.name == "AgentApprovalRequested"]
    assert (workspace / "notes.txt").read_text() == "one\ntwo\nthree\n"


def test_write_creates_parents_and_counts_bytes(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    told = accepted(chat, model_server, call("write", {"path": "a/b/c.txt", "content": "héllo"}))
    assert told == "Created a/b/c.txt (6 bytes)."
    assert (workspace / "a/b/c.txt").read_bytes() == "héllo".encode()


def test_write_over_a_file_shows_the_difference_first(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    wanted = call("write", {"path": "notes.txt", "content": "one\n2\nthree\n"})
    model_server.script(calls(wanted), text("done"))
    chat.send("write it")
    shown = chat.asked("write").text
    assert "two" in shown
    assert "2" in shown
    assert (workspace / "notes.txt").read_text() == "one\ntwo\nthree\n"
    chat.answer("a")
    chat.finished()
    assert model_server.requests[-1].results[wanted.id] == "Wrote notes.txt (12 bytes)."


# --- bash -----------------------------------------------------------------------------------

COMMANDS = [
    ("echo x", "x\n", "success"),
    ("true", "(no output)", "success"),
    ("echo x; exit 2", "x\n\nCommand exited with code 2", "error"),
    ("exit 3", "(no output)\n\nCommand exited with code 3", "error"),
    ("kill -9 $$", "(no output)\n\nCommand was killed by signal 9", "error"),
]


@pytest.mark.smoke
@pytest.mark.asks_first
def test_bash_tells_output_and_exit_code(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    for command, expected, status in COMMANDS:
        told = accepted(chat, model_server, call("bash", {"command": command}))
        assert told.strip() == expected.strip(), command
        assert chat.event("AgentToolFinished")["status"] == status


@pytest.mark.asks_first
def test_a_command_that_takes_too_long_is_killed_with_its_children(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    wanted = call("bash", {"command": "sleep 31 & sleep 32", "timeout": 1})
    model_server.script(calls(wanted), text("ok"))
    chat.send("wait")
    chat.asked("bash")
    chat.answer("a")
    editor.wait(lambda: sleeping(editor, "sleep 32"))
    chat.finished()
    assert "Command timed out after 1 seconds" in model_server.requests[-1].results[wanted.id]
    editor.wait(lambda: not sleeping(editor, "sleep 3"), limit=2)


@pytest.mark.asks_first
def test_stop_kills_a_running_command_and_keeps_its_output(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(calls(call("bash", {"command": "echo shown; sleep 33"}, "c")))
    chat.send("wait")
    chat.asked("bash")
    chat.answer("a")
    editor.wait_text("shown", chat.buffer)
    editor.wait(lambda: sleeping(editor, "sleep 33"))
    editor.command("AgentStop")
    chat.finished("cancelled")
    editor.wait(lambda: not sleeping(editor, "sleep 33"), limit=1)
    assert chat.text().count("shown") >= 2
    model_server.script(text("ok"))
    chat.play("next")
    assert model_server.requests[-1].results["c"] == "Cancelled by the user."


def sleeping(editor: Editor, command: str) -> list[str]:
    running = processes.living(editor.children())
    return [args for args in running.values() if args.startswith(command)]


@pytest.mark.asks_first
def test_each_command_has_a_fresh_shell_in_the_workspace(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    first = accepted(chat, model_server, call("bash", {"command": "export X=1; cd src; pwd"}))
    assert first.strip() == str(workspace / "src")
    second = accepted(chat, model_server, call("bash", {"command": 'echo "[$X]"; pwd'}))
    assert second.split() == ["[]", str(workspace)]


@pytest.mark.asks_first
def test_long_output_reaches_the_model_as_head_and_tail(
    chat: Chat, model_server: ModelServer
) -> None:
    command = "head -c 700000 /dev/zero | tr '\\0' x"
    told = accepted(chat, model_server, call("bash", {"command": command}))
    assert len(told) < 70 * 1024
    assert " bytes truncated; full output: " in told
    stored = told.partition("full output: ")[2].partition(" ...]")[0]
    assert os.path.getsize(stored) == 700000


def test_a_workspace_that_is_gone_is_one_clear_error_and_not_a_loop(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    shutil.rmtree(workspace)
    model_server.always(text("ok"))
    chat.send("hello")
    chat.event("AgentTurnFinished")
    editor.settle(0.5)
    assert chat.status()["turn"] == 1
    assert chat.status()["state"] == "idle"


# --- the editor stays free ------------------------------------------------------------------


def test_neovim_answers_at_once_while_a_long_reply_arrives(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(text("ok"), stream(*(f"word{n} " for n in range(5000))))
    chat.play("warm up")
    chat.send("talk")
    taken = []
    while not any(e.name == "AgentTurnFinished" and not e.awaited for e in editor.events):
        before = time.monotonic()
        editor.eval("1")
        taken.append(time.monotonic() - before)
        editor.settle(0.005)
    chat.finished()
    assert "word4999" in chat.text()
    assert sorted(taken)[len(taken) * 9 // 10] < 0.1


def test_a_read_of_two_files_runs_without_a_question(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    def second(request: Request) -> bool:
        return len(request.results) == 2

    model_server.script(
        calls(call("read", {"path": "notes.txt"}), call("read", {"path": "README.md"}))
    )
    model_server.script(text("both"), when=second)
    chat.play("read both")
    assert not [e for e in editor.events if e.name == "AgentApprovalRequested"]


@pytest.mark.asks_first
def test_a_chat_that_waits_for_an_answer_goes_on_waiting_while_the_user_steers(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(calls(call("bash", {"command": "true"})), text("ok"))
    chat.send("go")
    chat.asked("bash")
    chat.send("and hurry")
    assert chat.status()["state"] == "waiting"
    chat.answer("a")
    chat.finished()
