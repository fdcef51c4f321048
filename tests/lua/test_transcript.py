"""What is drawn above the prompt, and what the user may do to it meanwhile."""

from __future__ import annotations

import pytest

from .conftest import Drawn


def test_a_new_chat_is_a_header_and_room_to_type(drawn: Drawn) -> None:
    assert drawn.lines() == ["## You", "", ""]
    assert drawn.editor.eval("[line('.'), col('.')]") == [3, 1]


def test_messages_stand_above_the_prompt(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "one\ntwo"))
    drawn.say("three")
    assert drawn.lines() == [
        "## You", "", "one", "two", "", "## Agent", "", "three", "", "## You", "", "",
    ]  # fmt: skip


def test_pieces_make_one_text_whatever_their_borders(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""))
    for piece in ("\n\nfir", "st", "\n", "\nsec\u00f6", "nd", "\n\n"):
        drawn.draw(("text", piece))
    drawn.draw(("finish",))
    assert drawn.lines()[:5] == ["## Agent", "", "first", "", "secönd"]
    assert drawn.lines()[5:] == ["", "## You", "", ""]


def test_replies_of_one_turn_stand_under_one_header(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "go"))
    drawn.say("first")
    drawn.say("second")
    drawn.draw(("message", "user", "more"))
    drawn.say("third")
    assert drawn.lines().count("## Agent") == 2


def test_notes_and_errors_have_no_header(drawn: Drawn) -> None:
    drawn.say("text")
    drawn.draw(("message", "note", "a note"), ("message", "error", "an error"))
    assert drawn.lines()[2:] == ["text", "", "a note", "", "an error", "", "## You", "", ""]
    assert "AgentChatNote" in drawn.groups("a note")
    assert "AgentChatError" in drawn.groups("an error")


def test_text_between_blocks_is_set_apart_and_blocks_stand_together(drawn: Drawn) -> None:
    drawn.draw(
        ("message", "agent", ""),
        ("text", "Look:\n\n"),
        ("block", "a", {"title": "read a", "state": "done"}),
        ("block", "b", {"title": "read b", "state": "done"}),
        ("text", "\nSeen."),
    )
    assert drawn.lines()[2:] == [
        "Look:", "", "▸ read a · done", "▸ read b · done", "", "Seen.", "", "## You", "", "",
    ]  # fmt: skip


def test_a_line_says_for_how_long_nothing_came_and_moves_nothing(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "go"), ("status", {"state": "running"}))
    before = drawn.lines()
    drawn.editor.wait_screen("● thinking ")
    assert drawn.lines() == before
    drawn.draw(("block", "x", {"title": "bash: make", "tool": "bash", "state": "running"}))
    assert "thinking" not in "\n".join(drawn.editor.screen())
    drawn.editor.wait_screen("● running bash ")
    drawn.draw(("status", {"state": "idle"}))
    assert "stops" not in "\n".join(drawn.editor.screen())


def test_retries_take_the_place_of_that_line_and_leave_nothing_behind(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "go"), ("status", {"state": "running"}))
    before = drawn.lines()
    drawn.draw(("activity", "The server answered 429 (try 1 of 4)", 2), ("activity", "try 2", 0.5))
    drawn.editor.wait_screen("● try 2, waiting 0 of 0 s · <C-c> stops")
    drawn.editor.wait_screen("● try 2, trying again 0 s · <C-c> stops")
    drawn.draw(("activity", "The server answered 429 (try 3 of 4)", 60))
    drawn.editor.wait_screen("…, waiting 0 of 1 min 0 s · <C-c>")
    assert drawn.lines() == before
    drawn.draw(("activity", "try 4", 60), ("message", "agent", "Hello."))
    assert "stops" not in "\n".join(drawn.editor.screen())
    assert "Hello." in drawn.lines()


