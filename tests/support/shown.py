"""What a driven editor has told or shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Event:
    """A ``User`` autocommand of the plugin."""

    name: str
    data: dict[str, Any]
    awaited: bool = False


@dataclass
class Notice:
    """A ``vim.notify``."""

    text: str
    level: int
    awaited: bool = False


@dataclass(frozen=True)
class Area:
    """Cells of the screen: rows and columns from 0, ends excluded."""

    top: int
    left: int
    bottom: int
    right: int

    def holds(self, row: int, column: int) -> bool:
        return self.top <= row < self.bottom and self.left <= column < self.right


@dataclass(frozen=True)
class Float:
    """A floating window: its text, the texts in its border, and where it is with its border."""

    window: int
    buffer: int
    lines: list[str]
    title: str
    footer: str
    focused: bool
    area: Area

    @property
    def text(self) -> str:
        return "\n".join([self.title, *self.lines, self.footer])
