"""Windows of chats: where they open, which chat they show, and how they go."""

from __future__ import annotations

import pytest

from tests.conftest import StartEditor
from tests.lua.conftest import Drawn
from tests.support.chat import Chat
from tests.support.editor import Editor


def settings(editor: Editor, **ui: object) -> None:
    """Set ``g:agentchat.ui``."""
    editor.lua("vim.g.agentchat = { ui = ... }", ui)


def run(editor: Editor, *commands: str) -> None:
    """Run commands, none of which can follow ``:AgentChat`` in one line."""
    for command in commands:
        editor.command(command)


def shown(editor: Editor) -> list[str]:
    """The names of the buffers in the windows of this tab."""
    names = editor.eval("map(tabpagebuflist(), 'bufname(v:val)')")
    return [str(name) for name in names]


POSITIONS = [
    ("right", "row", -1),
    ("left", "row", 0),
    ("bottom", "col", -1),
    ("top", "col", 0),
]


@pytest.mark.parametrize(("position", "layout", "index"), POSITIONS)
def test_the_position_of_a_chat_is_a_setting(
    alone: Editor, position: str, layout: str, index: int
) -> None:
    settings(alone, position=position)
    alone.command("AgentChat")
    assert alone.eval("winlayout()[0]") == layout
    assert shown(alone)[index] == "agentchat://1"


def test_a_chat_can_have_a_tab_of_its_own(alone: Editor) -> None:
    settings(alone, position="tab")
    alone.command("AgentChat")
    assert alone.eval("[tabpagenr(), winnr('$')]") == [2, 1]


def test_a_chat_can_be_a_float_which_follows_the_screen(alone: Editor) -> None:
    settings(alone, position="float", width=0.5)
    alone.command("AgentChat")
    wide = alone.eval("nvim_win_get_config(0)")
    assert wide["relative"] == "editor"
    assert wide["width"] == alone.eval("&columns") // 2
    alone.resize(40, 12)
    alone.wait(lambda: alone.eval("nvim_win_get_config(0).width") == 20, why="the float is resized")
    alone.command("AgentChat")
    assert alone.eval("nvim_win_get_config(0).relative") == ""


@pytest.mark.parametrize(("width", "columns"), [(30, 30), (0.25, 20)])
def test_the_width_is_a_number_of_columns_or_a_share(
    alone: Editor, width: float, columns: int
) -> None:
    alone.resize(80, 24)
    settings(alone, width=width)
    alone.command("AgentChat")
    assert alone.eval("winwidth(0)") == columns
    alone.command("wincmd p | vsplit")
    assert alone.eval("winwidth(bufwinnr('agentchat://1'))") == columns


def test_on_a_narrow_screen_a_chat_opens_below(alone: Editor) -> None:
    alone.resize(40, 24)
    alone.command("AgentChat")
    assert alone.eval("[winlayout()[0], winwidth(0), winheight(0)]") == ["col", 40, 15]


def test_the_command_hides_the_chat_from_inside_and_shows_it_from_outside(alone: Editor) -> None:
    chat = Chat.open(alone)
    chat.type("half a question")
    alone.keys("<C-\\><C-n>")
    alone.command("AgentChat")
    assert shown(alone) == [""]
    alone.command("AgentChat")
    assert alone.eval("bufnr()") == chat.buffer
    assert chat.prompt() == "half a question"


def test_hiding_the_last_window_shows_the_file_before_it(alone: Editor) -> None:
    run(alone, "edit notes.txt", "AgentChat", "only", "AgentChat")
    assert shown(alone) == ["notes.txt"]
    run(alone, "AgentChat", "only", "bwipeout! notes.txt", "AgentChat")
    assert shown(alone) == [""]


def test_a_tab_has_one_window_for_chats_unless_a_modifier_asks_for_more(alone: Editor) -> None:
    alone.command("AgentChat")
    alone.command("AgentChat!")
    assert shown(alone) == ["", "agentchat://2"]
    alone.command("vertical AgentChat!")
    assert shown(alone) == ["", "agentchat://2", "agentchat://3"]
    alone.command("tab AgentChat")
    assert alone.eval("[tabpagenr('$'), bufname()]") == [2, "agentchat://3"]


