"""The screen as a picture: every cell with its colours and styles, and the cursor."""

from __future__ import annotations

from PIL import Image, ImageDraw

from .fonts import font
from .grid import Grid, Look

SIZE = 15
"""Height of the letters in pixels; DejaVu's columns are 9 whole pixels wide at this size."""


def draw(grid: Grid, size: int = SIZE) -> Image.Image:
    """Draw the grid with letters of ``size`` pixels."""
    return _Page(grid, size).image


class _Page:
    def __init__(self, grid: Grid, size: int) -> None:
        plain = font(frozenset(), size)
        ascent, descent = plain.getmetrics()
        self.grid, self.size = grid, size
        self.width, self.height = round(plain.getlength("M")), ascent + descent
        pixels = (self.width * len(grid.rows[0]), self.height * len(grid.rows))
        self.image = Image.new("RGB", pixels, _rgb(grid.default.background))
        self.pen = ImageDraw.Draw(self.image)
        places = [(r, c) for r, row in enumerate(grid.rows) for c in range(len(row))]
        # All backgrounds first: letters may reach over the edge of their cell.
        for row, column in places:
            self._background(row, column)
        for row, column in places:
            self._letter(row, column)

    def _background(self, row: int, column: int) -> None:
        left, top = column * self.width, row * self.height
        _, background = self._colours(row, column)
        self.pen.rectangle(
            (left, top, left + self.width - 1, top + self.height - 1), _rgb(background)
        )
        if (row, column) == self.grid.cursor and self._shape() != "block":
            self._cursor_bar(left, top)

    def _letter(self, row: int, column: int) -> None:
        look = self.grid.look(row, column)
        text = self.grid.rows[row][column].text
        ink = _rgb(self._colours(row, column)[0])
        left, top = column * self.width, row * self.height
        if text.strip():
            self.pen.text((left, top), text, ink, font(look.styles & {"bold", "italic"}, self.size))
        self._lines(look, left, top, ink)

    def _lines(self, look: Look, left: int, top: int, ink: tuple[int, int, int]) -> None:
        right, bottom = left + self.width - 1, top + self.height - 2
        under = {name for name in look.styles if name.startswith("under")}
        colour = _rgb(look.special) if under - {"underline"} else ink
        if "undercurl" in under:
            points = [(x, bottom + (x // 2 % 2)) for x in range(left, right + 1)]
            self.pen.line(points, colour)
        elif under:
            self.pen.line((left, bottom, right, bottom), colour)
        if "strikethrough" in look.styles:
            self.pen.line((left, top + self.height // 2, right, top + self.height // 2), ink)

    def _colours(self, row: int, column: int) -> tuple[int | None, int | None]:
        """Letter and background, with reverse and a block cursor taken into account."""
        look = self.grid.look(row, column)
        colours = (look.foreground, look.background)
        reverse = "reverse" in look.styles
        if (row, column) == self.grid.cursor and self._shape() == "block":
            reverse = not reverse
        return colours[::-1] if reverse else colours

    def _shape(self) -> str:
        return self.grid.shapes.get(self.grid.mode, "block")

    def _cursor_bar(self, left: int, top: int) -> None:
        bottom = top + self.height - 1
        bar = (left, top, left + 1, bottom)
        if self._shape() == "horizontal":
            bar = (left, bottom - 2, left + self.width - 1, bottom)
        self.pen.rectangle(bar, _rgb(self.grid.default.foreground))


def _rgb(colour: int | None) -> tuple[int, int, int]:
    colour = colour or 0
    return colour >> 16 & 255, colour >> 8 & 255, colour & 255
