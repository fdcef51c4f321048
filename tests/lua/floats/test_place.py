"""Where an approval request stands: it covers neither prompt, todo list nor cursor."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk, diff, doc
from tests.support.chat import Chat
from tests.support.shown import Area, Float

SIZES = [(40, 12), (60, 20), (80, 24), (100, 20), (120, 40), (200, 50)]
WORDS = "I run the tests now, to see whether they pass."
TODO = [{"text": "Run the tests", "status": "running"}, {"text": "Report", "status": "pending"}]
POSITIONS = ["right", "left", "bottom", "top", "float", "tab"]

PROMPT = """
local chat = require('agentchat.chat.registry').get(...)
local win = vim.fn.bufwinid(chat.buf)
if win == -1 then return { visible = false } end
local header = require('agentchat.transcript.marks').header(chat) + 1
local at = vim.fn.screenpos(win, header, 1)
local last = vim.fn.screenpos(win, vim.api.nvim_buf_line_count(chat.buf), 1)
local todo = #require('agentchat.prompt.todo').lines(chat.todo or {})
local first = vim.fn.win_screenpos(win)[1] - 1 + vim.fn.getwininfo(win)[1].winbar
return {
  top = math.max(first, at.row - 1 - (todo > 0 and todo + 1 or 0)),
  bottom = (last.row > 0 and last.row or vim.o.lines),
  left = vim.fn.win_screenpos(win)[2] - 1,
  right = vim.fn.win_screenpos(win)[2] - 1 + vim.api.nvim_win_get_width(win),
  visible = at.row > 0,
}
"""
CURSOR = "return { vim.fn.screenrow() - 1, vim.fn.screencol() - 1 }"


def begin(
    start_editor: StartEditor,
    size: tuple[int, int],
    *,
    turns: int = 6,
    calls: int = 1,
    **ui: Any,
) -> Desk:
    """A chat with something in it that the model has just said, and a call below."""
    settings = {"ui": {"prompt_delay_ms": 0, **ui}}
    desk = Desk(editor := start_editor(settings, init=QUIET_HOST, size=size), Chat.open(editor))
    ops: list[list[Any]] = []
    for turn in range(turns):
        ops += [["message", "user", f"Question {turn}"], ["message", "agent", ""]]
        ops += [["text", f"Answer {turn}.\n\nIt has two paragraphs."], ["finish"]]
    ops += [["message", "user", "Do the tests pass?"], ["message", "agent", ""], ["text", WORDS]]
    for call in range(calls):
        ops.append(["block", str(call), {"title": f"bash: call {call}", "state": "waiting"}])
    desk.call("chat.apply", desk.chat.id, ops)
    return desk


def shown(desk: Desk) -> Float:
    """The float, once all has come to rest."""
    desk.editor.screen()
    desk.editor.lua("vim.wait(20)")
    desk.editor.screen()
    (found,) = desk.editor.floats()[:1]
    return found


def prompt(desk: Desk) -> Area | None:
    """Where the prompt is with its todo list, if it is in sight."""
    found = desk.editor.lua(PROMPT, desk.chat.id)
    return Area(**found) if found.pop("visible") else None


def cover(one: Area, other: Area) -> bool:
    rows = one.top < other.bottom and other.top < one.bottom
    return rows and one.left < other.right and other.left < one.right


def check(desk: Desk) -> Float:
    """Hold what is on the screen against what a float may cover; return the float."""
    found, below = shown(desk), prompt(desk)
    assert below is None or not cover(found.area, below), (found.area, below)
    if not found.focused:
        row, column = desk.editor.lua(CURSOR)
        assert not found.area.holds(row, column), (found.area, row, column)
    return found


def is_docked(desk: Desk, found: Float) -> bool:
    below = prompt(desk)
    return below is not None and found.area.bottom == below.top


@pytest.mark.parametrize("turns", [0, 1, 30])
@pytest.mark.parametrize("size", SIZES)
def test_it_stands_above_the_prompt_and_the_newest_words_can_be_read(
    start_editor: StartEditor, size: tuple[int, int], turns: int
) -> None:
    desk = begin(start_editor, size, turns=turns)
    desk.ask()
    found = check(desk)
    above = "\n".join(desk.editor.screen()[: found.area.top])
    if desk.editor.eval(f"winwidth(bufwinid({desk.chat.buffer}))") >= 50:
        assert is_docked(desk, found)
        assert "I run the tests now" in above
        assert "bash: call 0" in above
    else:
        assert WORDS in "\n".join(found.lines)


@pytest.mark.parametrize("size", SIZES)
def test_a_long_change_leaves_the_words_before_it_in_sight(
    start_editor: StartEditor, size: tuple[int, int]
) -> None:
    desk = begin(start_editor, size, calls=3)
    desk.ask(doc=doc(*[f"line {n}" for n in range(100)]))
    found = check(desk)
    if is_docked(desk, found) and WORDS not in "\n".join(found.lines):
        assert "I run the tests now" in "\n".join(desk.editor.screen()[: found.area.top])


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("size", SIZES)
def test_wherever_the_chat_is_nothing_is_covered(
    start_editor: StartEditor, size: tuple[int, int], position: str
) -> None:
    desk = begin(start_editor, size, position=position)
    is_tiny = size == SIZES[0]  # a todo list and a prompt of four lines would fill the window
    if not is_tiny:
        desk.call("chat.apply", desk.chat.id, [["todo", TODO]])
    desk.ask()
    check(desk)
    desk.chat.type("A message while it waits")
    check(desk)
    for _ in range(0 if is_tiny else 3):
        desk.editor.keys("<CR>and one more line")
        check(desk)
    desk.editor.keys("<C-s>")
    check(desk)


@pytest.mark.parametrize("size", SIZES)
def test_among_three_windows_the_line_that_is_typed_in_is_not_covered(
    start_editor: StartEditor, size: tuple[int, int]
) -> None:
    desk = begin(start_editor, size)
    desk.editor.command("wincmd p | split")
    desk.editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.fn['repeat']({ 'x' }, 60))")
    desk.ask(doc=doc("make test " + "x" * 100))
    for key in ("gg", "L", "M", "G"):
        desk.editor.keys(key)
        check(desk)


@pytest.mark.parametrize("turns", [0, 6])
def test_it_is_as_wide_as_the_chat_and_wider_only_for_a_long_line(
    start_editor: StartEditor, turns: int
) -> None:
    desk = begin(start_editor, (120, 40), turns=turns)
    desk.ask()
    found = check(desk)
    assert (found.area.left, found.area.right) == (60, 120)
    desk.close("p1")
    desk.ask("p2", doc=doc("x" * 80))
    found = check(desk)
    assert found.area.right == 120
    assert found.area.right - found.area.left == 84
    assert is_docked(desk, found)


def test_a_wide_float_does_not_cover_the_lines_that_it_changes(start_editor: StartEditor) -> None:
    desk = begin(start_editor, (120, 40))
    desk.editor.command("wincmd p | edit notes.txt")
    desk.editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.fn['repeat']({ 'x' }, 38))")
    path = desk.editor.eval("expand('%:p')")
    for line, wide in ((2, True), (30, False)):
        hunk = {**diff("notes.txt")["hunks"][0], "path": path, "first": line, "last": line}
        lines = diff("notes.txt") | {"lines": ["x" * 90, *diff("notes.txt")["lines"][1:]]}
        desk.ask(f"p{line}", kind="diff", doc=lines | {"hunks": [hunk]})
        desk.editor.command("normal! gg")
        assert (check(desk).area.left < 60) is wide
        desk.close(f"p{line}")
    desk.editor.command("setlocal nomodified")


def test_the_view_of_a_user_who_reads_further_up_stays(start_editor: StartEditor) -> None:
    desk = begin(start_editor, (120, 40), turns=30)
    desk.chat.focus()
    desk.editor.keys("gg")
    before = desk.editor.lua("return vim.fn.winsaveview()")
    desk.ask()
    check(desk)
    assert desk.editor.lua("return vim.fn.winsaveview()") == before
    desk.editor.keys("L")
    check(desk)
    desk.editor.keys("G")
    assert is_docked(desk, check(desk))


def test_the_room_is_given_back_with_the_answer(start_editor: StartEditor) -> None:
    desk = begin(start_editor, (120, 40))
    before = desk.editor.screen()
    desk.ask()
    assert desk.editor.screen() != before
    desk.editor.command("AgentApprove accept")
    assert desk.editor.screen() == before


def test_it_moves_along_when_the_agent_writes_and_when_the_screen_changes(
    start_editor: StartEditor,
) -> None:
    desk = begin(start_editor, (120, 40), turns=0)
    desk.ask()
    for number in range(20):
        desk.call("chat.apply", desk.chat.id, [["message", "note", f"Note {number}"]])
        assert is_docked(desk, check(desk))
    for size in (*SIZES, *reversed(SIZES)):
        desk.editor.resize(*size)
        check(desk)


def test_a_question_of_a_chat_that_is_out_of_sight_has_its_last_words(
    start_editor: StartEditor,
) -> None:
    desk = begin(start_editor, (120, 40))
    desk.editor.command("tabnew")
    desk.ask()
    desk.editor.command("AgentApprove")
    found = check(desk)
    assert WORDS in "\n".join(found.lines)
    assert found.area.bottom >= 38
    desk.editor.keys("<Esc>")
    desk.editor.command("tabprevious")
    desk.editor.wait(desk.editor.floats, why="it is shown beside its chat")
    assert is_docked(desk, check(desk))


def test_facts_do_not_break_inside_words(start_editor: StartEditor) -> None:
    desk = begin(start_editor, (60, 20))
    text = "nobody has looked at what this command would change on the machine of the user"
    desk.ask(facts=[["because", text]])
    rows = "\n".join(desk.editor.screen()[i] for i in range(shown(desk).area.top, 19))
    for word in text.split():
        assert word in rows, word


@pytest.mark.parametrize("turns", [0, 30])
@pytest.mark.parametrize("size", SIZES)
def test_a_review_covers_neither_prompt_nor_cursor(
    start_editor: StartEditor, size: tuple[int, int], turns: int
) -> None:
    desk = begin(start_editor, size, turns=turns)
    desk.stage(doc=diff("a.py", "b.py"))
    check(desk)
    desk.chat.type("A message beside it")
    check(desk)
    for number in range(12):
        desk.call("chat.apply", desk.chat.id, [["message", "note", f"Note {number}"]])
        check(desk)
    desk.editor.keys("<Esc>gr")
    check(desk)


@pytest.mark.parametrize("turns", [0, 30])
@pytest.mark.parametrize("size", SIZES)
def test_the_changes_of_a_chat_leave_its_prompt_in_sight(
    start_editor: StartEditor, size: tuple[int, int], turns: int
) -> None:
    desk = begin(start_editor, size, turns=turns)
    desk.chat.focus()
    changes = {"title": "Changes of this chat", "summary": "2 files", "doc": diff("a.py", "b.py")}
    desk.call("changes.show", desk.chat.id, changes)
    check(desk)
    desk.editor.keys("<Esc>")
    check(desk)
