"""What a running tool prints reaches the next frame as it was printed."""

from __future__ import annotations

from agentchat.nvim.render.live_output import LINE_CHARACTERS, LINES_PER_FRAME, LiveOutput


def test_pieces_join_to_what_was_printed_but_for_the_last_line_end() -> None:
    output, shown = LiveOutput(), ""
    for piece in ("one\n", "tw", "o\n\n", "\n", "three", "\n"):
        output.add(piece)
        shown += output.take()
    assert shown == "one\ntwo\n\n\nthree"


def test_an_unfinished_line_is_not_held_back() -> None:
    output = LiveOutput()
    output.add("50 %")
    assert output.take() == "50 %"
    assert output.take() == ""


def test_of_a_flood_the_newest_lines_are_kept() -> None:
    output = LiveOutput()
    output.add("x\n" * 10_000 + "y" * 10_000 + "\nlast\n")
    lines = output.take().split("\n")
    assert len(lines) == LINES_PER_FRAME
    assert lines[-1] == "last"
    assert len(lines[-2]) == LINE_CHARACTERS


def test_of_a_line_that_is_overwritten_the_newest_state_is_kept() -> None:
    output = LiveOutput()
    output.add("a\n10 %\r20 %\r")
    assert output.take() == "a\n20 %"
    assert output.take() == ""
    output.add("30 %\r\nb\r\n")
    assert output.take() == "\r30 %\r\nb\r"