def test_a_modifier_moves_the_window_of_the_chat(alone: Editor) -> None:
    alone.command("AgentChat")
    alone.command("topleft AgentChat")
    assert shown(alone) == ["agentchat://1", ""]


def test_keys_cycle_through_the_chats(alone: Editor) -> None:
    for _ in range(3):
        alone.command("AgentChat!")
    seen = []
    for keys in ("]b", "]b", "[b", "2[b"):
        alone.keys(keys)
        seen.append(alone.eval("bufname()"))
    assert seen == ["agentchat://1", "agentchat://2", "agentchat://1", "agentchat://2"]
    assert len(shown(alone)) == 2


def test_chats_are_unlisted_and_named_by_their_first_prompt(alone: Editor) -> None:
    chat = Chat.open(alone)
    chat.send("fix the tests\nand more")
    alone.keys("<C-\\><C-n>")
    assert alone.eval("getbufinfo({'buflisted': 1})->len()") == 1
    alone.command("AgentChat!")
    found = alone.eval("getcompletion('AgentChat ', 'cmdline')")
    assert found == ["agentchat://1 (fix the tests)", "agentchat://2"]
    assert alone.eval("getcompletion('AgentChat TESTS', 'cmdline')") == found[:1]
    assert alone.eval("getcompletion('AgentChat fix the', 'cmdline')") == []


def test_a_chat_is_chosen_by_its_name_and_can_be_told_something(alone: Editor) -> None:
    chat = Chat.open(alone)
    chat.send("fix the tests")
    alone.keys("<C-\\><C-n>")
    alone.command("AgentChat!")
    alone.command("AgentChat agentchat://1 (fix the tests)")
    assert alone.eval("bufname()") == "agentchat://1"
    outbox = "return require('agentchat.chat.registry').get(...).outbox"
    assert alone.lua(outbox, chat.id) == ["fix the tests"]
    alone.command("AgentChat agentchat://1 go on")
    assert alone.lua(outbox, chat.id) == ["fix the tests", "go on"]


def test_a_chat_is_chosen_from_a_list(alone: Editor) -> None:
    alone.command("AgentChat")
    alone.command("AgentChat!")
    alone.lua("vim.ui.select = function(items, _, choose) choose(items[1]) end")
    alone.keys("gl")
    assert alone.eval("bufname()") == "agentchat://1"


def test_a_window_whose_buffer_is_fixed_keeps_it(alone: Editor) -> None:
    run(alone, "set winfixbuf", "AgentChat", "set winfixbuf", "AgentChat!")
    assert shown(alone) == ["", "agentchat://1", "agentchat://2"]


def test_where_buffers_are_switched_to_does_not_matter(alone: Editor) -> None:
    run(alone, "set switchbuf=usetab", "AgentChat", "tabnew", "vertical AgentChat!")
    run(alone, "tabprevious", "vertical AgentChat agentchat://2")
    assert alone.eval("[tabpagenr(), bufname()]") == [1, "agentchat://2"]


def test_a_wrong_position_is_reported_with_the_right_ones(start_editor: StartEditor) -> None:
    editor = start_editor()
    settings(editor, position="middle")
    editor.command("AgentChat")
    editor.wait_notice("ui.position must be one of right, left, top, bottom, tab, float")


@pytest.mark.parametrize("change", ["set nomodifiable", "set readonly", "edit", "set winfixbuf"])
def test_a_reply_arrives_whatever_the_user_did_to_the_buffer(drawn: Drawn, change: str) -> None:
    drawn.editor.command(change)
    drawn.draw(("message", "agent", ""), ("text", "It came through."), ("finish",))
    assert "It came through." in drawn.editor.text()


def test_a_narrow_winbar_has_no_title_and_a_wide_one_has_it(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "fix the tests"))
    drawn.editor.command("wincmd |")
    assert "Chat 1 · fix the tests · idle" in drawn.editor.screen()[0]
    drawn.editor.command("vertical resize 24")
    assert "fix the tests" not in drawn.editor.screen()[0]
