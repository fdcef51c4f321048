"""Clicks on floats: on the text, on each cell of the border, and beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lua.floats.desk import Desk, diff

CLICK_ROW = """
local row, first, last = ...
for column = first, last do
  for _, action in ipairs({ 'press', 'release' }) do
    vim.api.nvim_input_mouse('left', action, '', 0, row, column)
  end
end
"""


def approval(desk: Desk) -> None:
    desk.ask(kind="diff", doc=diff("a.py", "b.py"))


def reason(desk: Desk) -> None:
    desk.ask()
    desk.chat.focus()
    desk.editor.keys("gar")


def arguments(desk: Desk) -> None:
    desk.ask()
    desk.chat.focus()
    desk.editor.keys("gae")


def comment(desk: Desk) -> None:
    desk.stage()
    desk.chat.focus()
    desk.editor.keys("gr]cC")


def page(desk: Desk) -> None:
    desk.call("page.show", "Tools", [f"tool {n}" for n in range(40)])


def rule(desk: Desk) -> None:
    draft = {"id": "d", "title": "A rule", "text": "{}", "facts": [["rule", "x"]], "past": ["y"]}
    desk.call("rules.show", desk.chat.id, draft)


def proposal(desk: Desk) -> None:
    desk.ask()
    shown = {"subject": "p1", "path": "/work/a.py", "name": "a.py", "text": "one\ntwo\n"}
    desk.call("approval.edit_proposal", desk.chat.id, shown)


OPEN: list[Callable[[Desk], object]] = [
    approval, Desk.stage, reason, arguments, comment, page, rule, proposal,
]  # fmt: skip


@pytest.mark.parametrize("show", OPEN, ids=lambda show: show.__name__)
def test_a_click_on_any_cell_of_a_float_ends_and_answers_nothing(
    desk: Desk, show: Callable[[Desk], object]
) -> None:
    desk.editor.command("set mouse=a mousetime=0")
    show(desk)
    shown = desk.editor.floats()[0]
    # With it a click on the left border reads what is before an array: Neovim ends, or does not.
    assert desk.editor.eval(f"getwinvar({shown.window}, '&statuscolumn')") == ""
    place = desk.editor.request("nvim_win_get_config", shown.window)
    row, column = int(place["row"]), int(place["col"])
    for at in range(row, row + place["height"] + 2):
        desk.editor.lua(CLICK_ROW, at, max(0, column - 1), column + place["width"] + 2)
        desk.editor.keys("")
    assert shown.window in desk.editor.request("nvim_list_wins")
    assert desk.answers() == []
    assert desk.told("resolve") == []
    assert desk.told("rule_write") == []


def test_a_doc_has_a_margin_that_shows_nothing(desk: Desk) -> None:
    desk.stage(doc=diff("a.py", "b.py"))
    window = desk.editor.floats()[0].window
    margin = desk.editor.lua(
        "local win = ...\n"
        "local place = vim.fn.screenpos(win, 1, 1)\n"
        "vim.cmd.redraw()\n"
        "return vim.fn.screenstring(place.row, place.col - 1)",
        window,
    )
    assert margin == " "
