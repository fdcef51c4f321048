"""The part of the screen that a chat has, after the screen has got another size."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor

from .conftest import Drawn

SIZES = ((80, 24), (200, 50), (100, 30), (120, 40))


def width(drawn: Drawn) -> int:
    return int(drawn.editor.eval(f"winwidth(bufwinid({drawn.buffer}))"))


def test_a_chat_keeps_its_half_of_the_screen(drawn: Drawn) -> None:
    for size in SIZES:
        drawn.editor.resize(*size)
        assert abs(width(drawn) - size[0] / 2) <= 2, size


def test_a_chat_keeps_the_part_that_the_user_gave_it(drawn: Drawn) -> None:
    drawn.editor.resize(120, 40)
    drawn.editor.command("vertical resize 40")
    drawn.editor.screen()
    drawn.editor.resize(80, 24)
    assert abs(width(drawn) - 27) <= 2


@pytest.mark.parametrize("wanted", [45, 0.25])
def test_a_width_of_the_settings_holds_on_each_screen(
    start_editor: StartEditor, never_ready: dict[str, Any], wanted: float
) -> None:
    drawn = Drawn(start_editor({**never_ready, "ui": {"width": wanted}}))
    for size in SIZES:
        drawn.editor.resize(*size)
        assert width(drawn) == (wanted if wanted > 1 else int(wanted * size[0]))


def test_a_chat_below_keeps_its_rows(
    start_editor: StartEditor, never_ready: dict[str, Any]
) -> None:
    drawn = Drawn(start_editor({**never_ready, "ui": {"position": "bottom", "height": 0.5}}))
    for size in SIZES:
        drawn.editor.resize(*size)
        rows = int(drawn.editor.eval(f"winheight(bufwinid({drawn.buffer}))"))
        assert abs(rows - size[1] / 2) <= 2, size
