"""A Markdown file with front matter: fields in YAML between two lines of dashes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen

Value = str | tuple[str, ...]

_COMMA = re.compile(r",(?![^()]*\))")
"""A comma outside of parentheses."""


class FrontMatterError(UserError):
    """The front matter cannot be read; ``line`` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@frozen
class MarkdownFile:
    """A file: its fields by name, and the text below them."""

    fields: Mapping[str, Value] = field(default_factory=dict)
    body: str = ""

    def text(self, name: str) -> str:
        """Return a field as one line; a list is joined by commas."""
        value = self.fields.get(name, "")
        return " ".join((value if isinstance(value, str) else ", ".join(value)).split())

    def items(self, name: str) -> tuple[str, ...]:
        """Return a field as a list; a comma in parentheses, as in ``Bash(a, b)``, parts nothing."""
        parts = _COMMA.split(self.text(name))
        return tuple(part.strip() for part in parts if part.strip())
