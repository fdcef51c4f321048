"""A chat where options, colours, parsers or the buffer are not what a chat would like."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.support.editor import Editor

from .conftest import Drawn

ANSWER = """\
Some **bold** words.

```lua
local a = 1
```

| a | b |
|---|--:|
| 漢 | 1 |

```sh
never closed"""

SEEN = [
    "▌ Agent",
    "",
    "Some bold words.",
    "",
    "─── lua",
    "local a = 1",
    "",
    "",
    "│ a  │ b │",
    "├────┼───┤",
    "│ 漢 │ 1 │",
    "",
    "─── sh",
    "never closed",
    "",
    "▌ You",
]

WITHOUT_PARSERS = """
for _, folder in ipairs(vim.opt.runtimepath:get()) do
  if vim.uv.fs_stat(folder .. '/parser') then vim.opt.runtimepath:remove(folder) end
end
"""


def play(editor: Editor) -> list[str]:
    """Draw the answer in the only window; return the chat as it is seen, without rules."""
    drawn = Drawn(editor)
    editor.command("only")
    drawn.say(ANSWER)
    editor.wait_screen("─── sh")
    return [line.rstrip(" ─") for line in editor.screen()[1 : len(SEEN) + 1]]


@pytest.mark.parametrize(
    "options",
    [
        "list spell number nowrap",
        "notermguicolors background=light",
        "rightleftcmd= winborder=double",
    ],
)
def test_an_answer_looks_the_same_whatever_the_options(
    start_editor: StartEditor, never_ready: dict[str, Any], options: str
) -> None:
    assert play(start_editor(never_ready, init=f"vim.cmd('set {options}')")) == SEEN


def test_without_a_parser_only_emphasis_is_shown_as_it_was_written(
    start_editor: StartEditor, never_ready: dict[str, Any]
) -> None:
    plain = [line.replace("bold", "**bold**") for line in SEEN]
    assert play(start_editor(never_ready, init=WITHOUT_PARSERS)) == plain


def test_another_colour_scheme_recolours_what_is_drawn(drawn: Drawn) -> None:
    drawn.say(ANSWER)
    drawn.editor.wait(lambda: drawn.groups("local a"), why="colours")
    colours = set()
    for scheme in ("default", "habamax", "retrobox"):
        drawn.editor.command(f"colorscheme {scheme}")
        drawn.editor.screen()
        colours.add(
            (drawn.editor.look(" Agent").foreground, drawn.editor.look("local a").foreground)
        )
    assert len(colours) == 3


def test_a_read_only_chat_goes_on_when_it_is_read_again_in_the_middle_of_a_reply(
    drawn: Drawn,
) -> None:
    drawn.editor.keys("Gimine<Esc>")
    drawn.editor.command("setlocal readonly")
    drawn.draw(("message", "agent", ""), ("text", ANSWER[:37]))
    drawn.editor.command("edit!")
    drawn.draw(("text", ANSWER[37:]), ("finish",))
    assert drawn.lines() == ["## Agent", "", *ANSWER.split("\n"), "", "## You", "", "mine"]
    drawn.editor.wait(lambda: "@number.lua" in drawn.groups("1"), why="colours")