@pytest.mark.parametrize("text", ["a\0b", "\x1b[31mred", "\u202eevil", "\x07", "a\r\nb", "\x7f"])
def test_control_characters_are_drawn_as_they_are(drawn: Drawn, text: str) -> None:
    drawn.say(text)
    drawn.draw(("block", "x", {"title": "bash\0x", "body": [text], "state": "done"}))
    drawn.draw(("block", "x", {"append": [text, text]}))
    assert "\n".join(drawn.lines()).count(text.replace("\r", "")) >= 1
    assert drawn.lines()[-3:] == ["## You", "", ""]


def test_headers_and_fences_in_a_text_are_text(drawn: Drawn) -> None:
    drawn.say("## You\n\nrun @bash\n```")
    drawn.editor.keys("imine<Esc>")
    assert drawn.prompt() == "mine"


def test_very_long_lines_are_broken_between_characters(drawn: Drawn) -> None:
    drawn.say("ä" * 50_000)
    text = "".join(line for line in drawn.lines() if "ä" in line)
    assert text == "ä" * 50_000
    assert max(len(line.encode()) for line in drawn.lines()) <= 8192


def test_an_unknown_operation_stops_no_other(drawn: Drawn) -> None:
    drawn.draw(("sparkle", 1), ("message", "agent", ""), ("text", "still here"))
    assert "still here" in drawn.lines()


# --- what the user does meanwhile ------------------------------------------------------------


def test_a_prompt_being_typed_is_not_disturbed(drawn: Drawn) -> None:
    drawn.editor.keys("ihalf a th")
    drawn.draw(("message", "agent", ""), ("text", "a\nb\nc"))
    drawn.editor.keys("ought")
    drawn.draw(("text", "d\ne"), ("block", "x", {"title": "t", "body": ["1", "2"]}))
    drawn.editor.keys(" more")
    assert drawn.prompt() == "half a thought more"
    assert drawn.editor.mode() == "i"


def test_what_the_agent_writes_cannot_be_undone(drawn: Drawn) -> None:
    drawn.say("kept")
    before = drawn.lines()
    drawn.editor.keys("u")
    drawn.editor.keys("u")
    assert drawn.lines() == before


def test_undo_in_the_prompt_goes_back_through_what_the_agent_wrote(drawn: Drawn) -> None:
    drawn.editor.keys("ione<Esc>")
    drawn.draw(("message", "agent", ""), ("text", "a\nb"))
    drawn.editor.keys("A two<Esc>")
    drawn.draw(("text", "c\nd"))
    drawn.editor.keys("A three<Esc>")
    seen = [drawn.prompt()]
    for key in ("u", "u", "u", "<C-r>", "<C-r>"):
        drawn.editor.keys(key)
        seen.append(drawn.prompt())
    assert seen == ["one two three", "one two", "one", "", "one", "one two"]
    assert "bc" in drawn.lines()


def test_undo_after_typing_through_writes_goes_to_before_the_typing(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""))
    drawn.editor.keys("i")
    for letter in "words":
        drawn.editor.keys(letter)
        drawn.draw(("text", "x\n"))
    drawn.editor.keys("!<Esc>")
    drawn.editor.keys("u")
    assert drawn.prompt() in ("words", "")
    drawn.editor.keys("u")
    assert drawn.prompt() == ""


def test_a_sent_prompt_can_be_had_back_by_undo(drawn: Drawn) -> None:
    drawn.editor.keys("iask this<Esc><CR>")
    assert drawn.prompt() == ""
    drawn.draw(("message", "user", "ask this"))
    drawn.editor.keys("u")
    assert drawn.prompt() == "ask this"


@pytest.mark.parametrize(
    "keys",
    ["ggdG", "ggdd", "Gkkdd", "GkkD", "Gkkcchello<Esc>", "GkkIx<Esc>", "GkkAx<Esc>", "GkkJ", "%d"],
)
def test_the_prompt_survives_any_deletion(drawn: Drawn, keys: str) -> None:
    drawn.say("some text")
    drawn.editor.keys(keys.replace("%d", ":%d<CR>"))
    drawn.draw(("message", "agent", ""), ("text", "goes on"), ("finish",))
    drawn.editor.keys("Gonew words<Esc>")
    assert drawn.prompt().endswith("new words")
    lines = drawn.lines()
    assert lines.index("goes on") < len(lines) - 1 - lines[::-1].index("## You")


