"""Answering an approval request from where the user is, and keys that stay what they are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk
from tests.support.chat import Chat

ANSWERS = {"a": "accept", "r": "reject", "A": "always", "c": "cancel", "t": "try"}


@pytest.mark.parametrize("key", ANSWERS)
def test_a_request_is_answered_from_insert_mode(desk: Desk, key: str) -> None:
    can_try: dict[str, Any] = {"try": True}
    desk.ask(**can_try)
    desk.chat.type("I am typing")
    desk.editor.keys(f"<C-g>{key}")
    assert desk.answers() == [("p1", ANSWERS[key])]
    desk.editor.type(" on")
    assert desk.chat.prompt() == "I am typing on"


@pytest.mark.parametrize("count", ["", "3"])
def test_a_count_of_an_earlier_command_does_not_keep_it_from_answering(
    desk: Desk, count: str
) -> None:
    desk.ask()
    desk.chat.focus()
    desk.editor.keys(f"G{count}ix<C-g>a")
    assert desk.answers() == [("p1", "accept")]


def test_keys_outside_of_the_float_wait_for_it_to_settle(start_editor: StartEditor) -> None:
    settings = {"ui": {"prompt_delay_ms": 400}}
    editor = start_editor(settings, init=QUIET_HOST)
    editor.command("nmap <F2> <Plug>(agentchat-accept)")
    desk = Desk(editor, Chat.open(editor))
    desk.ask()
    desk.chat.focus()
    editor.keys("i<C-g>a<C-g>A<Esc><F2>")
    assert desk.answers() == []
    editor.settle(0.6)
    editor.keys("i<C-g>a")
    assert desk.answers() == [("p1", "accept")]


def test_a_macro_and_a_script_do_not_answer_by_those_keys(desk: Desk) -> None:
    desk.ask()
    desk.chat.focus()
    desk.editor.command(r'let @q = "i\<C-g>a"')
    desk.editor.keys("@q<Esc>")
    desk.editor.command(r'call feedkeys("i\<C-g>a\<Esc>", "x")')
    assert desk.answers() == []


@pytest.mark.parametrize("choice", ["accept", "reject", "always", "cancel"])
def test_a_map_answers_in_any_window(desk: Desk, choice: str) -> None:
    desk.editor.command(f"nmap <F2> <Plug>(agentchat-{choice})")
    desk.editor.command("wincmd p")
    window = desk.editor.eval("win_getid()")
    desk.ask()
    desk.editor.keys("<F2>")
    assert desk.answers() == [("p1", choice)]
    assert desk.editor.eval("win_getid()") == window


def test_a_map_shows_a_hidden_request_first(desk: Desk) -> None:
    desk.editor.command("nmap <F2> <Plug>(agentchat-accept)")
    desk.ask()
    desk.chat.focus()
    desk.editor.keys("gaq")
    desk.editor.keys("<F2>")
    desk.editor.wait_notice("was hidden")
    assert desk.answers() == []
    desk.editor.keys("<F2>")
    assert desk.answers() == [("p1", "accept")]


def test_without_a_request_the_keys_say_so(desk: Desk) -> None:
    desk.chat.type("x")
    desk.editor.keys("<C-g>a")
    desk.editor.wait_notice("No approval request is pending.")
    assert desk.chat.prompt() == "x"


def test_an_undo_point_can_still_be_set_in_insert_mode(desk: Desk) -> None:
    desk.chat.type("one")
    desk.editor.keys("<C-g>u two<Esc>u")
    assert desk.chat.prompt() == "one"


LSP_MAPS = """
vim.api.nvim_create_autocmd('LspAttach', { callback = function(event)
  local function map()
    for _, key in ipairs({ 'gr', 'ga', 'gf', ']]', '<CR>' }) do
      vim.keymap.set('n', key, '<Cmd>let g:taken = 1<CR>', { buffer = event.buf })
    end
  end
  map()
  vim.schedule(map)
end })
"""


def test_maps_for_language_servers_do_not_take_the_keys_of_a_chat(
    start_editor: StartEditor,
) -> None:
    editor = start_editor(init=QUIET_HOST + LSP_MAPS)
    desk = Desk(editor, Chat.open(editor))
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    editor.wait(lambda: "Review" in editor.eval("maparg('gr', 'n')"))
    for key, plug in (("ga", "Approval"), ("<CR>", "Send")):
        assert plug in editor.eval(f"maparg('{key}', 'n')")
    desk.ask()
    desk.chat.focus()
    editor.keys("ga")
    assert editor.floats()[0].focused


def test_a_key_that_the_user_set_for_chats_stays_theirs(start_editor: StartEditor) -> None:
    mine = """
    vim.api.nvim_create_autocmd('FileType', { pattern = 'agentchat', callback = function(event)
      vim.keymap.set('n', 'gl', '<Cmd>let g:mine = 1<CR>', { buffer = event.buf })
    end })
    """
    editor = start_editor(init=QUIET_HOST + mine)
    Chat.open(editor)
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    editor.settle(0.1)
    editor.keys("<Esc>gl")
    assert editor.eval("g:mine") == 1


@pytest.mark.parametrize("keys", ["dgg", "cggnew<Esc>", "Gdgg"])
def test_an_operator_in_the_prompt_takes_only_the_prompt(desk: Desk, keys: str) -> None:
    ops = [["message", "user", "Question"], ["message", "agent", ""], ["text", "The answer."]]
    desk.call("chat.apply", desk.chat.id, [*ops, ["finish"]])
    desk.chat.type("one\ntwo\nthree")
    before = desk.chat.transcript()
    desk.editor.keys(f"<Esc>{keys}")
    assert desk.chat.transcript() == before
    assert "one" not in desk.chat.prompt()
    desk.editor.keys("Gygg")
    assert "The answer." in desk.editor.eval("getreg('\"')")


def test_the_last_message_is_sent_again(desk: Desk) -> None:
    desk.chat.focus()
    desk.editor.keys("g<CR>")
    desk.editor.wait_notice("no message yet")
    desk.call("chat.apply", desk.chat.id, [["message", "user", "Do the tests pass?"], ["finish"]])
    desk.chat.type("a draft")
    desk.editor.keys("<Esc>g<CR>")
    assert [told["text"] for told in desk.told("send")] == ["Do the tests pass?"]
    assert desk.chat.prompt() == "a draft"
    desk.editor.keys("g<CR>")
    desk.editor.wait_notice("the agent works")


def test_the_options_of_the_user_do_not_leak_into_a_chat(start_editor: StartEditor) -> None:
    options = "set colorcolumn=80 cursorline cursorcolumn number statuscolumn=%l virtualedit=all"
    editor = start_editor(init=QUIET_HOST + f"vim.cmd('{options} scrollbind cursorbind')")
    Chat.open(editor)
    for name in ("colorcolumn", "statuscolumn", "virtualedit"):
        assert editor.eval(f"&l:{name}") == ""
    for name in ("cursorline", "cursorcolumn", "number", "scrollbind", "cursorbind"):
        assert editor.eval(f"&l:{name}") == 0
    editor.command("wincmd p")
    assert editor.eval("&colorcolumn") == "80"
