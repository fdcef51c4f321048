"""Neovim's screen as its UI protocol paints it: cells, highlights, cursor."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class Cell:
    """One column of one row. The right half of a wide character has an empty ``text``."""

    text: str = " "
    highlight: int = 0


@dataclass(frozen=True)
class Look:
    """How a cell is drawn: colours are 0xRRGGBB or None for the default; ``groups`` are names."""

    foreground: int | None = None
    background: int | None = None
    special: int | None = None
    styles: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()


BLANK = Cell()
STYLES = {"bold", "italic", "reverse", "strikethrough"} | {
    f"under{kind}" for kind in ("line", "curl", "double", "dotted", "dashed")
}


@dataclass
class Grid:
    """The screen after the last event; ``default`` has the default colours."""

    rows: list[list[Cell]] = field(default_factory=list)
    looks: dict[int, Look] = field(default_factory=lambda: {0: Look()})
    default: Look = field(default_factory=lambda: Look(0xFFFFFF, 0x000000, 0xFF0000))
    cursor: tuple[int, int] = (0, 0)
    mode: str = "normal"
    shapes: dict[str, str] = field(default_factory=dict)

    def redraw(self, batch: list[list[Any]]) -> None:
        """Take one ``redraw`` notification: events with one or more lists of arguments each."""
        for name, *calls in batch:
            if handler := getattr(self, f"_{name}", None):
                for arguments in calls:
                    handler(*arguments)

    def lines(self) -> list[str]:
        """The text of each row, without trailing blanks."""
        return ["".join(cell.text for cell in row).rstrip() for row in self.rows]

    def look(self, row: int, column: int) -> Look:
        """How the cell at the 0-based place is drawn, default colours filled in."""
        look = self.looks.get(self.rows[row][column].highlight, Look())
        return replace(
            look,
            foreground=_first(look.foreground, self.default.foreground),
            background=_first(look.background, self.default.background),
            special=_first(look.special, self.default.special),
        )

    def spans(self, column: int) -> list[list[tuple[str, str]]]:
        """The parts of each row from a column on that are drawn alike, with the group on top.

        Blank parts are left out.
        """
        return [
            [
                (text.strip(), ("", *self.looks[highlight].groups)[-1])
                for highlight, cells in groupby(row[column:], lambda cell: cell.highlight)
                if (text := "".join(cell.text for cell in cells)).strip()
            ]
            for row in self.rows
        ]

    def find(self, text: str) -> tuple[int, int] | None:
        """Row and column of the first cell of ``text`` on the screen."""
        for number, row in enumerate(self.rows):
            at = "".join(cell.text for cell in row).find(text)
            if at >= 0:
                return number, _column(row, at)
        return None

    def _grid_resize(self, grid: int, width: int, height: int) -> None:
        old = self.rows
        self.rows = [[BLANK] * width for _ in range(height)]
        for row, before in zip(self.rows, old, strict=False):
            row[: min(width, len(before))] = before[:width]

    def _grid_clear(self, grid: int) -> None:
        self.rows = [[BLANK] * len(row) for row in self.rows]

    def _grid_line(self, grid: int, row: int, column: int, cells: list[Any], *_: Any) -> None:
        highlight = 0
        for cell in cells:
            text, *more = cell
            highlight = more[0] if more else highlight
            times = more[1] if len(more) > 1 else 1
            self.rows[row][column : column + times] = [Cell(text, highlight)] * times
            column += times

    def _grid_scroll(
        self, grid: int, top: int, bottom: int, left: int, right: int, rows: int, columns: int
    ) -> None:
        moved = [row[left:right] for row in self.rows]
        for target in range(top, bottom):
            source = target + rows
            if top <= source < bottom:
                self.rows[target][left:right] = moved[source]

    def _grid_cursor_goto(self, grid: int, row: int, column: int) -> None:
        self.cursor = (row, column)

    def _default_colors_set(self, foreground: int, background: int, special: int, *_: Any) -> None:
        self.default = Look(foreground, background, special)

    def _hl_attr_define(
        self, number: int, rgb: dict[str, Any], cterm: Any, info: list[dict[str, Any]]
    ) -> None:
        self.looks[number] = Look(
            rgb.get("foreground"),
            rgb.get("background"),
            rgb.get("special"),
            frozenset(style for style in STYLES if rgb.get(style)),
            tuple(part["hi_name"] for part in info if part.get("hi_name")),
        )

    def _mode_info_set(self, enabled: bool, modes: list[dict[str, Any]]) -> None:
        self.shapes = {mode["name"]: mode.get("cursor_shape", "block") for mode in modes}

    def _mode_change(self, mode: str, number: int) -> None:
        self.mode = mode


def _first(value: int | None, otherwise: int | None) -> int | None:
    return otherwise if value is None else value


def _column(row: list[Cell], at: int) -> int:
    """The column at whose cell the character ``at`` of the row's text stands."""
    length = 0
    for column, cell in enumerate(row):
        if length + len(cell.text) > at:
            return column
        length += len(cell.text)
    return len(row)