def test_a_header_that_was_deleted_comes_back_at_once(drawn: Drawn) -> None:
    drawn.say("some text")
    drawn.editor.keys("Gimine<Esc>kkdd")
    assert drawn.lines()[-3:] == ["## You", "", "mine"]
    drawn.editor.keys("u")
    assert drawn.prompt() == "mine"


def test_backspace_from_the_prompt_stops_at_the_header(drawn: Drawn) -> None:
    drawn.editor.keys("i" + "<BS>" * 12 + "hello")
    assert drawn.prompt() == "hello"
    assert drawn.lines()[0] == "## You"


def test_the_end_of_a_running_text_may_be_deleted(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""), ("text", "one\ntwo\nthree"))
    drawn.editor.keys("gg/two<CR>dj")
    drawn.draw(("text", " four\nfive"), ("finish",))
    assert drawn.lines()[-3:] == ["## You", "", ""]
    assert "five" in drawn.lines()


def test_reading_the_buffer_again_keeps_all(drawn: Drawn) -> None:
    drawn.say("some text")
    drawn.editor.keys("imine<Esc>")
    before = drawn.lines()
    drawn.editor.command("edit!")
    assert drawn.lines() == before
    assert drawn.prompt() == "mine"
    drawn.say("more")
    assert "more" in drawn.lines()
    assert drawn.prompt() == "mine"


def test_reading_the_buffer_again_keeps_blocks_and_headers(drawn: Drawn) -> None:
    shown = {"title": "bash make", "state": "running", "body": [f"out {n}" for n in range(20)]}
    drawn.draw(("message", "user", "go"), ("message", "agent", ""), ("block", "x", shown))
    before = drawn.lines()
    drawn.editor.command("edit!")
    assert drawn.lines() == before
    assert drawn.closed("out 19") == drawn.row("out 10")
    assert "AgentChatAgent" in drawn.groups("## Agent")
    assert "AgentChatBlock" in drawn.groups("▸ bash make")
    drawn.draw(("block", "x", {"state": "done", "append": ["the end"]}))
    assert drawn.row("the end") == drawn.row("out 19") + 1
    assert "▸ bash make · done" in drawn.lines()
    drawn.editor.keys("G[[[[[[")
    assert drawn.editor.eval("getline('.')") == "## You"
    assert drawn.editor.eval("line('.')") == 1


def test_a_buffer_made_unmodifiable_is_still_drawn(drawn: Drawn) -> None:
    drawn.editor.command("setlocal nomodifiable")
    drawn.say("text")
    assert "text" in drawn.lines()
    assert drawn.editor.eval("&modifiable") == 0


# --- windows ---------------------------------------------------------------------------------


def test_a_window_on_the_last_line_follows_to_the_bottom(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""))
    for n in range(12):
        drawn.draw(("text", "".join(f"line {n}.{i}\n" for i in range(9))))
        screen = drawn.editor.screen()
        assert drawn.editor.eval("line('w$') == line('$')")
    assert drawn.editor.eval("line('$') - line('w0') + 1") == drawn.editor.eval("winheight(0)")
    assert screen


def test_a_window_elsewhere_does_not_scroll(drawn: Drawn) -> None:
    drawn.say("".join(f"line {n}\n" for n in range(60)))
    drawn.editor.keys("30Gzt5j")
    before = drawn.editor.eval("[line('w0'), line('.')]")
    drawn.draw(("message", "agent", ""), ("text", "more\n" * 50))
    drawn.editor.screen()
    assert drawn.editor.eval("[line('w0'), line('.')]") == before


