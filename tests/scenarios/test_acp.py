"""A chat with an agent of another program, in a real Neovim with a real agent of the SDK."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from agentchat.agent.external.acp.known_agents import KNOWN
from tests.conftest import StartEditor
from tests.support import acp_agent
from tests.support.chat import Chat
from tests.support.editor import Editor

COMMAND = [sys.executable, str(Path(acp_agent.__file__))]


def start_with(start: StartEditor, *flaws: str, **agent: Any) -> Editor:
    given = {"command": [*COMMAND, *flaws], **agent}
    return start({"agents": {"robot": given}})


def opened(start: StartEditor, *flaws: str, **agent: Any) -> Chat:
    return Chat.open(start_with(start, *flaws, **agent), "AgentChat agent://robot")


def test_text_thoughts_and_a_plan_of_an_agent_are_a_turn(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    chat.play("think about it\nsay Hello from the robot.\nplan read,write")
    assert "Hello from the robot." in chat.transcript()
    status = chat.status()
    assert status["mode"] == "ask"
    assert status["model"] == "robot"
    assert status["agent"]["name"] == "robot"
    assert status["agent"]["version"] == "1.5"
    assert status["agent"]["session"] == "session-1"
    started = chat.event("AgentAcpStarted", agent="robot")
    assert started["version"] == "1.5"
    chat.play("say And again.")
    assert "And again." in chat.transcript()


def test_a_command_of_an_agent_asks_and_its_output_is_in_its_block(
    start_editor: StartEditor,
) -> None:
    chat = opened(start_editor)
    chat.send("run echo from the shell\nsay done")
    shown = chat.asked("bash").text
    assert "robot (bash) wants to run a command" in shown
    assert "echo from the shell" in shown
    assert "Allow it" in shown
    assert "Do not" in shown
    chat.answer("a")
    chat.finished()
    transcript = chat.transcript()
    assert transcript.index("from the shell") < transcript.index("done")
    assert chat.event("AgentToolFinished", tool="bash")["status"] == "success"


def test_what_the_user_rejects_does_not_run_and_the_reason_is_the_next_prompt(
    start_editor: StartEditor, workspace: Path
) -> None:
    chat = opened(start_editor)
    chat.send("run touch made")
    chat.asked("bash")
    chat.editor.command("AgentApprove reject say use another name")
    chat.finished()
    chat.finished()
    assert "[no]" in chat.transcript()
    assert "Rejected Run touch made: say use another name" in chat.transcript()
    assert not (workspace / "made").exists()
    assert chat.event("AgentToolFinished", tool="bash")["status"] == "rejected"


def test_always_answers_the_next_question_about_the_same_command(
    start_editor: StartEditor,
) -> None:
    chat = opened(start_editor)
    chat.send("run echo twice")
    chat.asked("bash")
    chat.answer("A")
    chat.finished()
    chat.play("run echo twice\nsay not asked")
    assert "not asked" in chat.transcript()


def test_a_change_is_shown_as_a_diff_and_written_into_the_open_buffer(
    start_editor: StartEditor, workspace: Path
) -> None:
    (workspace / "note.txt").write_text("one two three\n")
    chat = opened(start_editor)
    chat.send("edit note.txt two TWO")
    shown = chat.asked("edit").text
    assert "one TWO three" in shown
    assert "one two three" in shown
    chat.answer("a")
    chat.finished()
    assert (workspace / "note.txt").read_text() == "one TWO three\n"
    chat.editor.command("AgentUndo")
    before = "one two three\n"
    chat.editor.wait(lambda: (workspace / "note.txt").read_text() == before, why="the undo")


def test_a_write_that_nobody_was_asked_about_asks_and_one_outside_is_refused(
    start_editor: StartEditor, workspace: Path
) -> None:
    chat = opened(start_editor)
    chat.send("write new.txt content\nwrite ../outside.txt content")
    chat.asked("edit")
    chat.editor.command("AgentApprove reject")
    chat.finished()
    assert not (workspace / "new.txt").exists()
    assert not (workspace.parent / "outside.txt").exists()
    assert "rejected writing new.txt" in chat.transcript()
    assert "is outside of the workspace" in chat.transcript()


def test_a_question_about_nothing_says_so(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    chat.send("mute")
    assert "robot does not say what it wants to do." in chat.asked("other").text
    chat.editor.command("AgentApprove reject")
    chat.finished()
    assert "[no]" in chat.transcript()


def test_a_stop_answers_the_open_question_first(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    chat.send("run echo never")
    chat.asked("bash")
    chat.editor.command("AgentStop")
    chat.finished("cancelled")
    assert chat.event("AgentApprovalAnswered")["choice"] == "cancel"
    chat.idle()
    chat.play("say still here")
    assert "still here" in chat.transcript()
    assert "was started again" not in chat.transcript()


def test_the_answer_cancel_ends_the_turn(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    chat.send("run echo never\nsay never")
    chat.asked("bash")
    chat.answer("c")
    chat.finished("cancelled")
    assert chat.event("AgentToolFinished", tool="bash")["status"] == "cancelled"


def test_an_agent_that_does_not_stop_is_ended_with_all_it_started(
    start_editor: StartEditor,
) -> None:
    chat = opened(start_editor)
    chat.send("ignore")
    chat.editor.wait(lambda: "child " in chat.transcript(), why="the child")
    child = int(chat.transcript().split("child ")[1].split()[0])
    chat.editor.command("AgentStop")
    chat.finished("cancelled")
    assert "robot does not stop; its process was ended." in chat.transcript()
    chat.editor.wait(lambda: not Path(f"/proc/{child}").exists(), why="the child is dead")
    chat.play("say here again")
    assert "it does not know what was said before" in chat.transcript()


def test_a_call_without_an_end_has_no_result(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    chat.play("look a.py\nsay seen")
    assert "no result" in chat.transcript()


def test_an_agent_that_dies_is_one_error_and_the_next_prompt_starts_it_again(
    start_editor: StartEditor,
) -> None:
    chat = opened(start_editor)
    chat.play("say before\ndie out of memory", "error")
    assert "Agent robot ended (exit 3): out of memory" in chat.transcript()
    assert chat.event("AgentAcpExited", agent="robot")["code"] == 3
    chat.play("say after")
    assert "after" in chat.transcript()


def test_a_chat_that_is_closed_ends_its_agent(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    pid = chat.event("AgentAcpStarted")["pid"]
    chat.editor.command(f"bwipeout! {chat.buffer}")
    chat.editor.wait(lambda: not _runs(pid), why="the agent has ended")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_unknown_requests_are_refused_at_once(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    chat.play("unknown")
    assert "[-32601]" in chat.transcript()


def test_keys_are_passed_on_only_by_name(start_editor: StartEditor) -> None:
    given = {"command": COMMAND, "env": {"OWN": "1"}, "env_pass": ["NAMED_*"]}
    env = {"ANTHROPIC_API_KEY": "secret", "NAMED_KEY": "1"}
    editor = start_editor({"agents": {"robot": given}}, env=env)
    chat = Chat.open(editor, "AgentChat agent://robot")
    chat.play("environment ANTHROPIC_API_KEY NAMED_KEY OWN HOME")
    assert "ANTHROPIC_API_KEY=False NAMED_KEY=True OWN=True HOME=True" in chat.transcript()


def test_what_cannot_be_started_says_why(start_editor: StartEditor, workspace: Path) -> None:
    inside = workspace / "robot"
    inside.write_text("#!/bin/sh\n")
    inside.chmod(0o755)
    agents = {
        "missing": {"command": "no-such-agent"},
        "inside": {"command": str(inside)},
        "noise": {"command": [*COMMAND, "noise"]},
        "old": {"command": [*COMMAND, "old"]},
        "dies": {"command": [*COMMAND, "dies"]},
    }
    editor = start_editor({"agents": agents}, env={"PATH": "/usr/bin:/bin"})
    expected = {
        "missing": "Agent missing is not installed. Install no-such-agent.",
        "claude": "Agent claude is not installed. Run: npm install -g",
        "inside": f"its program lies in the workspace ({inside}).",
        "noise": "Agent noise does not speak ACP: no JSON 0",
        "old": "Agent old speaks ACP version 7; this plugin speaks 1.",
        "dies": "Agent dies ended (exit 4): no account",
    }
    for name, text in expected.items():
        chat = Chat.open(editor, f"AgentChat! agent://{name}")
        chat.play("say hello", "error")
        assert text in chat.transcript(), name
    editor.command("AgentChat agent://nobody")
    editor.wait_notice("Unknown agent nobody. Known: .*claude, codex")


def test_commands_that_need_a_model_say_so(start_editor: StartEditor) -> None:
    chat = opened(start_editor)
    chat.editor.command("AgentMode stage")
    chat.editor.wait_notice("Chats with agents have the mode ask only so far")
    chat.editor.command("AgentModel other")
    chat.editor.wait_notice("robot has its own model and conversation")
    assert chat.status()["mode"] == "ask"


def test_a_saved_chat_with_an_agent_does_not_go_on_with_a_model(
    start_editor: StartEditor,
) -> None:
    chat = opened(start_editor)
    chat.play("say remember this")
    editor, number = chat.editor, chat.id
    editor.command(f"bwipeout! {chat.buffer}")
    resume = "require('agentchat.chat.actions').resume({ chat = ..., cwd = vim.fn.getcwd() })"
    editor.lua(resume, number)
    again = Chat(editor, editor.wait_event("AgentChatOpened"))
    editor.wait(lambda: "remember this" in again.transcript(), why="the transcript")
    again.play("say more", "error")
    assert "cannot be continued yet" in again.transcript()


def test_agents_are_completed_and_chosen(start_editor: StartEditor) -> None:
    editor = start_with(start_editor)
    names = sorted([*(agent.name for agent in KNOWN), "robot"])
    completed = editor.eval("getcompletion('AgentChat agent:', 'cmdline')")
    assert completed == [f"agent://{name}" for name in names]
    editor.lua(
        "vim.ui.select = function(items, opts, choose)"
        " vim.g.shown = vim.tbl_map(opts.format_item, items)"
        " choose(vim.iter(items):find(function(it) return it[1] == 'robot' end)) end"
    )
    chat = Chat.open(editor, "AgentChat agent://")
    assert "robot (ready)" in editor.eval("g:shown")
    chat.play("say chosen")
    assert "chosen" in chat.transcript()
