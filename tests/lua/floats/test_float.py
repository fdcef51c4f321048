"""Pages to read, and what all floats have in common."""

from __future__ import annotations

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk, doc
from tests.support.chat import Chat
from tests.support.editor import Editor


def test_a_page_is_read_and_closed(desk: Desk) -> None:
    desk.chat.focus()
    desk.call("page.show", "Tools", ["read", "write"])
    (shown,) = desk.editor.floats()
    assert shown.title.strip("─ ") == "Tools"
    assert shown.lines == ["read", "write"]
    assert shown.focused
    desk.editor.keys("q")
    assert desk.editor.floats() == []
    assert desk.editor.eval("bufnr()") == desk.chat.buffer


def test_a_page_leaves_the_user_who_types_alone(desk: Desk) -> None:
    desk.chat.focus()
    desk.editor.keys("i")
    desk.call("page.show", "Tools", ["read"])
    assert not desk.editor.floats()[0].focused
    desk.editor.type("on")
    assert desk.chat.prompt() == "on"


def test_a_long_page_says_which_part_is_seen(desk: Desk) -> None:
    desk.call("page.show", "Journal", [str(n) for n in range(1, 301)])
    assert " of 300 lines shown" in desk.editor.floats()[0].footer
    desk.editor.keys("G")
    desk.editor.wait(lambda: "-300 of 300 lines" in desk.editor.floats()[0].footer)


def test_a_wrapped_line_is_gone_through_row_by_row(desk: Desk) -> None:
    desk.call("page.show", "Journal", ["x" * 4000, "end"])
    rows = desk.editor.eval("winheight(0)")
    for _ in range(rows + 5):
        desk.editor.keys("j")
    first = int(desk.editor.floats()[0].footer.rpartition("-")[0].split()[-1])
    assert first > 1
    assert desk.editor.eval("line('.')") == 1


@pytest.mark.parametrize("lines", [[], [""], ["\ttab", "trailing ", "no\u00a0break", "漢字" * 60]])
def test_any_text_is_shown(desk: Desk, lines: list[str]) -> None:
    desk.call("page.show", "Page", lines)
    assert desk.editor.floats()[0].lines == (lines or [""])


def test_blanks_that_deceive_are_seen(desk: Desk) -> None:
    desk.call("page.show", "Page", ["no\u00a0break"])
    desk.editor.wait_screen("no␣break")


def test_a_title_too_long_is_cut(start_editor: StartEditor) -> None:
    editor = start_editor(init=QUIET_HOST, size=(40, 12))
    desk = Desk(editor, Chat.open(editor))
    desk.call("page.show", "a very long title with 漢字 " * 5, ["text"])
    top = next(line for line in editor.screen() if "╭" in line)
    assert "…" in top
    assert top.rstrip().endswith("╮")


def test_no_option_of_the_user_hides_text(start_editor: StartEditor) -> None:
    more = "\nvim.o.wrap = false; vim.o.conceallevel = 3; vim.o.scrolloff = 99"
    editor = start_editor(init=QUIET_HOST + more)
    desk = Desk(editor, Chat.open(editor))
    desk.call("page.show", "Page", ["x" * 150 + " end"])
    editor.wait_screen(" end")


def test_another_buffer_cannot_take_its_window(desk: Desk, editor: Editor) -> None:
    desk.call("page.show", "Page", ["text"])
    editor.lua("pcall(vim.cmd.edit, 'notes.txt')")
    assert editor.text() == "text"


@pytest.mark.parametrize("winborder", ["", "double", "none"])
@pytest.mark.parametrize("laststatus", [0, 2, 3])
@pytest.mark.parametrize("cmdheight", [0, 2])
def test_it_stays_between_tab_line_and_status_line(
    start_editor: StartEditor, winborder: str, laststatus: int, cmdheight: int
) -> None:
    options = f"laststatus={laststatus} cmdheight={cmdheight} winborder={winborder} showtabline=2"
    editor = start_editor(init=f"{QUIET_HOST}\nvim.cmd('set {options}')", size=(60, 14))
    desk = Desk(editor, Chat.open(editor))
    desk.ask(details=["x"] * 40)
    editor.command("AgentApprove")
    editor.keys("?")
    (shown,) = editor.floats()
    where = editor.lua("return vim.api.nvim_win_get_config(...)", shown.window)
    assert where["row"] >= 1
    assert where["row"] + where["height"] + 2 <= 14 - cmdheight - (laststatus > 0)


