"""The driven editor itself, without the plugin's help."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import processes
from tests.support.editor import Editor, RpcError

pytestmark = pytest.mark.slow


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Editor]:
    (tmp_path / "w").mkdir()
    editor = Editor(tmp_path / "h", tmp_path / "w", size=(60, 12))
    yield editor
    editor.close()


def test_typed_keys_reach_the_buffer_and_the_screen(plain: Editor) -> None:
    plain.keys("ihello")
    plain.type(" <Esc>\nworld")
    plain.keys("<Esc>")
    assert plain.text() == "hello <Esc>\nworld"
    assert plain.screen()[:2] == ["hello <Esc>", "world"]
    assert plain.mode() == "n"


def test_an_event_is_waited_for_and_returned_once(plain: Editor) -> None:
    fire = "vim.api.nvim_exec_autocmds('User', { pattern = 'AgentTest', data = { n = ... } })"
    plain.lua(f"local n = ...; vim.defer_fn(function() {fire.replace('...', 'n')} end, 30)", 1)
    plain.lua(fire, 2)
    assert plain.wait_event("AgentTest", n=1) == {"n": 1}
    assert plain.wait_event("AgentTest") == {"n": 2}
    with pytest.raises(AssertionError, match="event AgentTest"):
        plain.wait_event("AgentTest", limit=0.1)


def test_a_wait_ends_as_soon_as_the_screen_has_changed(plain: Editor) -> None:
    plain.lua("vim.defer_fn(function() vim.api.nvim_buf_set_lines(0, 0, 1, true, {'x1'}) end, 50)")
    before = time.monotonic()
    plain.wait_screen("x1")
    assert time.monotonic() - before < 2


def test_a_wait_that_fails_shows_the_screen(plain: Editor) -> None:
    plain.keys("iwhat is there<Esc>")
    with pytest.raises(AssertionError, match="what is there"):
        plain.wait("false", limit=0.1)


def test_scrolled_and_wide_text_is_on_the_screen_as_a_user_sees_it(plain: Editor) -> None:
    plain.lua(
        "local l = {}; for i = 1, 99 do l[i] = i .. ' 漢字 ' .. i end;"
        "vim.api.nvim_buf_set_lines(0, 0, -1, true, l)"
    )
    plain.keys("50Gzt<C-e><C-e>")
    assert plain.screen()[:2] == ["52 漢字 52", "53 漢字 53"]


def test_a_float_is_found_with_its_title_and_text(plain: Editor) -> None:
    plain.lua(
        "local b = vim.api.nvim_create_buf(false, true);"
        "vim.api.nvim_buf_set_lines(b, 0, -1, true, {'inside'});"
        "vim.api.nvim_open_win(b, false, {relative='editor', row=1, col=1, width=9, height=2,"
        "title='Title', footer='a b', border='single'})"
    )
    (shown,) = plain.floats()
    assert (shown.title, shown.lines, shown.footer, shown.focused) == (
        "Title", ["inside"], "a b", False
    )  # fmt: skip
    assert "inside" in plain.float_text()


def test_highlight_groups_can_be_asked_for(plain: Editor) -> None:
    plain.lua(
        "vim.api.nvim_buf_set_lines(0, 0, 1, true, {'plain marked'});"
        "vim.api.nvim_set_hl(0, 'AgentChatTest', {fg=0x112233, bold=true});"
        "vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('t'), 0, 6,"
        "{end_col=12, hl_group='AgentChatTest'})"
    )
    look = plain.look("marked")
    assert look.foreground == 0x112233
    assert look.groups == ("AgentChatTest",)
    assert "bold" in look.styles
    assert plain.look("plain").groups == ()


def test_errors_of_commands_are_raised(plain: Editor) -> None:
    with pytest.raises(RpcError, match="E492"):
        plain.command("NoSuchCommand")
    assert plain.complaints() == []


def test_errors_in_messages_are_complained_of_unless_allowed(plain: Editor) -> None:
    plain.lua("vim.schedule(function() error('boom') end)")
    plain.wait(lambda: plain.blocking() or plain.messages())
    plain.keys("<CR>")
    assert plain.complaints()
    plain.allow("boom|traceback|Error")
    assert plain.complaints() == []


def test_a_loud_notice_no_test_waited_for_is_complained_of(plain: Editor) -> None:
    plain.lua("vim.notify('agentchat: bad', vim.log.levels.ERROR)")
    assert plain.complaints() == ["agentchat: bad"]
    assert plain.wait_notice("bad") == "agentchat: bad"
    assert plain.complaints() == []


def test_a_hit_enter_prompt_is_noticed(plain: Editor) -> None:
    plain.lua("vim.schedule(function() vim.notify('one\\ntwo\\nthree') end)")
    plain.wait(plain.blocking)
    assert "waits for a key" in plain.complaints()[0]


def test_nothing_survives_the_close(plain: Editor) -> None:
    plain.lua("vim.fn.jobstart({'sh', '-c', 'trap \"\" TERM HUP; sleep 60 & wait'})")
    plain.wait(lambda: len(plain.children()) == 2)
    children = plain.children()
    plain.close()
    assert processes.living(children) == {}


def test_the_users_own_folders_and_keys_are_not_seen(
    plain: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for what in ("config", "data", "state", "cache"):
        assert str(tmp_path / "h") in plain.eval(f"stdpath('{what}')")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    other = Editor(tmp_path / "h2", tmp_path / "w")
    assert other.eval("getenv('OPENAI_API_KEY')") is None
    assert other.eval("getcwd()") == str(tmp_path / "w")
    other.close()