def test_a_window_in_the_background_follows_too(drawn: Drawn) -> None:
    editor = drawn.editor
    window = editor.eval("win_getid()")
    editor.keys("Gihalf<Esc>")
    editor.command("wincmd p")
    drawn.draw(("message", "agent", ""), ("text", "".join(f"line {n}\n" for n in range(90))))
    editor.screen()
    assert editor.eval(f"line('w$', {window}) == line('$', {window})")
    assert editor.eval(f"line('.', {window}) == line('$', {window})")
    editor.wait_screen("line 89")


def test_a_prompt_of_several_lines_stays_where_it_is_typed(drawn: Drawn) -> None:
    drawn.editor.keys("ione<CR>two<CR>three<Esc>k0")
    drawn.draw(("message", "agent", ""), ("text", "".join(f"line {n}\n" for n in range(90))))
    assert drawn.editor.eval("getline('.')") == "two"
    drawn.editor.wait_screen("two")


def test_a_second_window_gets_options_and_folds(drawn: Drawn) -> None:
    body = [f"out {n}" for n in range(40)]
    drawn.draw(("message", "agent", ""), ("block", "x", {"title": "t", "body": body}))
    drawn.editor.command(f"tab sbuffer {drawn.buffer}")
    assert drawn.editor.eval("&l:foldmethod") == "manual"
    assert drawn.editor.eval("&l:winbar") != ""
    assert drawn.closed("out 20") == drawn.row("out 10")
    drawn.editor.command("enew")
    assert drawn.editor.eval("&l:winbar") == ""


def test_message_keys_skip_headers_that_are_only_text(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "go"))
    drawn.say("## You\n\nnot me")
    drawn.editor.keys("gg")
    seen = []
    for _ in range(3):
        seen.append(drawn.editor.eval("line('.')"))
        drawn.editor.keys("]]")
    assert seen == [1, 5, len(drawn.lines()) - 2]


def test_a_selection_in_the_prompt_stays_on_its_words(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""))
    drawn.editor.keys("ione<CR>two<CR>three<Esc>kV")
    drawn.draw(("text", "a\nb\nc"))
    drawn.editor.keys("d")
    drawn.editor.wait_text("c")
    assert drawn.prompt() == "one\nthree"


def test_a_selection_in_the_transcript_holds_nothing_up(drawn: Drawn) -> None:
    drawn.say("one")
    drawn.editor.keys("ggV")
    drawn.draw(("message", "agent", ""), ("text", "two"))
    assert "two" in drawn.lines()


def test_of_a_paragraph_longer_than_its_window_the_end_is_shown(drawn: Drawn) -> None:
    drawn.editor.resize(60, 12)
    drawn.editor.command("only")
    drawn.draw(("message", "agent", ""), ("text", "word " * 200 + "first"))
    drawn.editor.wait_screen("first")
    drawn.draw(("todo", [{"text": "plan", "status": "running"}]), ("text", " word" * 200 + " last"))
    drawn.editor.wait_screen("last")
    drawn.editor.wait_screen("● plan")
    drawn.editor.wait_screen("Type a message")


def test_a_listener_of_an_event_finds_all_that_was_drawn_with_it(drawn: Drawn) -> None:
    drawn.editor.lua(
        "local buf = ...; vim.api.nvim_create_autocmd('User', { pattern = 'AgentToolFinished',"
        " callback = function() _G.seen = vim.api.nvim_buf_get_lines(buf, 0, -1, true) end })",
        drawn.buffer,
    )
    drawn.draw(
        ("message", "agent", ""),
        ("block", "1", {"title": "read a", "state": "done", "body": ["text of a"]}),
        ("event", "AgentToolFinished", {"call_id": "1"}),
        ("block", "2", {"title": "read b", "state": "running"}),
    )
    seen = "\n".join(drawn.editor.lua("return _G.seen"))
    assert "text of a" in seen
    assert "read b" in seen
