"""Answers as they are seen: the text stays what the model wrote."""

from __future__ import annotations

import pytest

from tests.support.editor import Editor

from .conftest import Drawn

ANSWER = """\
The **bold** word of `code`, see [the manual](https://example.org/manual).


> A quote.

- a point &lt;here&gt;
- [x] done
- [ ] open

| name | n |
|---|--:|
| `a` | 1 |
| 漢字 **b** | 1000 |

```python
total = 1
```

---

The end.
"""

SEEN = [
    "The bold word of code, see the manual.",
    "",
    "▎ A quote.",
    "",
    "• a point <here>",
    "• ✓ done",
    "• ○ open",
    "",
    "│ name   │    n │",
    "├────────┼──────┤",
    "│ a      │    1 │",
    "│ 漢字 b │ 1000 │",
    "",
    "─── python ──",
    "total = 1",
    "─────────────",
    "",
    "─────────────",
    "",
    "The end.",
]


def seen(drawn: Drawn, first: str) -> list[str]:
    """The screen from a line on, without the right end of its rules."""
    lines = [line.rstrip() for line in drawn.editor.screen()]
    start = next(i for i, line in enumerate(lines) if line.startswith(first))
    return [line[:13] if "──" in line and "┼" not in line else line for line in lines[start:]]


def test_an_answer_is_shown_rendered_and_stays_as_it_was_written(drawn: Drawn) -> None:
    drawn.editor.command("only")
    drawn.say(ANSWER)
    drawn.editor.wait(lambda: "The bold word" in "\n".join(drawn.editor.screen()), why="rendering")
    drawn.editor.wait(lambda: seen(drawn, "The bold")[: len(SEEN)] == SEEN, why="all of it")
    assert drawn.lines()[2:-4] == ANSWER.rstrip("\n").split("\n")
    drawn.editor.command("set conceallevel=0")
    assert "The **bold** word of `code`" in "\n".join(drawn.editor.screen())


def test_with_conceal_off_an_answer_is_shown_as_written(alone: Editor) -> None:
    alone.lua("require('agentchat').setup({ ui = { conceal = false } })")
    drawn = Drawn(alone)
    drawn.say(ANSWER)
    alone.wait(lambda: drawn.groups("bold"), why="colours")
    screen = "\n".join(alone.screen())
    assert "```python" in screen
    assert "| 漢字 **b** | 1000 |" in screen
    assert "─── python" not in screen


TABLE = """\
| name | text |
|:-:|---|
| e\u0301\u0302 | \u05e9\u05dc\u05d5\u05dd **bold** |
| 漢字漢字 | x |
"""
ALIGNED = [
    "│   name   │ text      │",
    "├──────────┼───────────┤",
    "│    e\u0301\u0302     │ \u05e9\u05dc\u05d5\u05dd bold │",
    "│ 漢字漢字 │ x         │",
]
RECORD = "name  漢字漢字"


def test_a_table_is_aligned_again_when_its_window_has_another_width(drawn: Drawn) -> None:
    drawn.editor.command("only")
    drawn.say(TABLE)
    drawn.editor.wait_screen(ALIGNED[-1])
    assert seen(drawn, ALIGNED[0])[:4] == ALIGNED
    drawn.editor.command("vertical topleft new | vertical resize 80")
    drawn.editor.wait_screen(RECORD)
    drawn.editor.command("close")
    drawn.editor.wait_screen(ALIGNED[-1])


def test_a_table_without_outer_bars_is_aligned(drawn: Drawn) -> None:
    drawn.say("Two:\n\nname | text\n---|--:\n`a` | **bold**\nlonger | x\n\nuse a | b here.")
    drawn.editor.wait_screen("name   │ text")
    drawn.editor.wait_screen("───────┼─────")
    drawn.editor.wait_screen("a      │ bold")
    drawn.editor.wait_screen("longer │    x")
    drawn.editor.wait_screen("use a | b here.")


def test_a_table_that_is_too_wide_is_a_record_for_each_row(drawn: Drawn) -> None:
    long = "word " * 40
    drawn.say(f"| name | text |\n|---|---|\n| `a` | {long} |\n| b | short |\n\nThe end.")
    drawn.editor.wait_screen("name  a")
    drawn.editor.wait_screen("text  word word")
    drawn.editor.wait_screen("text  short")
    assert f"| `a` | {long} |" in drawn.lines()
    drawn.editor.command("set conceallevel=0")
    drawn.editor.wait(lambda: "text  short" not in "\n".join(drawn.editor.screen()), why="as it is")
    drawn.editor.command("set conceallevel=2")
    drawn.editor.wait_screen("text  short")


