"""Odd texts and widths: every function that measures, cuts or places text ends.

``AGENTCHAT_GENERATED`` is how many cases each function gets, 1,000 unless it is set and at most
20,000; ``AGENTCHAT_SEED`` says which.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.permissions.report import generated, seed, tell
from tests.support.editor import Editor

from .conftest import Drawn

ODD_TEXTS = Path(__file__).parent / "odd_texts.lua"
AT_ONCE = 200
"""Cases of each function in one call: the editor answers within seconds."""


@pytest.mark.timeout(1800)
def test_no_text_and_no_width_keeps_a_function_from_ending(drawn: Drawn) -> None:
    count = min(generated(), 20_000)
    drawn.editor.command("set columns=200 lines=40")
    for part in range(0, count, AT_ONCE):
        found = drawn.editor.lua(ODD_TEXTS.read_text(), seed() + part, min(AT_ONCE, count - part))
        assert found is None, found
    tell(f"odd texts: {count} cases of each function")


@pytest.mark.parametrize(
    "first",
    [
        "a\tb",
        "one\ttwo\tthree\tfour\tfive",
        "\t" * 9,
        "x\x01y",
        "\x1b[31mred",
        "日本\t語",
        "a" * 300,
    ],
)
def test_any_first_line_of_a_prompt_can_be_a_title(drawn: Drawn, first: str) -> None:
    for width in (100, 120, 140, 160):
        drawn.editor.resize(width, 30)
        code = "require('agentchat.chat.registry').get((...)).title = select(2, ...)"
        drawn.editor.lua(code, drawn.id, first)
        drawn.editor.command("redrawstatus!")
        assert "idle" in "\n".join(drawn.editor.screen())


def test_a_pasted_text_may_end_in_a_backslash(drawn: Drawn) -> None:
    drawn.editor.keys("i")
    drawn.editor.request("nvim_paste", "for (x) \\", True, -1)
    drawn.editor.wait(lambda: drawn.prompt() == "for (x) \\")


def test_a_large_count_ends_where_there_is_nothing_more(drawn: Drawn) -> None:
    drawn.say("one")
    drawn.editor.keys("<Esc>999999999[[999999999]]999999999u")
    assert drawn.editor.eval("line('.')") == drawn.row("## You")


def test_a_screen_of_any_size_can_show_a_chat(alone: Editor) -> None:
    drawn = Drawn(alone)
    drawn.say("words " * 50)
    for size in ((40, 12), (20, 8), (15, 10), (12, 8)):
        alone.resize(*size)
        alone.screen()
