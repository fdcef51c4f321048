"""The front matter of a Markdown file: a small part of YAML between two lines of dashes.

Understood are texts, plain or quoted, block texts (``|`` and ``>``), and lists of texts. Deeper
structure is skipped: other programs use it for what is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen

FENCE = "---"
_KEY = re.compile(r"(?P<key>[A-Za-z_][\w-]*)\s*:(?:\s+(?P<value>.*))?$")
_BLOCK = re.compile(r"[|>][+-]?\d*$")
_COMMENT = re.compile(r"\s+#.*$")

Value = str | tuple[str, ...]


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
        """Return a field as a list; a text is split at commas outside of parentheses."""
        value = self.fields.get(name, "")
        if not isinstance(value, str):
            return value
        return tuple(item.strip() for item in re.split(r",(?![^()]*\))", value) if item.strip())


def parse_markdown(text: str) -> MarkdownFile:
    """Return the fields and the body of a file; raises FrontMatterError."""
    text = text.removeprefix("\ufeff")
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        return MarkdownFile(body=text.strip())
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise FrontMatterError(1, f"the front matter does not end: a line {FENCE} is missing")
    fields = _parse_fields(lines[1:end])
    return MarkdownFile(fields, "\n".join(lines[end + 1 :]).strip())


def _parse_fields(lines: list[str]) -> dict[str, Value]:
    fields: dict[str, Value] = {}
    row = 0
    while row < len(lines):
        line = lines[row]
        row += 1
        if not line.strip() or line.startswith("#"):
            continue
        match = _KEY.match(line)
        if match is None:
            raise FrontMatterError(row + 1, f'expected "name: text", got "{line.strip()[:60]}"')
        if match["key"] in fields:
            raise FrontMatterError(row + 1, f'"{match["key"]}" is there twice')
        inner, first = [], row
        while row < len(lines) and (not lines[row].strip() or lines[row][0] in " \t-"):
            inner.append(lines[row])
            row += 1
        fields[match["key"]] = _parse_value((match["value"] or "").strip(), inner, first + 1)
    return fields


def _parse_value(value: str, inner: list[str], line: int) -> Value:
    """Return a value from the rest of its line and the indented lines below it."""
    if _BLOCK.match(value):
        return _block(inner, folded=value[0] == ">")
    items = [row.strip() for row in inner if row.strip()]
    if not value:
        is_list = bool(items) and all(item.startswith("- ") for item in items)
        return tuple(_scalar(item[2:].strip(), line) for item in items) if is_list else ""
    if value.startswith("["):
        if not value.endswith("]"):
            raise FrontMatterError(line, "the list does not end: a ] is missing")
        parts = re.split(r",(?![^()]*\))", value[1:-1])
        return tuple(_scalar(part.strip(), line) for part in parts if part.strip())
    return _scalar(" ".join([value, *items]), line)


def _block(inner: list[str], *, folded: bool) -> str:
    indents = [len(row) - len(row.lstrip()) for row in inner if row.strip()]
    rows = [row[min(indents, default=0) :].rstrip() for row in inner]
    return (" " if folded else "\n").join(rows).strip()


def _scalar(text: str, line: int) -> str:
    if text[:1] not in ("'", '"'):
        return _COMMENT.sub("", text)
    quote = text[0]
    end = text.rfind(quote)
    if end == 0:
        raise FrontMatterError(line, f"the text does not end: a {quote} is missing")
    inner = text[1:end]
    if quote == "'":
        return inner.replace("''", "'")
    return inner.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