def test_without_conceallevel_nothing_is_drawn_that_is_not_there(drawn: Drawn) -> None:
    drawn.editor.command("set conceallevel=0")
    drawn.say("| a | b |\n|---|---|\n| long text | c |\n\n```lua\nx = 1\n```\n\nEnd.")
    drawn.editor.wait(lambda: drawn.groups("x = 1"), why="colours")
    drawn.editor.wait(lambda: "─" not in "".join(drawn.editor.screen()), why="no rules")
    drawn.editor.wait_screen("| a | b |")
    drawn.editor.command("set conceallevel=2")
    drawn.editor.wait_screen("│ a         │ b │")
    drawn.editor.wait_screen("─── lua ──")


def test_a_table_of_hundreds_of_columns_stays_plain_and_holds_nothing_up(drawn: Drawn) -> None:
    drawn.editor.lua(
        "_G.longest, _G.last = 0, vim.uv.now()\n"
        "vim.uv.new_timer():start(1, 1, function()\n"
        "  _G.longest, _G.last = math.max(_G.longest, vim.uv.now() - _G.last), vim.uv.now()\n"
        "end)"
    )
    head, rule, row = ("|" + cell * 200 for cell in (" h |", "---|", " **b** |"))
    drawn.say("\n".join([head, rule, *[row] * 10]) + "\n\nThe **end**.")
    drawn.editor.wait(lambda: drawn.groups("end"), why="colours below it")
    assert "@markup.strong.markdown_inline" in drawn.groups("b** |")
    assert drawn.editor.lua("return _G.longest") < 500  # ms; a quadratic loop takes a second


@pytest.mark.parametrize(
    ("text", "cursor", "yanked"),
    [
        ("a\n\n```py\nx = 1\n\ny = 2\n```\n\nb", "y = 2", "x = 1\n\ny = 2\n"),
        ("```\nfirst\n```\n```\nsecond\n```", "second", "second\n"),
        ("1. a\n\n   ~~~sh\n   ls\n     -l\n   ~~~", "~~~sh", "ls\n  -l\n"),
        ("never closed\n\n````md\n```\nx", "x", "```\nx\n"),
    ],
)
def test_the_block_of_code_under_the_cursor_is_yanked(
    drawn: Drawn, text: str, cursor: str, yanked: str
) -> None:
    drawn.say("```\nbefore")
    drawn.draw(("block", "a", {"title": "bash", "body": ["```"], "state": "done"}))
    drawn.say(text)
    row = max(i for i, line in enumerate(drawn.lines(), 1) if cursor in line)
    drawn.editor.command(str(row))
    drawn.editor.keys("gy")
    assert drawn.editor.eval("getreg('\"')").rstrip("\n") == yanked.rstrip("\n")


def test_outside_of_code_nothing_is_yanked(drawn: Drawn) -> None:
    drawn.say("```\nfirst\n```\n\nprose")
    drawn.editor.command("let @\" = 'mine'")
    drawn.editor.command(str(drawn.row("prose")))
    drawn.editor.keys("gy")
    assert drawn.editor.eval("getreg('\"')") == "mine"


def test_links_lead_to_files_and_addresses(drawn: Drawn) -> None:
    drawn.say("See [the shop](shop.py#L3) and [the docs](https://example.org/a).")
    drawn.editor.wait(lambda: drawn.groups("the docs"), why="links")
    drawn.editor.command(str(drawn.row("the docs")))
    drawn.editor.keys("f[;l")
    assert drawn.editor.lua("return vim.ui._get_urls()") == ["https://example.org/a"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[https://bank.example/login](https://evil.example/login)", "evil.example"),
        ("[bank.example](https://evil.example)", "evil.example"),
        ("[www.bank.example](https://bank.example@evil.example:8080/x)", "evil.example"),
        ("[bank.example/a](https://evil.example\\\\@bank.example/a)", "evil.example"),
        ("[the bank, https://bank.example](//evil.example)", "evil.example"),
        ("[**bank.example**](http://bank.example.evil.example)", "bank.example.evil.example"),
        ("[bank.example](file:///etc/passwd)", "file:"),
        ("[https://bank.example](https://www.bank.example:443/x)", ""),
        ("[the bank](https://bank.example)", ""),
        ("[a@bank.example](mailto:a@bank.example)", ""),
        ("[shop.py](src/shop.py#L3)", ""),
    ],
)
def test_a_link_whose_text_names_another_host_tells_where_it_leads(
    drawn: Drawn, text: str, told: str
) -> None:
    drawn.say(f"See {text} or [the docs](https://example.org/a).")
    drawn.editor.wait(lambda: drawn.groups("the docs"), why="links")
    assert (
        drawn.editor.lua(
            "local found, all = {}, { details = true } "
            "for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, all)) do "
            "  for _, part in ipairs(mark[4].virt_text or {}) do "
            "    found[#found + 1] = part[1]:match(' → (.*)') end end "
            "return table.concat(found, '|')"
        )
        == told
    )
