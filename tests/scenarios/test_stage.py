"""Stage mode: the agent works on an overlay, and the user reviews everything at the end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor, connected
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return the mode and the content of everything in a folder."""
    found = {}
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        data = b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(root))] = (mode, data)
    return found


@pytest.fixture
def staging(start_editor: StartEditor, model_server: ModelServer) -> Chat:
    """A chat in stage mode."""
    editor = start_editor({"mode": "stage"}, env=connected(model_server))
    return Chat.open(editor)


def bash(command: str, **more: Any) -> Any:
    return call("bash", {"command": command, **more})


def edit(path: str, old: str, new: str) -> Any:
    return call("edit", {"path": path, "edits": [{"old_text": old, "new_text": new}]})


def test_edits_and_commands_run_unasked_and_are_one_preview_that_can_be_applied_and_undone(
    editor: Editor, chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    before = tree(workspace)
    chat.focus()
    editor.command("AgentMode stage")
    editor.wait(lambda: chat.status()["mode"] == "stage", why="the mode changed")
    model_server.script(
        calls(edit("notes.txt", "two", "2")),
        calls(bash("cat notes.txt; echo new > new.txt; ln -s new.txt link")),
        calls(bash("mv src/app.py .; rm -r src; echo file > src; rm README.md")),
        calls(
            bash("mkdir -p README.md/x links x/y; ln -s ../out links/out; echo x > README.md/in")
        ),
        calls(bash("mkdir out; for i in `seq 80`; do echo $i > out/$i; done")),
        text("Done."),
    )
    chat.play("go")
    said = model_server.requests[-1].said()
    assert "one\n2\nthree" in said
    assert "Changed " in said
    assert "new.txt (+1 -0)" in said
    assert tree(workspace) == before
    staged = chat.event("AgentPreviewStaged", source="stage")
    assert staged["label"].startswith("Turn 1: ")
    editor.command("AgentResolve apply good")
    chat.event("AgentPreviewResolved", source="stage", status="success")
    assert (workspace / "notes.txt").read_text() == "one\n2\nthree\n"
    assert (workspace / "link").readlink() == Path("new.txt")
    assert (workspace / "src").read_text() == "file\n"
    model_server.script(text("Yes."))
    chat.play("and?")
    assert "Applied 1 of 1 hunks in notes.txt." in model_server.requests[-1].said()
    editor.command("AgentUndo 1")
    editor.wait_text("Undo of turn 1", chat.buffer)
    editor.wait(lambda: tree(workspace) == before, why="everything is as it was")
    editor.wait_text(" more", chat.buffer)
    editor.command("AgentRedo")
    editor.wait_text("Redo of turn 1", chat.buffer)
    assert (workspace / "out/80").read_text() == "80\n"
    assert (workspace / "src").read_text() == "file\n"


def test_the_user_keeps_some_hunks_and_the_model_hears_which(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    editor = staging.editor
    model_server.script(
        calls(bash("sed -i s/one/1/ notes.txt; echo x > new.txt")), text("Done."), text("I see.")
    )
    staging.play("go")
    staging.focus()
    editor.keys("gr")
    editor.keys("]cxa")
    staging.event("AgentPreviewResolved", source="stage", action="apply", status="success")
    assert not (workspace / "new.txt").exists()
    assert (workspace / "notes.txt").read_text() == "1\ntwo\nthree\n"
    staging.play("and?")
    said = model_server.requests[-1].said()
    assert "Applied 0 of 1 hunks in new.txt. Rejected: hunk 1 (lines 1-1)" in said
    assert staging.status()["pending"] == 0


def test_what_is_discarded_is_gone_and_the_next_turn_begins_with_the_project(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    before = tree(workspace)
    model_server.script(calls(bash("rm -r src notes.txt")), text("Done."))
    staging.play("go")
    staging.focus()
    staging.editor.command("AgentResolve discard too much")
    staging.event("AgentPreviewResolved", source="stage", action="discard", status="success")
    model_server.script(calls(bash("ls")), text("Fine."))
    staging.play("again")
    said = model_server.requests[-1].said()
    assert "Discarded: Turn 1: " in said
    assert "Reason: too much" in said
    assert "notes.txt\nsrc" in said
    assert tree(workspace) == before
    assert staging.status()["pending"] == 0


def test_the_user_talks_on_and_the_preview_grows(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("echo 1 > a")), text("Done."))
    staging.play("go")
    assert staging.event("AgentPreviewStaged")["label"] == "Turn 1: 1 file, +1 -0"
    model_server.script(calls(bash("cat a; echo 2 > b")), text("Done."))
    staging.play("more")
    request = model_server.requests[-1]
    assert request.body.get("tool_choice") in (None, "auto")
    assert "This is a preview" not in str(request.messages)
    assert "resolve" not in request.tools
    assert staging.status()["pending"] == 1
    staging.focus()
    staging.editor.command("AgentResolve apply")
    done = staging.event("AgentPreviewResolved", source="stage")
    assert done["label"] == "Turn 2: 2 files, +2 -0"
    assert (workspace / "a").read_text() + (workspace / "b").read_text() == "1\n2\n"


def test_commands_see_unsaved_text_and_the_change_goes_into_the_buffer(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    editor = staging.editor
    editor.command("wincmd p | edit notes.txt")
    editor.keys("ggccfirst<Esc>")
    model_server.script(calls(bash("cat notes.txt; sed -i s/three/3/ notes.txt")), text("Done."))
    staging.play("go")
    assert "first\ntwo\nthree" in model_server.requests[-1].said()
    assert (workspace / "notes.txt").read_text() == "one\ntwo\nthree\n"
    staging.focus()
    editor.command("AgentResolve apply")
    staging.event("AgentPreviewResolved", source="stage", status="success")
    assert editor.lua("return vim.fn.getbufline('notes.txt', 1, '$')") == ["first", "two", "3"]
    assert (workspace / "notes.txt").read_text() == "one\ntwo\nthree\n"


def test_the_network_asks_and_a_failure_for_want_of_it_is_explained(
    staging: Chat, model_server: ModelServer
) -> None:
    model_server.script(
        calls(bash("echo 'Could not resolve host: x'; false")),
        calls(bash("echo online", network=True)),
        text("Done."),
    )
    staging.send("go")
    shown = staging.asked("bash").text
    assert "network" in shown
    assert "cannot be undone" not in shown
    staging.answer("a")
    staging.finished()
    said = model_server.requests[-1].said()
    assert "call bash again with network set to true" in said
    assert "online" in said


def test_protected_files_and_git_are_asked_about_once_when_applied(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    command = "echo x > Makefile; echo y > plain; git init -q; cp /bin/true su; chmod 4755 su"
    model_server.script(calls(bash(command)), text("Done."))
    staging.play("go")
    staging.focus()
    staging.editor.command("AgentResolve apply")
    shown = staging.asked("stage").text
    assert "Makefile is protected" in shown
    assert "su runs as its owner or group" in shown
    assert ".git" in shown
    staging.focus()
    staging.editor.keys("ga")
    staging.editor.keys("r")
    staging.editor.keys("<CR>")
    staging.editor.wait_text("Not applied", staging.buffer)
    assert not (workspace / "plain").exists()
    staging.focus()
    staging.editor.command("AgentResolve apply")
    staging.asked("stage")
    staging.answer("a")
    staging.event("AgentPreviewResolved", source="stage", status="success")
    assert (workspace / ".git/HEAD").exists()
    assert (workspace / "plain").read_text() == "y\n"


def test_a_stopped_turn_shows_what_was_done_so_far(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("echo 1 > a")), calls(bash("echo 2 > b; sleep 60")))
    staging.send("go")
    staging.event("AgentToolFinished")
    staging.event("AgentToolStarted")
    staging.event("AgentToolStarted")
    staging.editor.wait_text("sleep 60", staging.buffer)
    staging.focus()
    staging.editor.command("AgentStop")
    staging.finished("cancelled")
    assert staging.status()["pending"] == 1
    assert not (workspace / "a").exists()


def test_what_was_staged_before_the_mode_changed_is_shown_at_the_end_of_the_turn(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("echo 1 > a")), calls(bash("echo 2 > b", network=True)))
    model_server.script(text("Done."))
    staging.send("go")
    staging.asked("bash")
    staging.focus()
    staging.editor.command("AgentMode ask")
    staging.answer("a")
    staging.finished()
    assert staging.event("AgentPreviewStaged", source="stage")["label"] == "Turn 1: 2 files, +2 -0"
    assert not (workspace / "a").exists()


def test_staged_changes_survive_the_death_of_the_host_and_are_offered_again(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    editor = staging.editor
    model_server.script(calls(bash("echo 1 > a")), text("Done."))
    staging.play("go")
    os.kill(editor.wait_event("AgentHostStarted")["pid"], 9)
    editor.wait_notice("the Python host ended")
    model_server.script(text("Hello again."))
    staging.play("hello")
    staging.event("AgentPreviewStaged")
    staging.event("AgentPreviewStaged")
    staging.focus()
    editor.command("AgentResolve apply")
    staging.event("AgentPreviewResolved", source="stage", status="success")
    assert (workspace / "a").read_text() == "1\n"


def test_where_no_overlay_works_the_mode_is_refused_with_the_reason(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    env = {**connected(model_server), "XDG_STATE_HOME": str(workspace / "state")}
    chat = Chat.open(start_editor(env=env))
    chat.focus()
    chat.editor.command("AgentMode stage")
    notice = chat.editor.wait_notice("contains the state folder of the plugin. Open a folder below")
    assert "tools.edits = 'stage' stages edits without an overlay" in notice
    assert chat.status()["mode"] == "ask"


@pytest.mark.asks_first
def test_a_command_is_tried_and_accepting_applies_that_very_result(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    command = "date +%N > stamp; echo x >> notes.txt; cat stamp"
    model_server.script(calls(bash(command)), text("Done."))
    chat.send("go")
    shown = chat.asked("bash").text
    assert "t runs it isolated first" in shown
    assert "0 · no dry run, no undo" in shown
    chat.answer("t")
    shown = chat.asked("bash").text
    assert "2 · dry run" in shown
    assert "A stamp" in shown
    assert "M notes.txt" in shown
    assert not (workspace / "stamp").exists()
    chat.answer("a")
    chat.finished()
    stamp = (workspace / "stamp").read_text()
    said = model_server.requests[-1].said()
    assert stamp in said
    assert "Changed 2 files: " in said
    chat.focus()
    chat.editor.command("AgentUndo")
    chat.editor.wait_text("restored: notes.txt", chat.buffer)
    assert not (workspace / "stamp").exists()
    assert "not undoable" not in chat.text()


@pytest.mark.asks_first
def test_a_tried_command_that_is_rejected_leaves_nothing(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    before = tree(workspace)
    model_server.script(calls(bash("rm -r src")), calls(bash("ls")), text("Done."))
    chat.send("go")
    chat.asked("bash")
    chat.answer("t")
    chat.asked("bash")
    chat.editor.command("AgentApprove reject too much")
    chat.asked("bash")
    assert model_server.requests[-1].result == "User rejected the bash call. Reason: too much"
    chat.answer("t")
    assert "No file changed." in chat.asked("bash").text
    chat.answer("a")
    chat.finished()
    assert "src" in model_server.requests[-1].result
    assert tree(workspace) == before


def test_a_stage_rule_tries_the_commands_it_names_before_it_asks(
    start_editor: StartEditor, model_server: ModelServer, workspace: Path
) -> None:
    rule = {"action": "stage", "tool": "bash", "words": ["touch"]}
    settings = {"rules": [rule], "commands": {"unasked": "none"}}
    chat = Chat.open(start_editor(settings, env=connected(model_server)))
    model_server.script(calls(bash("touch new")), calls(bash("touch a; rm b")), text("Done."))
    chat.send("go")
    assert "A new" in chat.asked("bash").text
    chat.answer("a")
    assert "t runs it isolated first" in chat.asked("bash").text.replace("\n", " ")
    assert (workspace / "new").exists()
    chat.answer("c")
    chat.finished("cancelled")


def test_what_changed_meanwhile_is_kept_and_a_conflict_can_be_left_out(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    editor = staging.editor
    lines = [f"line {number}\n" for number in range(30)]
    (workspace / "long").write_text("".join(lines))
    (workspace / "short").write_text("a\n")
    model_server.script(calls(bash("sed -i 's/line 2$/two/' long; echo b > short")), text("Done."))
    staging.play("go")
    (workspace / "long").write_text("".join([*lines[:20], "mine\n", *lines[20:]]))
    staging.focus()
    editor.command("AgentResolve apply")
    editor.wait_notice("long changed: the preview is shown again")
    (workspace / "short").write_text("mine\n")
    editor.command("AgentResolve apply")
    editor.wait_text("short changed since the preview", staging.buffer)
    assert "Leave that file out with x" in staging.text().replace("\n    ", " ")
    editor.keys("gr")
    editor.keys("]c]cxa")
    staging.event("AgentPreviewResolved", source="stage", action="apply", status="success")
    assert (workspace / "long").read_text().splitlines()[2] == "two"
    assert "mine" in (workspace / "long").read_text()
    assert (workspace / "short").read_text() == "mine\n"


def test_staged_changes_are_offered_again_when_the_chat_is_resumed(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    editor = staging.editor
    model_server.script(calls(bash("echo 1 > a")), text("Done."))
    staging.play("go")
    editor.lua("vim.ui.select = function(items, _, choose) choose(items[1]) end")
    editor.command(f"bwipeout! {staging.buffer}")
    again = Chat.open(editor, "AgentHistory")
    assert again.id == staging.id
    editor.wait(lambda: again.status()["pending"] == 1, why="the preview is pending again")
    model_server.script(calls(bash("cat a")), text("Yes."))
    again.play("still there?")
    assert model_server.requests[-1].result.startswith("1")
    assert "is lost" not in model_server.requests[-1].said()
    again.focus()
    editor.command("AgentResolve apply")
    again.event("AgentPreviewResolved", source="stage", status="success")
    assert (workspace / "a").read_text() == "1\n"


def test_a_message_sent_at_once_waits_for_the_mode(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    model_server.script(calls(bash("echo 1 > a")), text("Done."))
    chat.focus()
    chat.editor.command("AgentMode stage")
    chat.play("go")
    assert chat.status()["mode"] == "stage"
    assert chat.status()["pending"] == 1
    assert not (workspace / "a").exists()


def test_names_that_are_no_utf8_and_loops_of_links_are_applied(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    command = r"touch $'caf\351'; echo x > $'\351t\351'; ln -s b a; ln -s a b; cp $'\351t\351' c"
    model_server.script(calls(bash(command)), text("Done."))
    staging.play("go")
    staging.focus()
    staging.editor.command("AgentResolve apply")
    staging.event("AgentPreviewResolved", source="stage", status="success")
    names = {os.fsencode(path.name) for path in workspace.iterdir()}
    assert {b"caf\xe9", b"\xe9t\xe9", b"a", b"b", b"c"} <= names
    assert (workspace / "a").readlink() == Path("b")


def test_searches_and_rewrites_work_in_the_overlay_too(
    staging: Chat, model_server: ModelServer, workspace: Path
) -> None:
    before = tree(workspace)
    ops = [{"pat": "greet($A)", "out": "welcome($A)"}]
    resolve = call("resolve", {"action": "apply", "reason": "as asked"})
    model_server.script(
        calls(call("ast_edit", {"ops": ops, "lang": "python"})),
        calls(resolve),
        calls(call("grep", {"pattern": "welcome"}), call("find", {"pattern": "*.py"})),
        text("Done."),
    )
    staging.play("rename it")
    assert "welcome(" in model_server.requests[-1].said()
    assert tree(workspace) == before
    assert staging.event("AgentPreviewStaged", source="stage")["label"].startswith("Turn 1: ")


def test_what_cannot_be_applied_is_named(staging: Chat, model_server: ModelServer) -> None:
    model_server.script(calls(bash("mkfifo pipe")), text("Done."), text("Yes."))
    staging.play("go")
    note = "Left out of the preview, cannot be applied: pipe (pipe)"
    staging.editor.wait_text(note, staging.buffer)
    assert staging.status()["pending"] == 0
    staging.play("again")
    assert staging.text().count(note) == 1


def test_a_staged_command_lists_its_own_changes_and_the_processes_it_left(
    staging: Chat, model_server: ModelServer
) -> None:
    model_server.script(
        calls(edit("notes.txt", "two", "2")), calls(bash("echo x > new; sleep 60 &")), text("Done.")
    )
    staging.play("go")
    result = model_server.requests[-1].result
    assert "Changed 1 file: new (+1 -0)" in result
    assert "Changed 1 file" not in staging.text(), "the diff below says it"
    assert "1 background process was ended." in result
