"""Pictures of the screen."""

from __future__ import annotations

from PIL import Image

from tests.support.grid import Grid
from tests.support.picture import draw


def painted(*events: list[object]) -> Grid:
    grid = Grid()
    start: list[list[object]] = [
        ["grid_resize", [1, 20, 3]],
        ["default_colors_set", [0xFFFFFF, 0x101010, 0xFF0000, 0, 0]],
        ["mode_info_set", [True, [{"name": "normal", "cursor_shape": "block"}]]],
        ["grid_cursor_goto", [1, 2, 0]],
    ]
    grid.redraw([*start, *events])
    return grid


def colours(picture: Image.Image) -> set[tuple[int, ...]]:
    found = picture.getcolors(1 << 20)
    assert found
    return {colour for _, colour in found if isinstance(colour, tuple)}


def test_a_picture_has_the_size_and_colours_of_the_screen() -> None:
    grid = painted(
        ["hl_attr_define", [5, {"foreground": 0x00FF00, "background": 0x0000FF}, {}, []]],
        ["grid_line", [1, 0, 0, [["a", 5], ["─", 5, 3]], False]],
    )
    picture = draw(grid, 15)
    assert picture.size == (180, 54)
    assert {(0x10, 0x10, 0x10), (0, 0, 255), (255, 255, 255)} <= colours(picture)
    assert any(green > 200 and red < 50 for red, green, blue in colours(picture))


def test_reverse_swaps_the_colours() -> None:
    grid = painted(
        ["hl_attr_define", [5, {"foreground": 0x00FF00, "reverse": True}, {}, []]],
        ["grid_line", [1, 0, 0, [[" ", 5, 4]], False]],
    )
    assert draw(grid).getpixel((3, 3)) == (0, 255, 0)


def test_the_cursor_is_drawn() -> None:
    picture = draw(painted())
    assert picture.getpixel((3, picture.height - 5)) == (255, 255, 255)
