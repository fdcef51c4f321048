"""Previews and how they are resolved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Call, call, calls, text

REMINDER = """\
<system-reminder>
This is a preview. Call the `resolve` tool to apply or discard these changes.
</system-reminder>"""


def rename(to: str = "welcome", id: str = "s") -> Call:
    ops = [{"pat": "greet($A)", "out": f"{to}($A)"}]
    return call("ast_edit", {"ops": ops, "lang": "python"}, id)


def resolve(action: str, reason: str = "as asked", id: str = "r") -> Call:
    return call("resolve", {"action": action, "reason": reason}, id)


@pytest.fixture
def app(workspace: Path) -> Path:
    """The file the rename changes."""
    return workspace / "src/app.py"


@pytest.fixture
def staged(chat: Chat, model_server: ModelServer) -> Chat:
    """A chat with one preview pending, given back to the user."""
    model_server.script(calls(rename()), text("Shall I?"))
    chat.play("rename it")
    assert chat.status()["pending"] == 1
    return chat


# --- staging --------------------------------------------------------------------------------


def test_a_preview_changes_nothing_and_says_so(
    staged: Chat, model_server: ModelServer, app: Path
) -> None:
    result = model_server.requests[1].results["s"]
    assert result.startswith("Staged as a preview - nothing has been changed yet.")
    assert "# src/app.py (1 replacement)" in result
    assert "# test_greet.py (1 replacement)" in result
    assert '-5:11 greet("world")' in result
    assert '+5:11 welcome("world")' in result
    assert "welcome" not in app.read_text()
    event = staged.event("AgentPreviewStaged")
    assert event["label"] == "AST Edit: 2 replacements in 2 files"
    assert event["source"] == "ast_edit"


def test_the_next_request_carries_the_reminder_and_forces_resolve(
    staged: Chat, model_server: ModelServer
) -> None:
    request = model_server.requests[1]
    assert REMINDER in "\n".join(str(m.get("content")) for m in request.messages[-2:])
    assert request.body["tool_choice"] == {"type": "function", "function": {"name": "resolve"}}
    assert "resolve" in request.tools


def test_the_reminder_comes_again_in_the_next_turn(staged: Chat, model_server: ModelServer) -> None:
    model_server.script(text("Still waiting."))
    staged.play("what now?")
    request = model_server.requests[-1]
    assert REMINDER in "\n".join(str(m.get("content")) for m in request.messages[-2:])
    assert request.body["tool_choice"]["function"]["name"] == "resolve"


# --- by the user ----------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_user_applies_a_preview_and_the_model_is_told_later(
    staged: Chat, editor: Editor, model_server: ModelServer, app: Path
) -> None:
    staged.focus()
    editor.command("AgentResolve apply looks right")
    event = staged.event("AgentPreviewResolved")
    assert (event["action"], event["status"]) == ("apply", "success")
    assert 'welcome("world")' in app.read_text()
    assert staged.status()["pending"] == 0
    assert len(model_server.requests) == 2
    model_server.script(text("Good."))
    staged.play("go on")
    request = model_server.requests[-1]
    assert "Applied 2 replacements in 2 files." in request.said()
    assert "looks right" in request.said()
    assert "tool_choice" not in request.body or request.body["tool_choice"] == "auto"
    assert REMINDER not in request.said()


def test_the_user_discards_a_preview(
    staged: Chat, editor: Editor, model_server: ModelServer, app: Path
) -> None:
    staged.focus()
    before = app.read_text()
    editor.command("AgentResolve discard")
    assert staged.event("AgentPreviewResolved")["action"] == "discard"
    assert app.read_text() == before
    model_server.script(text("Well."))
    staged.play("go on")
    said = model_server.requests[-1].said()
    assert "Discarded: AST Edit: 2 replacements in 2 files. Reason: No reason provided" in said


def test_the_newest_preview_is_resolved_first(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path, app: Path
) -> None:
    ops = [{"pat": "print($A)", "out": "log($A)"}]
    other = call("ast_edit", {"ops": ops, "path": "src/app.py", "lang": "python"}, "t")
    model_server.script(calls(rename(), other), text("Shall I?"))
    chat.play("both")
    assert chat.status()["pending"] == 2
    chat.focus()
    editor.command("AgentResolve discard")
    chat.event("AgentPreviewResolved", action="discard")
    editor.command("AgentResolve apply")
    chat.event("AgentPreviewResolved", action="apply")
    assert "welcome(" in app.read_text()
    assert "log(" not in app.read_text()


def test_resolve_with_nothing_pending_says_so(chat: Chat, editor: Editor) -> None:
    chat.focus()
    editor.command("AgentResolve apply")
    assert "\n" not in editor.wait_notice("(?i)no pending|nothing")


def test_resolve_with_a_wrong_word_says_which_there_are(staged: Chat, editor: Editor) -> None:
    staged.focus()
    editor.command("AgentResolve aply")
    said = editor.wait_notice("aply")
    assert "apply" in said
    assert "discard" in said
    assert staged.status()["pending"] == 1


def test_resolve_belongs_to_chat_and_review_buffers(staged: Chat, editor: Editor) -> None:
    editor.command("wincmd p | enew")
    assert editor.eval("exists(':AgentResolve')") == 0
    staged.focus()
    assert editor.eval("exists(':AgentResolve')") == 2
    editor.keys("gr")
    editor.wait(lambda: any(f.focused for f in editor.floats()), why="the review has the focus")
    assert editor.eval("exists(':AgentResolve')") == 2


def test_the_review_shows_the_difference_and_can_be_resolved_in(
    staged: Chat, editor: Editor, app: Path
) -> None:
    staged.focus()
    editor.keys("gr")
    editor.wait(lambda: any(f.focused for f in editor.floats()), why="the review has the focus")
    shown = editor.float_text()
    assert "AST Edit: 2 replacements in 2 files" in shown
    assert 'greet("world")' in shown
    assert 'welcome("world")' in shown
    editor.command("AgentResolve apply")
    staged.event("AgentPreviewResolved", action="apply")
    editor.wait(lambda: not editor.floats(), why="the review is closed")
    assert "welcome" in app.read_text()


def test_a_preview_applies_to_an_open_buffer(staged: Chat, editor: Editor, app: Path) -> None:
    editor.command("wincmd p | edit src/app.py")
    staged.focus()
    editor.command("AgentResolve apply")
    staged.event("AgentPreviewResolved")
    assert "welcome" in editor.text(editor.eval("bufnr('src/app.py')"))
    assert "welcome" in app.read_text()


def test_the_function_resolves_too(staged: Chat, editor: Editor, app: Path) -> None:
    editor.lua("require('agentchat').resolve(...)", staged.buffer, "apply", "by function")
    staged.event("AgentPreviewResolved", action="apply")
    assert "welcome" in app.read_text()


# --- by the model ---------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_model_applies_with_the_users_consent(
    chat: Chat, editor: Editor, model_server: ModelServer, app: Path
) -> None:
    model_server.script(calls(rename()), calls(resolve("apply")), text("Done."))
    chat.send("rename it")
    shown = chat.asked("resolve").text
    assert 'greet("world")' in shown
    assert 'welcome("world")' in shown
    assert "welcome" not in app.read_text()
    chat.answer("a")
    chat.finished()
    assert "Applied 2 replacements in 2 files." in model_server.requests[2].results["r"]
    assert "welcome" in app.read_text()
    assert chat.status()["pending"] == 0


def test_rejecting_the_models_apply_discards_with_the_reason(
    chat: Chat, editor: Editor, model_server: ModelServer, app: Path
) -> None:
    model_server.script(calls(rename()), calls(resolve("apply")), text("Oh."))
    chat.send("rename it")
    chat.asked("resolve")
    editor.command("AgentApprove reject wrong name")
    chat.finished()
    assert "wrong name" in model_server.requests[2].results["r"]
    assert chat.status()["pending"] == 0
    assert "welcome" not in app.read_text()


def test_cancelling_the_models_apply_leaves_it_pending(
    chat: Chat, editor: Editor, model_server: ModelServer, app: Path
) -> None:
    model_server.script(calls(rename()), calls(resolve("apply")))
    chat.send("rename it")
    chat.asked("resolve")
    chat.answer("c")
    chat.finished("cancelled")
    assert chat.status()["pending"] == 1
    assert len(model_server.requests) == 2
    chat.focus()
    editor.command("AgentResolve apply")
    chat.event("AgentPreviewResolved", action="apply")
    assert "welcome" in app.read_text()


def test_the_model_discards_without_a_question(
    chat: Chat, model_server: ModelServer, app: Path
) -> None:
    model_server.script(calls(rename()), calls(resolve("discard", "not it")), text("ok"))
    chat.play("rename it")
    expected = "Discarded: AST Edit: 2 replacements in 2 files. Reason: not it"
    assert model_server.requests[2].results["r"] == expected
    assert chat.status()["pending"] == 0


def test_other_tools_wait_until_the_preview_is_resolved(
    chat: Chat, model_server: ModelServer, workspace: Path
) -> None:
    touch = call("bash", {"command": "touch m"}, "b")
    model_server.script(calls(rename()), calls(resolve("apply"), touch), text("ok"))
    chat.play("rename it")
    expected = (
        "Not executed: call the `resolve` tool to resolve the pending action "
        "before using other tools."
    )
    assert model_server.requests[2].results["r"] == expected
    assert model_server.requests[2].results["b"] == expected
    assert not (workspace / "m").exists()
    assert chat.status()["pending"] == 1


def test_after_three_refused_replies_the_turn_ends(
    chat: Chat, editor: Editor, model_server: ModelServer
) -> None:
    model_server.script(calls(rename()), *[calls(call("ls")) for _ in range(3)])
    chat.send("rename it")
    chat.finished("error")
    assert len(model_server.requests) == 4
    assert chat.status()["pending"] == 1
    editor.allow(".")


def test_nothing_to_replace_stages_nothing(chat: Chat, model_server: ModelServer) -> None:
    ops = [{"pat": "nowhere($A)", "out": "x"}]
    model_server.script(calls(call("ast_edit", {"ops": ops, "lang": "python"}, "s")), text("ok"))
    chat.play("rename it")
    assert model_server.requests[1].results["s"].startswith("No replacements made")
    assert chat.status()["pending"] == 0


def test_a_file_that_changed_since_is_not_overwritten(
    staged: Chat, editor: Editor, app: Path
) -> None:
    app.write_text("print('other')\n")
    staged.focus()
    editor.command("AgentResolve apply")
    editor.wait(
        lambda: any(e.name == "AgentPreviewResolved" for e in editor.events) or editor.notices,
        why="the answer",
    )
    assert app.read_text() == "print('other')\n"
    editor.allow(".")
