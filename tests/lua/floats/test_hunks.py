"""Deciding hunk by hunk, in a question and in a review, with real keys."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk, diff
from tests.support.chat import Chat
from tests.support.editor import Editor

A = "/work/project/a.py"
B = "/work/project/b.py"


def ask(desk: Desk, id: str = "p1", **more: Any) -> None:
    """Ask about a diff of two files, and go there."""
    desk.ask(id, **{"kind": "diff", "doc": diff("a.py", "b.py"), "subject": "c1", **more})
    desk.chat.focus()
    desk.editor.keys("ga")


def review(desk: Desk, id: str = "v1", **more: Any) -> None:
    """Show a preview of two files, and go there."""
    desk.stage(id, stamp="s1", **more)
    desk.chat.focus()
    desk.editor.keys("gr")


def marked(editor: Editor) -> list[str]:
    """What stands behind and below lines of the topmost float, in order."""
    code = """
    local ns = vim.api.nvim_create_namespace('agentchat.diff')
    local found = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(..., ns, 0, -1, { details = true })) do
      for _, chunk in ipairs(mark[4].virt_text or {}) do table.insert(found, chunk[1]) end
      for _, line in ipairs(mark[4].virt_lines or {}) do table.insert(found, line[2][1]) end
    end
    return found
    """
    found: list[str] = editor.lua(code, editor.floats()[0].buffer)
    return found


def no(path: str, comment: str = "", keep: bool = False) -> dict[str, Any]:
    return {"path": path, "index": 0, "keep": keep, "comment": comment}


# --- keep or reject -------------------------------------------------------------------------


def test_x_rejects_a_hunk_and_a_applies_the_rest(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]c]cx")
    assert "1 of 2 kept" in desk.editor.floats()[0].footer
    assert marked(desk.editor) == ["✗ rejected"]
    desk.editor.keys("a")
    (answer,) = desk.told("answer")
    assert answer["choice"] == "accept"
    assert answer["hunks"] == [no(B)]


def test_x_again_keeps_it(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cxx")
    assert marked(desk.editor) == []
    desk.editor.keys("a")
    assert "hunks" not in desk.told("answer")[0]


def test_a_rejected_hunk_is_dimmed_and_its_colours_come_back(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cx")
    assert desk.groups("+welcome()") == ["AgentChatRejected"]
    desk.editor.keys("x")
    assert desk.groups("+welcome()") == ["AgentChatAdd"]


def test_a_rejected_hunk_is_still_walked_to(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cx]cx[c")
    assert desk.groups("@@ -1 +1 @@") == ["AgentChatHunk"]
    desk.editor.keys("x")
    assert marked(desk.editor) == ["✗ rejected"]
    desk.editor.keys("a")
    assert desk.told("answer")[0]["hunks"] == [no(B)]


def test_capital_x_is_about_the_whole_file(desk: Desk) -> None:
    doc = diff("a.py", "a.py", "b.py")
    doc["hunks"][1].update(index=1, key="k2")
    ask(desk, doc=doc)
    desk.editor.keys("]cX")
    assert "1 of 3 kept" in desk.editor.floats()[0].footer
    desk.editor.keys("X")
    assert marked(desk.editor) == []
    desk.editor.keys("xX")
    assert "1 of 3 kept" in desk.editor.floats()[0].footer


def test_among_the_facts_below_the_hunks_there_is_none_to_decide(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("Gx")
    desk.editor.wait_notice("No hunk under the cursor")
    assert marked(desk.editor) == []


def test_the_line_of_a_file_stands_for_its_first_hunk(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]f]fxa")
    assert desk.told("answer")[0]["hunks"] == [no(B)]


def test_the_command_answers_with_what_is_kept(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cx")
    desk.editor.command("AgentApprove accept")
    assert desk.told("answer")[0]["hunks"] == [no(A)]


def test_details_and_hiding_lose_nothing(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cx?")
    assert "reject the hunk" in desk.editor.float_text()
    assert marked(desk.editor) == ["✗ rejected"]
    desk.editor.keys("q")
    desk.chat.focus()
    desk.editor.keys("ga")
    assert marked(desk.editor) == ["✗ rejected"]
    assert desk.told("answer") == []


def test_what_was_said_holds_when_the_same_is_asked_again(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cx")
    moved = diff("a.py", "b.py", "c.py")
    desk.close("p1")
    ask(desk, "p2", doc=moved)
    assert "2 of 3 kept" in desk.editor.floats()[0].footer
    desk.close("p2")
    ask(desk, "p3", doc=moved, subject="c2")
    assert marked(desk.editor) == []


# --- comments -------------------------------------------------------------------------------


def test_a_comment_is_typed_shown_and_sent(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cC")
    desk.editor.type("why not hello?")
    desk.editor.keys("<CR>")
    assert marked(desk.editor) == ["why not hello?"]
    assert desk.editor.eval("&filetype") == "agentchat-question"
    desk.editor.keys("xa")
    assert desk.told("answer")[0]["hunks"] == [no(A, "why not hello?")]


def test_a_comment_alone_keeps_the_hunk(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cC")
    desk.editor.type("nice")
    desk.editor.keys("<CR>a")
    assert desk.told("answer")[0]["hunks"] == [no(A, "nice", keep=True)]


def test_escape_leaves_the_comment_as_it_was(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cC")
    desk.editor.type("nice")
    desk.editor.keys("<CR>C")
    desk.editor.type(" try")
    desk.editor.keys("<Esc>")
    assert marked(desk.editor) == ["nice"]
    assert desk.told("answer") == []


# --- the proposed text ----------------------------------------------------------------------


def propose(desk: Desk, subject: str, text: str = "one\ntwo\n") -> None:
    desk.editor.keys("]cE")
    (told,) = desk.told("propose")
    assert told == {"chat": desk.chat.id, "subject": subject, "path": A}
    proposal = {"subject": subject, "path": A, "name": "a.py", "text": text}
    desk.call("approval.edit_proposal", desk.chat.id, proposal)


@pytest.mark.parametrize("keys", [":w<CR>", ":wq<CR>", "<C-s>"])
def test_the_proposed_text_is_edited(desk: Desk, keys: str) -> None:
    ask(desk)
    propose(desk, "p1")
    assert desk.editor.text() == "one\ntwo"
    desk.editor.keys("ccfirst<Esc>" + keys)
    desk.editor.wait(lambda: desk.told("answer"))
    (answer,) = desk.told("answer")
    assert answer["choice"] == "edit"
    assert answer["replaced"] == [{"path": A, "text": "first\ntwo\n"}]


def test_leaving_the_text_changes_nothing(desk: Desk) -> None:
    ask(desk)
    propose(desk, "p1")
    desk.editor.keys("ccfirst<Esc>q")
    assert desk.told("answer") == []
    assert desk.editor.eval("&filetype") == "agentchat-question"


def test_text_for_a_question_that_is_over_is_not_sent(desk: Desk) -> None:
    ask(desk)
    propose(desk, "p1")
    desk.call("approval.close", desk.chat.id, "p1")
    desk.editor.keys(":w<CR>")
    desk.editor.wait_notice("no longer pending")
    assert desk.told("answer") == []


def test_the_text_of_a_preview_is_edited_too(desk: Desk) -> None:
    review(desk)
    propose(desk, "v1")
    desk.editor.keys("ccfirst<Esc>:w<CR>")
    desk.editor.wait(lambda: desk.told("amend"))
    (told,) = desk.told("amend")
    assert (told["preview"], told["path"], told["text"]) == ("v1", A, "first\ntwo\n")


# --- the review -----------------------------------------------------------------------------


def test_a_applies_what_is_kept_of_a_preview(desk: Desk) -> None:
    review(desk)
    desk.editor.keys("]cxa")
    (told,) = desk.told("resolve")
    assert told["action"] == "apply"
    assert (told["preview"], told["stamp"]) == ("v1", "s1")
    assert told["hunks"] == [no(A)]


def test_what_was_said_in_the_review_holds_in_the_question_about_it(desk: Desk) -> None:
    review(desk)
    desk.editor.keys("]cx")
    ask(desk, subject="v1")
    assert marked(desk.editor) == ["✗ rejected"]
    desk.editor.keys("a")
    assert desk.told("answer")[0]["hunks"] == [no(A)]


def test_a_preview_shown_anew_keeps_what_was_said(desk: Desk) -> None:
    review(desk)
    desk.editor.keys("]cx")
    desk.stage("v1", stamp="s2", doc=diff("a.py"))
    assert marked(desk.editor) == ["✗ rejected"]
    assert "0 of 1 kept" in desk.editor.floats()[0].footer


def test_the_review_lists_its_keys(desk: Desk) -> None:
    review(desk)
    desk.editor.keys("g?")
    assert any("reject the hunk" in shown.text for shown in desk.editor.floats())


def test_a_macro_and_keys_that_come_too_early_decide_nothing(start_editor: StartEditor) -> None:
    editor = start_editor({"ui": {"prompt_delay_ms": 400}}, init=QUIET_HOST)
    desk = Desk(editor, Chat.open(editor))
    review(desk)
    editor.keys("]cxa")
    assert desk.told("resolve") == []
    assert marked(editor) == []
    editor.settle(0.5)
    editor.lua("vim.fn.setreg('q', 'xa')")
    editor.keys("@q")
    assert desk.told("resolve") == []
    editor.keys("a")
    assert len(desk.told("resolve")) == 1


# --- elsewhere ------------------------------------------------------------------------------


def test_capital_q_lists_the_hunks(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cxQ")
    assert desk.editor.eval("&buftype") == "quickfix"
    items = desk.editor.eval("map(getqflist(), {_, it -> [bufname(it.bufnr), it.lnum, it.text]})")
    assert items == [[A, 1, "hunk 1: rejected"], [B, 1, "hunk 1"]]
    assert desk.told("answer") == []


def windows(editor: Editor) -> tuple[int, int, int]:
    """Floats, windows of this tab that are none, tabs."""
    floats = len(editor.floats())
    return floats, editor.eval("winnr('$')") - floats, editor.eval("tabpagenr('$')")


def test_a_question_goes_from_float_to_split_to_tab_and_back(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("]cx")
    seen = [windows(desk.editor)]
    for _ in range(3):
        desk.editor.keys("s")
        seen.append(windows(desk.editor))
        desk.editor.wait_screen("1 of 2 kept")
    assert seen == [(1, 2, 1), (0, 3, 1), (0, 1, 2), (1, 2, 1)]
    desk.editor.keys("sa")
    assert desk.answers() == [("p1", "accept")]
    assert windows(desk.editor) == (0, 2, 1)


@pytest.mark.parametrize("times", [1, 2])
def test_a_question_in_a_split_or_tab_is_hidden_and_comes_back(desk: Desk, times: int) -> None:
    ask(desk)
    desk.editor.keys("s" * times)
    desk.editor.keys("q")
    assert windows(desk.editor) == (0, 2, 1)
    assert desk.told("answer") == []
    desk.chat.focus()
    desk.editor.keys("ga")
    assert desk.editor.floats()[0].focused


def test_a_question_in_a_tab_stays_there(desk: Desk) -> None:
    ask(desk)
    desk.editor.keys("ss")
    desk.editor.command("tabprevious")
    desk.editor.settle(0.1)
    assert windows(desk.editor) == (0, 2, 2)
    desk.chat.focus()
    desk.editor.keys("ga")
    assert desk.editor.eval("&filetype") == "agentchat-question"
    desk.call("approval.close", desk.chat.id, "p1")
    assert windows(desk.editor) == (0, 2, 1)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12), (20, 6)])
def test_hunks_are_decided_on_small_screens_too(
    start_editor: StartEditor, size: tuple[int, int]
) -> None:
    editor = start_editor(init=QUIET_HOST, size=size)
    desk = Desk(editor, Chat.open(editor))
    ask(desk)
    editor.keys("]cxa")
    assert desk.told("answer")[0]["hunks"] == [no(A)]
    assert editor.messages() == ""


def test_what_was_decided_about_a_question_is_forgotten_with_its_turn(desk: Desk) -> None:
    finish = "vim.api.nvim_exec_autocmds('User', { pattern = 'AgentTurnFinished', data = ... })"
    ask(desk, subject="s1")
    desk.editor.keys("]cxa")
    ask(desk, subject="s1")
    assert "1 of 2 kept" in desk.editor.floats()[0].footer
    desk.editor.lua(finish, {"chat": desk.chat.id})
    assert "1 of 2 kept" in desk.editor.floats()[0].footer
    desk.editor.keys("a")
    desk.editor.lua(finish, {"chat": desk.chat.id})
    ask(desk, subject="s1")
    assert "1 of 2 kept" not in desk.editor.floats()[0].footer
    assert marked(desk.editor) == []


def test_what_was_decided_about_a_pending_preview_outlives_its_turn(desk: Desk) -> None:
    finish = "vim.api.nvim_exec_autocmds('User', { pattern = 'AgentTurnFinished', data = ... })"
    review(desk)
    desk.editor.keys("]cx")
    desk.editor.lua(finish, {"chat": desk.chat.id})
    desk.editor.keys("xx")
    assert "1 of 2 kept" in desk.editor.floats()[0].footer
