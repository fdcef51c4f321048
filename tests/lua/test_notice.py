"""Messages of one line, however narrow the screen."""

from __future__ import annotations

import pytest

from tests.conftest import StartEditor

TEXT = "words.py:12: the tool name is taken by another file of yours, so this one is not loaded"


@pytest.mark.parametrize("level", ["warn", "error"])
def test_a_wide_notice_is_told_whole_and_shown_without_its_end(
    start_editor: StartEditor, level: str
) -> None:
    editor = start_editor(size=(60, 12))
    editor.allow("agentchat")
    editor.lua("require('agentchat.notify')[...](select(2, ...))", level, TEXT)
    assert editor.wait_notice("words") == f"agentchat: {TEXT}"
    editor.wait_screen("…")
    line = editor.screen()[-1]
    assert line.startswith("agentchat: words.py:12")
    assert line.endswith("the tool name is taken…")
    assert editor.messages().count(TEXT) == 1


def test_a_wide_notice_changes_no_option_that_an_autocommand_sees(
    start_editor: StartEditor,
) -> None:
    editor = start_editor(size=(60, 12))
    editor.allow("agentchat")
    editor.command("let g:seen = [] | autocmd OptionSet * call add(g:seen, expand('<amatch>'))")
    before = editor.eval("&messagesopt")
    editor.lua("require('agentchat.notify').warn(...)", TEXT)
    editor.wait_screen("…")
    assert editor.eval("g:seen") == []
    assert editor.eval("&messagesopt") == before


def test_a_notice_holds_nothing_that_a_terminal_obeys(start_editor: StartEditor) -> None:
    editor = start_editor(size=(60, 12))
    hostile = "a\x1b]0;x\x07b\x9bc\x7fd\u200de\u2764\ufe0f"
    editor.lua("require('agentchat.notify').info(...)", hostile)
    assert editor.wait_notice("agentchat: a").startswith("agentchat: a ]0;x b<9b>c d")
