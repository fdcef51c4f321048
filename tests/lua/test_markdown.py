"""Colours of a finished text."""

from __future__ import annotations

from functools import partial

from .conftest import Drawn

TEXT = """\
Some **bold** words and `code`.

```lua
local answer = 42
```

- a point
"""


def test_a_finished_text_is_coloured_as_markdown(drawn: Drawn) -> None:
    drawn.say(TEXT)
    drawn.editor.wait(lambda: drawn.groups("code"), why="colours")
    assert "@markup.strong.markdown_inline" in drawn.groups("bold")
    assert "@markup.raw.markdown_inline" in drawn.groups("code")


def test_a_text_is_coloured_while_it_arrives(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""), ("text", "Some **bold** words.\n\n```lua\nlocal ans"))
    drawn.editor.wait(lambda: drawn.groups("local ans"), why="colours of half a line of code")
    assert "@markup.strong.markdown_inline" in drawn.groups("bold")
    drawn.draw(("text", "wer = 42\n```\n\nand **more**"), ("finish",))
    drawn.editor.wait(lambda: drawn.groups("more"), why="colours of the rest")
    assert "@number.lua" in drawn.groups("42")


def test_what_the_user_typed_is_shown_as_it_was_typed(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "look in **/*.py and */x.py, **now**"))
    drawn.editor.wait(lambda: drawn.groups("now"), why="colours")
    drawn.editor.wait_screen("look in **/*.py and */x.py, **now**")


def test_a_block_of_code_in_a_list_is_coloured_in_its_column(drawn: Drawn) -> None:
    drawn.say("1. first:\n\n     ```lua\n     local answer = 42\n     ```\n")
    drawn.editor.wait(lambda: drawn.groups("42"), why="colours")
    assert "@number.lua" in drawn.groups("42")


def test_code_is_coloured_in_its_language(drawn: Drawn) -> None:
    drawn.say(TEXT)
    drawn.editor.wait(lambda: drawn.groups("local answer"), why="colours")
    assert "@keyword.lua" in drawn.groups("local answer")
    assert "@number.lua" in drawn.groups("42")


def test_a_language_without_a_parser_stays_plain(drawn: Drawn) -> None:
    drawn.say("a **b**\n\n```cobol\nMOVE A TO B\n```\n\n```\nplain\n```")
    drawn.editor.wait(lambda: drawn.groups("**b**"), why="colours")
    assert not [group for group in drawn.groups("MOVE") if "cobol" in group]


def test_a_fence_left_open_does_not_reach_the_next_text(drawn: Drawn) -> None:
    drawn.say("```\nopen")
    drawn.say("plain **bold**")
    drawn.editor.wait(lambda: drawn.groups("bold"), why="colours")
    assert "@markup.strong.markdown_inline" in drawn.groups("bold")
    assert drawn.groups("plain") == []


def test_tool_output_is_never_markdown(drawn: Drawn) -> None:
    drawn.draw(
        ("message", "agent", ""),
        ("text", "see **this**"),
        ("block", "x", {"title": "t", "state": "done", "body": ["**not** bold"]}),
        ("finish",),
    )
    drawn.editor.wait(lambda: drawn.groups("this"), why="colours")
    assert drawn.groups("**not**") == ["AgentChatBlockBody"]


def test_a_text_typed_into_while_it_is_coloured_keeps_its_colours_in_place(drawn: Drawn) -> None:
    drawn.editor.lua(
        "local apply = require('agentchat.chat.actions').apply\n"
        "apply(..., { { 'message', 'agent', '' }, { 'text', 'see **this**' }, { 'finish' } })\n"
        "vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'typed', 'above' })",
        drawn.id,
    )
    drawn.editor.wait(lambda: drawn.groups("this"), why="colours")
    assert "@markup.strong.markdown_inline" in drawn.groups("this")
    assert drawn.groups("above") == []


def test_a_long_text_is_coloured_where_it_is_seen(drawn: Drawn) -> None:
    drawn.say("".join(f"Point **bold{n}** and `code{n}`.\n\n" for n in range(1500)))
    for _ in range(5):
        drawn.editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'typed above' })")
    drawn.editor.wait(lambda: drawn.groups("code1499"), why="colours at the end")
    assert drawn.groups("bold700") == []
    for word in ("bold700*", "bold0*"):
        drawn.editor.command(str(drawn.row(word)))
        drawn.editor.wait(partial(drawn.groups, word), why="colours where it was scrolled to")
        assert "@markup.strong.markdown_inline" in drawn.groups(word)
    assert drawn.groups("typed above") == []


def test_a_huge_paragraph_is_coloured_too(drawn: Drawn) -> None:
    drawn.say("some **bold** words\n" * 10_000 + "small **end**")
    drawn.editor.wait(lambda: drawn.groups("end"), why="colours")
    assert drawn.groups("bold") == []


def test_a_block_of_thousands_of_lines_stays_plain(drawn: Drawn) -> None:
    drawn.say("```lua\n" + "local a = 1\n" * 4_000 + "```\n\nsmall **end**")
    drawn.editor.wait(lambda: drawn.groups("end"), why="colours")
    assert drawn.groups("local") == []
