"""Changes decided hunk by hunk in a real editor, and previews whose text moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.replies import Call, call, calls, text

LINES = [f"line {n}" for n in range(1, 41)]


@pytest.fixture
def file(workspace: Path) -> Path:
    """A file of forty lines."""
    path = workspace / "long.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def edit(*numbers: int, id: str = "c") -> Call:
    edits = [{"old_text": f"line {n}\n", "new_text": f"LINE {n}\n"} for n in numbers]
    return call("edit", {"path": "long.txt", "edits": edits}, id)


def write(*numbers: int) -> Call:
    return call("write", {"path": "long.txt", "content": with_changes(*numbers)}, "c")


def with_changes(*numbers: int) -> str:
    return "\n".join(f"LINE {n}" if n in numbers else f"line {n}" for n in range(1, 41)) + "\n"


def enter(chat: Chat, keys: str) -> None:
    chat.focus()
    chat.editor.keys("ga")
    chat.editor.keys(keys)


@pytest.mark.smoke
def test_exactly_what_is_kept_is_applied_and_the_model_is_told(
    chat: Chat, editor: Editor, model_server: ModelServer, file: Path
) -> None:
    model_server.script(calls(edit(5, 30)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    enter(chat, "]c]cxC")
    editor.type("not that one")
    editor.keys("<CR>a")
    chat.finished()
    assert file.read_text() == with_changes(5)
    assert model_server.requests[-1].results["c"] == (
        "Applied 1 of 2 hunks in long.txt. Rejected: hunk 2 (lines 30-30): not that one"
    )


def test_nothing_kept_is_a_no(chat: Chat, model_server: ModelServer, file: Path) -> None:
    model_server.script(calls(edit(5, 30)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    enter(chat, "]cXa")
    chat.finished()
    assert file.read_text() == with_changes()
    assert model_server.requests[-1].results["c"] == "User rejected the edit call."


def test_the_user_writes_something_else_and_sees_it_before_it_is_applied(
    chat: Chat, editor: Editor, model_server: ModelServer, file: Path
) -> None:
    model_server.script(calls(edit(5, 30)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    enter(chat, "]cE")
    editor.wait(lambda: "Proposed text of" in editor.floats()[0].title, why="the text is shown")
    editor.command("%s/LINE 5/my line/")
    editor.keys(":w<CR>")
    chat.event("AgentApprovalAnswered", choice="edit")
    shown = chat.asked("edit")
    assert "my line" in shown.text
    enter(chat, "a")
    chat.finished()
    assert file.read_text() == with_changes(5, 30).replace("LINE 5", "my line")
    told = model_server.requests[-1].results["c"]
    assert told.startswith("Applied 2 of 2 hunks in long.txt.")
    assert "The user edited the proposed text of long.txt:" in told
    assert "+my line" in told


def test_a_buffer_edited_while_the_question_is_open_is_asked_about_again(
    chat: Chat, editor: Editor, model_server: ModelServer, file: Path
) -> None:
    editor.command(f"wincmd p | edit {file} | wincmd p")
    model_server.script(calls(edit(5)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    buffer = editor.eval("bufnr('long.txt')")
    editor.lua("vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'mine' })", buffer)
    enter(chat, "a")
    chat.event("AgentApprovalAnswered")
    shown = chat.asked("edit")
    assert "changed since it was shown" in shown.text
    enter(chat, "a")
    chat.finished()
    assert editor.text(buffer) + "\n" == "mine\n" + with_changes(5)
    assert file.read_text() == with_changes()


def test_an_open_file_that_a_command_changed_is_shown_read_and_edited_as_it_is_now(
    chat: Chat, editor: Editor, model_server: ModelServer, file: Path
) -> None:
    editor.command(f"wincmd p | edit {file} | wincmd p")
    change = call("bash", {"command": "sed -i.old 's/line 9$/nine/' long.txt"}, "b")
    model_server.script(calls(change), calls(edit(5)), text("ok"))
    chat.send("edit it")
    chat.asked("bash")
    enter(chat, "a")
    chat.event("AgentApprovalAnswered")
    chat.asked("edit")
    assert "nine" in editor.text(editor.eval("bufnr('long.txt')"))
    enter(chat, "a")
    chat.finished()
    assert model_server.requests[-1].results["c"] == "Edited long.txt: 1 replacement."
    assert file.read_text() == with_changes(5).replace("line 9\n", "nine\n")
    assert editor.text(editor.eval("bufnr('long.txt')")) + "\n" == file.read_text()


def test_a_file_deleted_while_the_question_is_open_stays_deleted(
    chat: Chat, model_server: ModelServer, file: Path
) -> None:
    model_server.script(calls(edit(5)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    file.unlink()
    enter(chat, "a")
    chat.finished()
    assert not file.exists()
    assert "Edited" not in model_server.requests[-1].results["c"]


def test_a_file_replaced_by_a_folder_while_the_question_is_open_is_left_alone(
    chat: Chat, model_server: ModelServer, file: Path
) -> None:
    model_server.script(calls(edit(5)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    file.unlink()
    file.mkdir()
    enter(chat, "a")
    chat.finished()
    assert list(file.iterdir()) == []
    assert "Edited" not in model_server.requests[-1].results["c"]


def test_a_buffer_wiped_out_while_the_question_is_open_is_not_needed(
    chat: Chat, editor: Editor, model_server: ModelServer, file: Path
) -> None:
    editor.command(f"wincmd p | edit {file} | wincmd p")
    model_server.script(calls(edit(5)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    editor.command("bwipeout long.txt")
    enter(chat, "a")
    chat.finished()
    assert file.read_text() == with_changes(5)
    assert editor.eval("bufexists('long.txt')") == 0


def rename(old: str, new: str, id: str) -> Call:
    ops = [{"pat": f"{old}($A)", "out": f"{new}($A)"}]
    return call("ast_edit", {"ops": ops, "path": "src/app.py", "lang": "python"}, id)


@pytest.fixture
def app(workspace: Path) -> Path:
    """The file the renames change, with room between the two calls."""
    path = workspace / "src/app.py"
    path.write_text("greet(1)\n" + "pass\n" * 10 + "farewell(2)\n")
    return path


def test_a_preview_whose_file_changed_elsewhere_is_shown_anew_before_it_is_applied(
    chat: Chat, editor: Editor, model_server: ModelServer, app: Path
) -> None:
    model_server.script(calls(rename("greet", "welcome", "s")), text("Shall I?"))
    chat.play("rename it")
    before = app.read_text()
    app.write_text(before + "more()\n")
    chat.focus()
    editor.command("AgentResolve apply")
    editor.wait_notice("the preview is shown again")
    assert "welcome" not in app.read_text()
    assert chat.status()["pending"] == 1
    editor.command("AgentResolve apply")
    chat.event("AgentPreviewResolved", action="apply", status="success")
    assert app.read_text() == before.replace("greet", "welcome") + "more()\n"


def test_when_the_newer_of_two_is_applied_the_older_is_shown_on_top_of_it(
    chat: Chat, editor: Editor, model_server: ModelServer, app: Path
) -> None:
    first, second = rename("greet", "welcome", "s"), rename("farewell", "goodbye", "t")
    model_server.script(calls(first, second), text("Shall I?"))
    chat.play("rename both")
    chat.focus()
    editor.command("AgentResolve apply")
    chat.event("AgentPreviewResolved", action="apply", status="success")
    editor.wait(lambda: "welcome(1)" in editor.float_text(), why="the older one is shown")
    editor.command("AgentResolve apply")
    chat.event("AgentPreviewResolved", action="apply", status="success")
    assert app.read_text() == "welcome(1)\n" + "pass\n" * 10 + "goodbye(2)\n"


def test_hunks_of_a_preview_are_decided_in_its_review(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    ops = [{"pat": "greet($A)", "out": "welcome($A)"}]
    model_server.script(calls(call("ast_edit", {"ops": ops, "lang": "python"}, "s")), text("?"))
    chat.play("rename it")
    chat.focus()
    editor.keys("gr")
    editor.keys("]c]cxa")
    chat.event("AgentPreviewResolved", action="apply", status="success")
    assert "welcome" in (workspace / "src/app.py").read_text()
    assert "welcome" not in (workspace / "test_greet.py").read_text()
    model_server.script(text("I see."))
    chat.play("go on")
    assert "Applied 0 of 1 hunks in test_greet.py. Rejected" in model_server.requests[-1].said()


def test_the_replacements_of_a_call_are_decided_apart_however_close(
    chat: Chat, model_server: ModelServer, file: Path
) -> None:
    model_server.script(calls(edit(5, 8)), text("ok"))
    chat.send("edit it")
    chat.asked("edit")
    enter(chat, "]c]cxa")
    chat.finished()
    assert file.read_text() == with_changes(5)


@pytest.mark.parametrize("columns", [False, True], ids=["one column", "two columns"])
def test_a_hunk_is_split_into_its_changes_in_the_float(
    chat: Chat, editor: Editor, model_server: ModelServer, file: Path, columns: bool
) -> None:
    editor.lua("require('agentchat').setup({ ui = { side_by_side = ... } })", columns)
    model_server.script(calls(write(5, 8, 30)), text("ok"))
    chat.send("write it")
    chat.asked("write")
    enter(chat, "]cS]cx")
    shown = editor.floats()[0]
    assert "2 of 3 kept" in shown.footer
    assert shown.text.count("@@ -") == 3
    editor.keys("a")
    chat.finished()
    assert file.read_text() == with_changes(5, 30)
    assert "hunk 2 (lines 8-8)" in model_server.requests[-1].results["c"]


def test_what_was_decided_about_a_hunk_holds_for_its_parts(
    chat: Chat, editor: Editor, model_server: ModelServer, file: Path
) -> None:
    model_server.script(calls(write(5, 8)), text("ok"))
    chat.send("write it")
    chat.asked("write")
    enter(chat, "]cxSx")
    assert "1 of 2 kept" in editor.floats()[0].footer
    editor.keys("a")
    chat.finished()
    assert file.read_text() == with_changes(5)


def test_a_hunk_of_a_preview_is_split_in_its_review(
    chat: Chat, editor: Editor, model_server: ModelServer, workspace: Path
) -> None:
    lines = ["f(1)", "a", "b", "f(2)", "c"]
    (workspace / "some.py").write_text("\n".join(lines) + "\n")
    ops = [{"pat": "f($A)", "out": "g($A)"}]
    stage = call("ast_edit", {"ops": ops, "lang": "python"}, "c")
    model_server.script(calls(stage), text("ok"))
    chat.play("rename it")
    chat.focus()
    editor.keys("gr")
    editor.keys("]cS]cxa")
    chat.event("AgentPreviewResolved")
    assert (workspace / "some.py").read_text() == "g(1)\na\nb\nf(2)\nc\n"
