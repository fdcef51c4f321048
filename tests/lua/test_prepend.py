"""Older messages of a resumed chat are drawn above the newest ones."""

from __future__ import annotations

from typing import Any

from .conftest import Drawn

LONG = "\n".join(f"line {n}" for n in range(60))
FIRST: list[tuple[Any, ...]] = [
    ("message", "user", "one"),
    ("message", "agent", ""),
    ("text", "I look.\n\n```lua\nlocal a = 1\n```"),
    ("finish",),
    ("block", "a", {"title": "read a", "tool": "read", "state": "done", "body": ["x"] * 20}),
    ("block", "b", {"title": "read b", "tool": "read", "state": "done", "body": ["y"]}),
]
SECOND: list[tuple[Any, ...]] = [
    ("message", "agent", ""),
    ("reasoning", "Hm.\nNow what?"),
    ("thought", "thought for 3 s"),
    ("finish",),
    ("block", "a", {"title": "bash: make", "tool": "bash", "state": "done", "body": ["z"] * 30}),
]
THIRD: list[tuple[Any, ...]] = [
    ("message", "agent", ""),
    ("text", "It is done."),
    ("finish",),
    ("message", "user", "two"),
    ("message", "agent", ""),
    ("text", LONG),
    ("finish",),
]


def folds(drawn: Drawn) -> list[int]:
    found: list[int] = drawn.editor.eval("map(range(1, line('$')), 'foldclosed(v:val)')")
    return found


def view(drawn: Drawn) -> list[str]:
    return drawn.editor.screen()[:-2]


def test_a_chat_that_is_drawn_from_its_end_is_the_same_as_one_drawn_in_order(drawn: Drawn) -> None:
    for part in (FIRST, SECOND[:-1], [("block", "c", SECOND[-1][2])], THIRD):
        drawn.draw(*part)
    expected, expected_folds = drawn.lines(), folds(drawn)
    again = Drawn(drawn.editor, "AgentChat!")
    again.prepend(*THIRD, continues=True)
    again.prepend(*SECOND, continues=True)
    again.prepend(*FIRST[:3], last=False)
    again.prepend(*FIRST[3:], first=False)
    assert again.lines() == expected
    assert folds(again) == expected_folds
    assert max(expected_folds) > 0


def test_what_is_in_view_stays_there(drawn: Drawn) -> None:
    drawn.prepend(*THIRD)
    drawn.editor.keys("Gimine")
    before, line = view(drawn), drawn.editor.eval("line('.')")
    drawn.prepend(*FIRST)
    assert view(drawn) == before
    assert drawn.editor.eval("line('.')") == line + drawn.row("It is done.") - 3
    drawn.editor.keys("!")
    assert drawn.prompt() == "mine!"


def test_a_reader_in_the_middle_is_not_moved(drawn: Drawn) -> None:
    drawn.prepend(*THIRD)
    drawn.editor.keys(f"<C-\\><C-n>{drawn.row('line 20')}Gzt3j")
    before = view(drawn)
    drawn.prepend(*FIRST)
    assert view(drawn) == before
    assert drawn.editor.eval("getline('.')") == "line 23"
    assert drawn.closed("read b") == drawn.row("read a")


def test_a_window_that_is_not_full_shows_older_messages(drawn: Drawn) -> None:
    drawn.editor.keys("Gitwo<CR>lines<Esc>k")
    drawn.prepend(*THIRD[:3], continues=True)
    drawn.prepend(*THIRD[3:])
    assert drawn.editor.eval("getline('.')") == "two"
    assert "line 59" in "\n".join(view(drawn))


def test_nothing_is_moved_below_a_selection(drawn: Drawn) -> None:
    drawn.prepend(*THIRD)
    drawn.editor.keys(f"<C-\\><C-n>{drawn.row('line 20')}GVj")
    drawn.prepend(*FIRST)
    assert "I look." not in drawn.lines()
    drawn.editor.keys("y")
    assert drawn.editor.eval('@"') == "line 20\nline 21\n"
    drawn.editor.wait(lambda: "I look." in drawn.lines())


def test_what_is_said_meanwhile_stands_below_and_later_replies_share_the_header(
    drawn: Drawn,
) -> None:
    drawn.prepend(*THIRD[:3], continues=True, last=True)
    drawn.say("And more.")
    drawn.prepend(*FIRST)
    assert drawn.lines().count("## Agent") == 1
    assert drawn.row("I look.") < drawn.row("It is done.") < drawn.row("And more.")


def test_older_prompts_are_recalled_before_newer_ones(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "three"), ("recall", ["one", "two"], "one"))
    drawn.editor.keys("<C-\\><C-n>Gi<Up>")
    assert drawn.prompt() == "three"
    drawn.editor.keys("<Up><Up>")
    assert drawn.prompt() == "one"
