"""Several approval requests: of one chat one after the other, and none is lost."""

from __future__ import annotations

import pytest

from tests.lua.floats.desk import Desk

ANSWERS = {"a": "accept", "A": "always", "c": "cancel"}


def title(desk: Desk) -> str:
    return desk.editor.floats()[0].title


def enter(desk: Desk) -> None:
    desk.chat.focus()
    desk.editor.keys("ga")


def test_requests_are_shown_in_the_order_they_came(desk: Desk) -> None:
    for name in ("one", "two", "three"):
        desk.ask(name, title=f"{name} asks")
    assert "one asks" in title(desk)
    assert "2 more" in title(desk)
    for name in ("one", "two", "three"):
        assert f"{name} asks" in title(desk)
        desk.editor.command("AgentApprove accept")
    assert desk.answers() == [(name, "accept") for name in ("one", "two", "three")]
    assert desk.editor.floats() == []


def test_one_that_waits_is_taken_back_without_a_trace(desk: Desk) -> None:
    for name in ("one", "two", "three"):
        desk.ask(name, title=f"{name} asks")
    desk.close("two")
    assert "one asks" in title(desk)
    desk.close("one")
    assert "three asks" in title(desk)
    desk.close("nobody")
    desk.editor.command("AgentApprove reject")
    assert desk.answers() == [("three", "reject")]


def test_the_next_one_does_not_show_up_if_the_first_is_hidden(desk: Desk) -> None:
    desk.ask("one")
    enter(desk)
    desk.editor.keys("q")
    desk.ask("two")
    assert desk.editor.floats() == []
    desk.close("two")
    assert desk.editor.floats() == []
    assert desk.asks()


def test_all_go_with_their_chat(desk: Desk) -> None:
    desk.ask("one")
    desk.ask("two")
    desk.editor.command(f"bwipeout! {desk.chat.buffer}")
    assert not desk.asks()
    assert desk.editor.floats() == []


@pytest.mark.parametrize("key", ["a", "A"])
def test_the_focus_stays_for_the_next_question_of_the_reply(desk: Desk, key: str) -> None:
    desk.ask("one", place=1, total=2)
    enter(desk)
    desk.editor.keys(key)
    (shown,) = desk.editor.floats()
    assert shown.focused
    assert "the next question of 2 follows" in shown.footer
    desk.editor.keys("aAcr")
    desk.ask("two", place=2, total=2)
    (shown,) = desk.editor.floats()
    assert shown.focused
    assert "follows" not in shown.footer
    desk.editor.keys("a")
    assert desk.answers() == [("one", ANSWERS[key]), ("two", "accept")]
    assert desk.editor.floats() == []
    assert desk.editor.eval("bufnr()") == desk.chat.buffer


def test_the_focus_goes_on_to_one_that_waits_already(desk: Desk) -> None:
    desk.ask("one")
    desk.ask("two", title="two asks")
    enter(desk)
    desk.editor.keys("a")
    assert "two asks" in title(desk)
    assert desk.editor.floats()[0].focused


def test_a_reason_keeps_the_focus_too(desk: Desk) -> None:
    desk.ask("one", place=1, total=2)
    enter(desk)
    desk.editor.keys("rno<CR>")
    assert "follows" in desk.editor.floats()[0].footer
    desk.ask("two", place=2, total=2)
    assert desk.editor.floats()[0].focused


@pytest.mark.parametrize("how", ["q", "<Esc>", "<C-w>p"])
def test_a_user_who_does_not_wait_for_it_leaves(desk: Desk, how: str) -> None:
    desk.ask("one", place=1, total=2)
    enter(desk)
    desk.editor.keys("a")
    desk.editor.keys(how)
    desk.editor.wait(lambda: not desk.editor.floats(), why="the float is gone")
    assert desk.editor.eval("bufnr()") == desk.chat.buffer
    desk.ask("two", place=2, total=2)
    assert not desk.editor.floats()[0].focused


def test_after_the_last_one_the_user_is_back_in_the_chat(desk: Desk) -> None:
    for place, total, key in ((1, 1, "a"), (2, 2, "a"), (1, 3, "c")):
        desk.ask(f"p{place}{total}", place=place, total=total)
        enter(desk)
        desk.editor.keys(key)
        assert desk.editor.floats() == []
        assert desk.editor.eval("bufnr()") == desk.chat.buffer


def test_a_float_that_keeps_the_focus_goes_when_the_model_speaks(desk: Desk) -> None:
    desk.call("chat.apply", desk.chat.id, [["message", "agent", ""], ["text", "I do it."]])
    desk.call("chat.apply", desk.chat.id, [["block", "1", {"title": "bash", "state": "waiting"}]])
    desk.ask("one", place=1, total=2)
    enter(desk)
    desk.editor.keys("a")
    assert desk.editor.floats()
    desk.call("chat.apply", desk.chat.id, [["text", "Done."]])
    desk.editor.wait(lambda: not desk.editor.floats(), why="the float is gone")


def test_a_float_that_keeps_the_focus_goes_with_the_turn(desk: Desk) -> None:
    desk.ask("one", place=1, total=2)
    enter(desk)
    desk.editor.keys("a")
    data = {"reason": "stop"}
    desk.call("chat.apply", desk.chat.id, [["event", "AgentTurnFinished", data]])
    assert desk.editor.floats() == []
