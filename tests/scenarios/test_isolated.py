"""Commands without a question: they run isolated, and what they changed asks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text


def bash(command: str, **more: Any) -> Any:
    return call("bash", {"command": command, **more})


def test_a_command_that_changes_nothing_runs_without_a_question(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("cat notes.txt; ls")), text("Done."))
    chat.play("go")
    assert "one\ntwo\nthree\nREADME.md\nnotes.txt\nsrc" in model_server.requests[-1].result
    (header,) = [line for line in chat.text().split("\n") if "bash: cat" in line]
    assert header.endswith("isolated")
    started = chat.event("AgentToolStarted")
    assert started["tool"] == "bash"
    chat.focus()
    chat.editor.command("AgentLog decisions")
    chat.editor.wait_text("isolated, nothing changed")


def test_what_a_command_changed_asks_and_accepting_applies_that_very_result(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(
        calls(bash("date +%N > stamp; cat stamp; sed -i s/one/1/ notes.txt")), text("Done.")
    )
    chat.send("go")
    shown = chat.asked("bash").text
    assert "bash ran isolated: apply its changes?" in shown
    assert "A stamp" in shown
    assert "always" in shown
    assert not (workspace / "stamp").exists()
    chat.answer("a")
    chat.finished()
    assert (workspace / "stamp").read_text() in model_server.requests[-1].result
    assert "Changed 2 files: " in model_server.requests[-1].result
    assert "Changed 2 files" not in chat.text(), "the diff below says it"
    assert (workspace / "notes.txt").read_text() == "1\ntwo\nthree\n"
    chat.focus()
    chat.editor.command("AgentUndo")
    chat.editor.wait_text("restored: notes.txt", chat.buffer)
    assert not (workspace / "stamp").exists()


def test_a_rejection_drops_the_changes_and_its_reason_goes_to_the_model(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("rm -r src")), text("Done."))
    chat.send("go")
    chat.asked("bash")
    chat.editor.command("AgentApprove reject too much")
    chat.finished()
    assert model_server.requests[-1].result == "User rejected the bash call. Reason: too much"
    assert (workspace / "src").is_dir()


def test_always_lets_this_command_run_isolated_and_apply_ordinary_files(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    command = "echo x >> log; echo y >> Makefile"
    model_server.script(
        calls(bash("echo x >> log")),
        calls(bash("echo x >> log")),
        calls(bash(command)),
        calls(bash(command)),
        text("Done."),
    )
    chat.send("go")
    chat.asked("bash")
    chat.answer("A")
    shown = chat.asked("bash").text
    assert (workspace / "log").read_text() == "x\nx\n"
    assert "Makefile is protected" in shown
    chat.answer("A")
    chat.asked("bash")
    chat.answer("a")
    chat.finished()


@pytest.mark.parametrize(("option", "says"), [("network", "network"), ("direct", "in the project")])
def test_what_opens_more_asks_before_anything_runs(
    chat: Chat, model_server: ModelServer, workspace: Path, option: str, says: str
) -> None:
    model_server.script(calls(bash("echo x > new", **{option: True})), text("Done."))
    chat.send("go")
    shown = chat.asked("bash").text
    assert says in shown
    assert "shows what will change" not in shown
    chat.answer("a")
    if option == "network":
        assert "A new" in chat.asked("bash").text
        assert not (workspace / "new").exists()
        chat.answer("a")
    chat.finished()
    assert (workspace / "new").read_text() == "x\n"


def test_in_yolo_ordinary_changes_apply_at_once_and_others_ask(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    chat = Chat.open(start_editor({"mode": "yolo"}, env=connected(model_server)))
    model_server.script(
        calls(bash("echo x > new")),
        calls(bash("mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; echo y > new")),
        text("Done."),
    )
    chat.send("go")
    shown = chat.asked("bash").text
    assert (workspace / "new").read_text() == "x\n"
    assert "left out" in shown
    chat.answer("a")
    chat.finished()
    assert (workspace / "new").read_text() == "y\n"
    assert not (workspace / ".github/workflows/ci.yml").exists()
    assert "Left out: .github/workflows/ci.yml" in model_server.requests[-1].result


def test_in_plan_mode_changes_are_dropped_and_the_result_says_so(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    chat = Chat.open(start_editor({"mode": "plan"}, env=connected(model_server)))
    model_server.script(
        calls(bash("echo x > new; ls")), calls(bash("ls", direct=True)), text("Done.")
    )
    chat.play("go")
    first, second = model_server.requests[-1].results.values()
    assert "new" in first
    assert "1 file, +1 -0 changed there, and that was dropped" in first
    assert second == "Not allowed in plan mode: bash."
    assert not (workspace / "new").exists()


def test_a_command_that_fails_is_told_what_it_did_not_have(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(calls(bash("false")), text("Done."))
    chat.play("go")
    assert "Ran isolated: no network" in model_server.requests[-1].result


def test_with_none_every_command_asks_first(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    settings = {"commands": {"unasked": "none"}}
    chat = Chat.open(start_editor(settings, env=connected(model_server)))
    model_server.script(calls(bash("ls")), text("Done."))
    chat.send("go")
    shown = chat.asked("bash").text
    assert "bash wants to run a command" in shown
    assert "0 · no dry run, no undo" in shown
    chat.answer("a")
    chat.finished()


def test_long_output_is_kept_in_a_file_and_background_processes_are_told(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(calls(bash("seq 200000; sleep 60 & sleep 61 &")), text("Done."))
    chat.play("go")
    result = model_server.requests[-1].result
    assert "2 background processes were ended." in result
    stored = result.partition("full output: ")[2].partition(" ...]")[0]
    assert Path(stored).read_text().endswith("\n200000\n")


def test_ignored_files_stay_on_the_overlay_and_never_reach_the_project(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    (workspace / ".gitignore").write_text("build/\n")
    model_server.script(
        calls(bash("git init -q .")),
        calls(bash("mkdir build; echo 1 > build/a; echo 2 > build/b")),
        calls(bash("cat build/a")),
        text("Done."),
    )
    chat.send("go")
    assert ".git" in chat.asked("bash").text
    chat.answer("a")
    chat.finished()
    _, second, third = model_server.requests[-1].results.values()
    assert "Kept on the overlay: 2 ignored files (build/)." in second
    assert third == "1"
    assert not (workspace / "build").exists()
    assert (workspace / ".git/HEAD").exists()


def test_a_command_whose_files_moved_meanwhile_runs_and_asks_again(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("sed -i s/one/1/ notes.txt")), text("Done."))
    chat.send("go")
    chat.asked("bash")
    (workspace / "notes.txt").write_text("one and only\n")
    chat.answer("a")
    assert "1 and only" in chat.asked("bash").text
    assert (workspace / "notes.txt").read_text() == "one and only\n"
    chat.answer("a")
    chat.finished()
    assert (workspace / "notes.txt").read_text() == "1 and only\n"


def test_a_timeout_after_changes_is_told_and_the_changes_ask(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("echo x > new; sleep 60", timeout=1)), text("Done."))
    chat.send("go")
    shown = chat.asked("bash").text
    assert "Command timed out after 1 seconds" in shown
    assert "A new" in shown
    chat.answer("a")
    chat.finished()
    assert (workspace / "new").exists()
    assert "Command timed out after 1 seconds" in model_server.requests[-1].result


def test_a_rule_after_an_isolated_run_says_isolated(chat: Chat, model_server: ModelServer) -> None:
    model_server.script(calls(bash("touch new")), text("Done."))
    chat.send("go")
    chat.asked("bash")
    chat.focus()
    chat.editor.keys("ga")
    chat.editor.keys("R")
    chat.editor.wait_screen("isolated")


def test_a_stop_ends_an_isolated_command_and_applies_nothing(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("echo x > new; echo begun; sleep 60")))
    chat.send("go")
    chat.editor.wait_text("begun", chat.buffer)
    chat.focus()
    chat.editor.command("AgentStop")
    chat.finished("cancelled")
    assert not (workspace / "new").exists()
    model_server.script(calls(bash("ls")), text("Done."))
    chat.play("again")
    assert "new" not in model_server.requests[-1].result


def test_a_change_of_a_path_that_a_rule_names_is_left_out_however_it_was_made(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    rules = [{"action": "deny", "path": "private/**"}]
    (workspace / "private").mkdir()
    (workspace / "private/x").write_text("theirs\n")
    settings = {"mode": "yolo", "rules": rules}
    chat = Chat.open(start_editor(settings, env=connected(model_server)))
    model_server.script(calls(bash("cd pri*; echo evil > x; echo y > ../new")), text("Done."))
    chat.send("go")
    assert "left out, a rule names it" in chat.asked("bash").text
    chat.answer("a")
    chat.finished()
    assert (workspace / "private/x").read_text() == "theirs\n"
    assert (workspace / "new").exists()


def test_a_command_that_runs_directly_names_the_processes_that_ended_with_it(
    chat: Chat, model_server: ModelServer
) -> None:
    model_server.script(calls(bash("sleep 60 & echo on", direct=True)), text("Done."))
    chat.send("go")
    chat.asked("bash")
    chat.answer("a")
    chat.finished()
    assert model_server.requests[-1].result == "on\n\n1 background process was ended."


def test_undo_restores_an_index_of_git_that_was_only_refreshed_since(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a")
        return subprocess.check_output(["git", "-C", str(workspace), *who, *words], text=True)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all")
    model_server.script(calls(bash("git mv notes.txt moved.txt")), text("Done."))
    chat.send("go")
    chat.asked("bash")
    chat.answer("a")
    chat.finished()
    assert git("status", "--porcelain") == "R  notes.txt -> moved.txt\n"
    index = (workspace / ".git/index").read_bytes()
    os.utime(workspace / "moved.txt", (1, 1))
    git("status")
    assert (workspace / ".git/index").read_bytes() != index
    chat.focus()
    chat.editor.command("AgentUndo")
    chat.editor.wait((workspace / "notes.txt").exists, why="the undo")
    chat.editor.wait(lambda: git("status", "--porcelain") == "", why="the index, too")
