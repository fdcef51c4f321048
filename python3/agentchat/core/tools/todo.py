"""The todo list of a chat: the model writes it, the user sees and edits it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from agentchat.core.frozen import frozen

TodoStatus = Literal["pending", "running", "done"]

BOXES: Final[dict[TodoStatus, str]] = {"pending": "[ ]", "running": "[~]", "done": "[x]"}
"""What stands before an item in text."""


@frozen
class TodoItem:
    """One thing to do, in one line."""

    text: str
    status: TodoStatus = "pending"


class TodoList:
    """The items of one chat, in the order of the model or the user."""

    def __init__(self) -> None:
        self.items: tuple[TodoItem, ...] = ()
        self.on_change: Callable[[], None] = lambda: None
        """Called after the model or the user changed the list."""

    def replace(self, items: Sequence[TodoItem]) -> None:
        """Take a new list in place of the old one."""
        self.items = tuple(items)
        self.on_change()

    def restore(self, items: Sequence[TodoItem]) -> None:
        """Take the list that the journal has."""
        self.items = tuple(items)

    def text(self) -> str:
        """Return the list as lines like ``[x] read the code``; :func:`parse_todo` reads them."""
        return "\n".join(f"{BOXES[item.status]} {item.text}" for item in self.items)

    def counts(self) -> str:
        """Return how far the work is, like ``1 done, 1 running, 2 pending``."""
        numbers = dict.fromkeys(("done", "running", "pending"), 0)
        for item in self.items:
            numbers[item.status] += 1
        return ", ".join(f"{count} {name}" for name, count in numbers.items() if count) or "empty"


def parse_todo(text: str) -> tuple[TodoItem, ...]:
    """Return the items of a text, one a line; a line without a box is pending."""
    return tuple(_parse_line(line.strip()) for line in text.split("\n") if line.strip())


def _parse_line(line: str) -> TodoItem:
    line = line.removeprefix("- ").removeprefix("* ")
    for status, box in BOXES.items():
        if line.lower().startswith(box):
            return TodoItem(line[len(box) :].strip(), status)
    return TodoItem(line)
