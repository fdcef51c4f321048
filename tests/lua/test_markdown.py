"""Colours of a finished text."""

from __future__ import annotations

from .conftest import Drawn

TEXT = """\
Some **bold** words and `code`.

```lua
local answer = 42
```

- a point
"""


def test_a_finished_text_is_coloured_as_markdown(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""), ("text", TEXT))
    assert drawn.groups("bold") == []
    drawn.draw(("finish",))
    drawn.editor.wait(lambda: drawn.groups("bold"), why="colours")
    assert "@markup.strong.markdown_inline" in drawn.groups("bold")
    assert "@markup.raw.markdown_inline" in drawn.groups("code")


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


def test_a_long_text_is_coloured_to_its_end_while_the_chat_moves(drawn: Drawn) -> None:
    words = [f"Point **bold{n}** and `code{n}`.\n\n" for n in range(1500)]
    drawn.say("".join(words))
    for _ in range(5):
        drawn.editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'typed above' })")
    drawn.editor.wait(lambda: drawn.groups("code1499"), why="colours at the end")
    for n in (0, 700, 1499):
        assert "@markup.strong.markdown_inline" in drawn.groups(f"bold{n}")
    assert drawn.groups("typed above") == []


def test_a_huge_text_stays_plain(drawn: Drawn) -> None:
    drawn.say("some **bold** words\n" * 10_000)
    drawn.say("small **end**")
    drawn.editor.wait(lambda: drawn.groups("end"), why="colours")
    assert drawn.groups("bold") == []
