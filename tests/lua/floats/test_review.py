"""The review of staged previews, without Python behind it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk, diff, question
from tests.support.chat import Chat
from tests.support.editor import Editor


def enter(desk: Desk) -> None:
    """Go from the chat into the review."""
    desk.chat.focus()
    desk.editor.keys("gr")
    assert desk.editor.eval("&filetype") == "agentchat-review"


def test_a_preview_is_shown_and_takes_no_focus(desk: Desk) -> None:
    desk.chat.focus()
    desk.editor.keys("i")
    desk.stage()
    (shown,) = desk.editor.floats()
    assert "AST Edit: 2 replacements in 2 files" in shown.title
    assert "ast_edit · 2 files" in shown.title
    assert shown.lines == diff("a.py", "b.py")["lines"]
    assert ":AgentResolve apply|discard" in shown.footer
    assert not shown.focused
    assert desk.editor.mode() == "i"


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12), (20, 6)])
def test_it_fits_the_screen(start_editor: StartEditor, size: tuple[int, int]) -> None:
    editor = start_editor(init=QUIET_HOST, size=size)
    desk = Desk(editor, Chat.open(editor))
    desk.stage(doc=diff(*[f"file{n}.py" for n in range(40)]))
    enter(desk)
    editor.keys("G")
    assert "welcome" in "\n".join(editor.screen())
    editor.resize(100, 30)
    editor.wait_screen("AST Edit: 2 replacements")


def test_hunks_and_files_are_walked(desk: Desk) -> None:
    desk.stage(doc=diff("a.py", "b.py", "c.py"))
    enter(desk)

    def line(keys: str) -> str:
        desk.editor.keys(keys)
        return str(desk.editor.eval("line('.') . ' ' . getline('.')"))

    assert line("]c") == "2 @@ -1 +1 @@"
    assert line("2]c") == "10 @@ -1 +1 @@"
    assert line("]c") == "10 @@ -1 +1 @@"
    assert line("[f") == "9 c.py"
    assert line("2[f") == "1 a.py"
    assert line("9]f") == "9 c.py"
    assert desk.editor.messages() == ""


@pytest.mark.parametrize("how", ["q", ":close<CR>", ":quit<CR>", "<C-w>p:only<CR>"])
def test_closing_it_hides_it_and_decides_nothing(desk: Desk, how: str) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys(how)
    desk.editor.settle(0.05)
    assert desk.editor.floats() == []
    assert desk.told("resolve") == []
    desk.editor.command("wincmd w | wincmd w")
    desk.editor.settle(0.05)
    assert desk.editor.floats() == []
    enter(desk)
    assert desk.editor.floats()[0].focused


def test_the_command_resolves_from_inside(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.command("AgentResolve discard not like this")
    (told,) = desk.told("resolve")
    assert told["chat"] == desk.chat.id
    assert (told["action"], told["reason"]) == ("discard", "not like this")
    assert told["preview"] == "v1"
    assert len(desk.editor.floats()) == 1


def test_when_it_is_resolved_it_closes_and_the_user_is_back(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.call("review.close", desk.chat.id, "v1")
    assert desk.editor.floats() == []
    assert desk.editor.eval("bufnr()") == desk.chat.buffer


def test_the_newest_of_several_is_shown(desk: Desk) -> None:
    desk.stage("v1", label="first")
    desk.stage("v2", label="second")
    (shown,) = desk.editor.floats()
    assert "second" in shown.title
    assert "newest of 2" in shown.title
    desk.call("review.close", desk.chat.id, "v2")
    (shown,) = desk.editor.floats()
    assert "first" in shown.title
    assert "newest" not in shown.title


def test_an_older_one_that_is_resolved_leaves_the_newest(desk: Desk) -> None:
    desk.stage("v1", label="first")
    desk.stage("v2", label="second")
    desk.call("review.close", desk.chat.id, "v1")
    assert "second" in desk.editor.float_text()
    desk.call("review.close", desk.chat.id, "unknown")
    assert "second" in desk.editor.float_text()


def test_one_that_is_previewed_anew_keeps_its_place(desk: Desk) -> None:
    desk.stage("v1", label="first")
    desk.stage("v2", label="second")
    desk.stage("v1", label="first, anew")
    assert "second" in desk.editor.float_text()
    desk.call("review.close", desk.chat.id, "v2")
    assert "first, anew" in desk.editor.float_text()


def test_a_hidden_review_stays_hidden_when_another_is_resolved(desk: Desk) -> None:
    desk.stage("v1")
    desk.stage("v2")
    enter(desk)
    desk.editor.keys("q")
    desk.call("review.close", desk.chat.id, "v2")
    desk.editor.settle(0.05)
    assert desk.editor.floats() == []


def test_with_nothing_pending_gr_says_so(desk: Desk) -> None:
    desk.chat.focus()
    desk.editor.keys("gr")
    assert "\n" not in desk.editor.wait_notice("No preview is pending")


# --- float, split, tab ----------------------------------------------------------------------


def windows(editor: Editor) -> tuple[int, int, int]:
    """Floats, windows of this tab that are none, tabs."""
    floats = len(editor.floats())
    return floats, editor.eval("winnr('$')") - floats, editor.eval("tabpagenr('$')")


def test_s_goes_from_float_to_split_to_tab_and_back(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("4G")
    seen = [windows(desk.editor)]
    for _ in range(3):
        desk.editor.keys("s")
        seen.append(windows(desk.editor))
        assert desk.editor.text() == "\n".join(diff("a.py", "b.py")["lines"])
        assert desk.editor.eval("line('.')") == 4
        assert desk.editor.eval("exists(':AgentResolve')") == 2
    assert seen == [(1, 2, 1), (0, 3, 1), (0, 1, 2), (1, 2, 1)]


@pytest.mark.parametrize("times", [1, 2])
def test_a_split_or_tab_is_hidden_too_and_comes_back(desk: Desk, times: int) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("s" * times)
    desk.editor.keys("q")
    assert windows(desk.editor) == (0, 2, 1)
    enter(desk)
    assert desk.editor.eval("&filetype") == "agentchat-review"


@pytest.mark.parametrize("times", [1, 2])
def test_a_split_or_tab_closes_when_it_is_resolved(desk: Desk, times: int) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("s" * times)
    desk.call("review.close", desk.chat.id, "v1")
    assert windows(desk.editor) == (0, 2, 1)


def test_the_last_window_of_all_stays(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("s")
    desk.editor.command("only")
    desk.call("review.close", desk.chat.id, "v1")
    assert desk.editor.eval("winnr('$')") == 1
    assert desk.editor.text() == ""


def test_a_newer_preview_is_drawn_into_the_split(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("s")
    desk.stage("v2", label="100% second", doc=diff("c.py"))
    assert desk.editor.text().startswith("c.py")
    desk.editor.wait_screen("100% second")
    assert desk.editor.floats() == []


# --- beside a question ----------------------------------------------------------------------


def test_while_a_question_is_shown_it_makes_room(desk: Desk) -> None:
    desk.stage()
    desk.ask(title="ast_edit: apply")
    (shown,) = desk.editor.floats()
    assert "ast_edit: apply" in shown.title
    desk.call("approval.close", desk.chat.id, "p1")
    desk.editor.wait(lambda: "AST Edit" in desk.editor.float_text(), why="the review is back")
    assert len(desk.editor.floats()) == 1


def test_one_staged_while_a_question_is_shown_waits(desk: Desk) -> None:
    desk.ask()
    desk.stage()
    assert len(desk.editor.floats()) == 1
    desk.editor.command("AgentApprove cancel")
    desk.editor.wait(lambda: "AST Edit" in desk.editor.float_text(), why="the review is shown")


def test_one_that_is_applied_at_once_does_not_come_back(desk: Desk) -> None:
    desk.stage()
    desk.ask()
    desk.editor.command("AgentApprove accept")
    desk.call("review.close", desk.chat.id, "v1")
    desk.editor.settle(0.4)
    assert desk.editor.floats() == []


def test_gr_leads_to_the_question_that_shows_the_same(desk: Desk) -> None:
    desk.stage()
    desk.ask()
    desk.chat.focus()
    desk.editor.keys("gr")
    (shown,) = desk.editor.floats()
    assert shown.focused
    assert "touch m" in shown.text


# --- where it is shown ----------------------------------------------------------------------


def test_it_waits_for_its_chat_to_come_into_sight(desk: Desk) -> None:
    desk.editor.command("tabnew")
    desk.stage()
    assert desk.editor.floats() == []
    desk.editor.command("tabprevious")
    desk.editor.wait(desk.editor.floats, why="it is shown beside its chat")
    assert not desk.editor.floats()[0].focused


def test_chats_do_not_mix(desk: Desk) -> None:
    other = Desk(desk.editor, Chat.open(desk.editor, "vertical AgentChat!"))
    desk.stage("v1", label="of the first")
    other.stage("v1", label="of the second")
    desk.call("review.close", other.chat.id, "v1")
    (shown,) = desk.editor.floats()
    assert "of the first" in shown.title


def test_a_chat_that_is_wiped_out_takes_its_previews_along(desk: Desk) -> None:
    desk.stage()
    desk.editor.command(f"bwipeout! {desk.chat.buffer}")
    desk.editor.wait(lambda: not desk.editor.floats())


def test_a_question_of_another_chat_leaves_it_alone(desk: Desk) -> None:
    other = Desk(desk.editor, Chat.open(desk.editor, "vertical AgentChat!"))
    desk.stage()
    shown: dict[str, Any] = question("p1")
    desk.call("approval.show", other.chat.id, shown)
    assert len(desk.editor.floats()) == 2


# --- answering in it ------------------------------------------------------------------------


def test_reject_discards_it_with_the_reason(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("r")
    desk.editor.type("not like this")
    assert desk.told("resolve") == []
    desk.editor.keys("<CR>")
    (told,) = desk.told("resolve")
    assert (told["action"], told["reason"]) == ("discard", "not like this")
    assert told["preview"] == "v1"
    assert desk.editor.mode() == "n"


def test_an_empty_reason_is_fine(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("r<CR>")
    (told,) = desk.told("resolve")
    assert told["action"] == "discard"
    assert "reason" not in told


def test_escape_from_the_reason_discards_nothing_and_keeps_what_was_typed(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("r")
    desk.editor.type("not like")
    desk.editor.keys("<Esc>")
    assert desk.told("resolve") == []
    assert desk.editor.eval("&filetype") == "agentchat-review"
    desk.editor.keys("r")
    desk.editor.type(" this")
    desk.editor.keys("<CR>")
    assert desk.told("resolve")[0]["reason"] == "not like this"


def test_a_reason_for_one_preview_discards_no_other(desk: Desk) -> None:
    desk.stage("v1")
    enter(desk)
    desk.editor.keys("r")
    desk.stage("v2", label="second")
    desk.editor.type("not like this")
    desk.editor.keys("<CR>")
    desk.editor.wait_notice("no longer pending")
    assert desk.told("resolve") == []


def test_escape_goes_back_and_leaves_it_open(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("<Esc>")
    (shown,) = desk.editor.floats()
    assert not shown.focused
    assert desk.editor.eval("bufnr()") == desk.chat.buffer


@pytest.mark.parametrize("key", [*"yAceiop.dJu~", "<CR>", "<Space>", "3a", "2r", "<LeftMouse>"])
def test_other_keys_decide_nothing(desk: Desk, key: str) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys(key)
    assert desk.told("resolve") == []
    assert desk.editor.messages() == ""
    assert len(desk.editor.floats()) == 1


@pytest.mark.parametrize("key", ["a", "r<CR>"])
def test_keys_are_ignored_until_it_has_settled(start_editor: StartEditor, key: str) -> None:
    editor = start_editor({"ui": {"prompt_delay_ms": 400}}, init=QUIET_HOST)
    desk = Desk(editor, Chat.open(editor))
    desk.stage("v1")
    enter(desk)
    editor.settle(0.5)
    desk.stage("v1", label="anew")
    editor.keys(key)
    assert desk.told("resolve") == []
    editor.settle(0.5)
    editor.keys(key)
    assert len(desk.told("resolve")) == 1


@pytest.mark.parametrize(
    "how",
    [
        "vim.cmd.normal('a')",
        "vim.cmd.normal('r')",
        "vim.fn.feedkeys('a', 'x')",
        "vim.fn.setreg('q', 'aaa') vim.cmd.normal('@q')",
        "vim.api.nvim_paste('aaa\\naaa', true, -1)",
    ],
)
def test_what_no_person_pressed_decides_nothing(desk: Desk, how: str) -> None:
    desk.stage()
    enter(desk)
    desk.editor.lua(how)
    assert desk.told("resolve") == []


def test_a_key_held_down_decides_about_one_preview(desk: Desk) -> None:
    desk.stage("v1")
    desk.stage("v2")
    enter(desk)
    desk.editor.keys("a" * 30)
    assert [told["preview"] for told in desk.told("resolve")] == ["v2"]


def test_a_dot_repeats_no_answer(desk: Desk) -> None:
    desk.stage("v1")
    enter(desk)
    desk.editor.keys("a..")
    assert len(desk.told("resolve")) == 1


@pytest.mark.parametrize("keys", ["@q", "@q@@", "3@q"])
def test_a_macro_decides_nothing(desk: Desk, keys: str) -> None:
    desk.stage("v1")
    enter(desk)
    desk.editor.lua("vim.fn.setreg('q', 'a')")
    desk.editor.keys(keys)
    assert desk.told("resolve") == []


@pytest.mark.parametrize(
    "how", ["only", "mode", "tabnew | tabclose", "resize 3", "set columns=60 lines=12", "redraw!"]
)
def test_what_happens_to_windows_decides_nothing(desk: Desk, how: str) -> None:
    desk.stage()
    desk.chat.focus()
    desk.editor.command(how)
    assert desk.told("resolve") == []
    enter(desk)
    desk.editor.keys("a")
    assert len(desk.told("resolve")) == 1


def test_its_tab_can_be_closed(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.keys("ss")
    desk.editor.command("tabclose")
    assert desk.told("resolve") == []
    enter(desk)
    assert desk.editor.floats()[0].focused


def test_its_buffer_can_be_wiped_out(desk: Desk) -> None:
    desk.stage()
    enter(desk)
    desk.editor.command("bwipeout!")
    assert desk.editor.floats() == []
    assert desk.told("resolve") == []
    enter(desk)
    assert "AST Edit" in desk.editor.float_text()


# --- several files --------------------------------------------------------------------------


def test_files_are_folded_by_the_usual_keys_and_walked_to(desk: Desk) -> None:
    desk.stage(doc=diff("a.py", "b.py", "c.py"))
    enter(desk)
    assert "greet()" in "\n".join(desk.editor.screen())
    desk.editor.keys("zM")
    desk.editor.wait_screen("b.py  … 3 lines")
    assert "greet()" not in "\n".join(desk.editor.screen())
    desk.editor.keys("]f")
    assert desk.editor.eval("getline('.') . foldclosed('.')") == "b.py-1"
    desk.editor.keys("zR")
    assert desk.editor.eval("foldclosed(1) + foldclosed(9)") == -2


def test_the_help_of_the_review_fits_a_screen_of_80_columns(desk: Desk) -> None:
    desk.stage()
    desk.editor.keys("gr")
    desk.editor.settle(0.5)
    desk.editor.keys("?")
    desk.editor.wait(lambda: "Keys" in desk.editor.floats()[0].title, why="the help is shown")
    lines = desk.editor.floats()[0].lines
    assert lines[0].split() == [
        "a",
        "apply",
        "the",
        "kept",
        "hunks,",
        "like",
        ":AgentResolve",
        "apply",
    ]
    assert max(len(line) for line in lines) <= 72