def test_a_very_long_text_is_shown_at_once_and_coloured_to_its_end(desk: Desk) -> None:
    rows = [[n, "AgentChatAdd"] for n in range(9000)]
    shown = doc(*[f"+ line {n}" for n in range(9000)], rows=rows)
    desk.stage(doc=shown)
    assert "1-" in desk.editor.floats()[0].footer
    assert " of 9000" in desk.editor.floats()[0].footer
    assert desk.groups("line 1") == ["AgentChatAdd"]
    desk.editor.wait(lambda: desk.groups("line 8999"), why="the last line is coloured")
    desk.chat.focus()
    desk.editor.keys("grG")
    desk.editor.wait(lambda: "-9000 of 9000" in desk.editor.floats()[0].footer)


CONTRAST = """
    vim.o.background = select(2, ...)
    vim.cmd.colorscheme((...))
    local highlights, least = require('agentchat.highlights'), 21
    local function measure(words, background)
      local back = vim.api.nvim_get_hl(0, { name = background, link = false }).bg
      local names = vim.tbl_map(function(word) return 'AgentChat' .. word end, words)
      least = math.min(least, highlights.contrast(names, back))
    end
    measure({ 'Done', 'Failed', 'Running', 'Waiting', 'Note', 'Error', 'Placeholder' }, 'Normal')
    for _, background in ipairs({ 'AgentChatFloat', 'AgentChatBorder' }) do
      measure({ 'Title', 'Key', 'Warning', 'Fact' }, background)
    end
    return least
"""


@pytest.mark.parametrize("background", ["dark", "light"])
def test_words_can_be_told_from_what_is_behind_them(desk: Desk, background: str) -> None:
    schemes = ["default", "habamax", "quiet", "desert", "blue", "lunaperche", "retrobox", "morning"]
    ratios = {name: desk.editor.lua(CONTRAST, name, background) for name in schemes}
    assert {name: ratio for name, ratio in ratios.items() if ratio < 2.5} == {}


def test_a_group_that_the_user_has_set_stays(desk: Desk) -> None:
    desk.editor.command("highlight link AgentChatDone Search | doautocmd ColorScheme")
    assert desk.editor.request("nvim_get_hl", 0, {"name": "AgentChatDone"}) == {"link": "Search"}


def test_a_float_has_the_colours_that_can_be_read(desk: Desk) -> None:
    desk.ask()
    desk.editor.command("colorscheme habamax")
    desk.chat.focus()
    desk.editor.keys("ga")
    assert "FloatBorder:AgentChatBorder" in desk.editor.eval("&winhighlight")


CHANGED = """
    return vim.iter({ 'Add', 'Delete' }):map(function(kind)
      local line = vim.api.nvim_get_hl(0, { name = 'AgentChat' .. kind, link = false })
      local word = vim.api.nvim_get_hl(0, { name = 'AgentChat' .. kind .. 'Word', link = false })
      local seen = line.bg and word.bg and line.bg ~= word.bg
      local code = { 'Normal', 'AgentChatCodeKeyword', 'AgentChatCodeString' }
      local legible = require('agentchat.highlights').contrast(code, line.bg) >= 2
      return not (line.reverse or word.reverse) and seen ~= nil and seen and legible
    end):totable()
"""


@pytest.mark.parametrize("scheme", ["default", "habamax", "quiet", "desert", "blue", "morning"])
@pytest.mark.parametrize("background", ["dark", "light"])
def test_changed_words_can_be_told_from_the_rest_of_their_line(
    desk: Desk, scheme: str, background: str
) -> None:
    desk.editor.command(f"set background={background} | colorscheme {scheme}")
    assert desk.editor.lua(CHANGED) == [True, True]


def test_a_question_is_shown_on_a_screen_of_any_size(desk: Desk) -> None:
    desk.ask(title="bash wants to run a command that has a long title\twith a tab")
    for size in ((40, 12), (20, 8), (15, 10), (14, 6), (12, 8), (12, 5)):
        desk.editor.resize(*size)
        desk.editor.screen()
        (shown,) = desk.editor.floats()
        assert shown.area.left >= 0
        assert shown.area.right <= size[0]
    assert desk.asks()
