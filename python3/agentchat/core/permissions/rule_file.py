"""A file of rules: read exactly, each rule by its line, and one rule added without touching more.

The file is JSON: ``{"version": 1, "rules": [RULE, …]}``. What cannot be read is named by its line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.errors import UserError
from agentchat.core.permissions.rules import Rule, parse_rule

VERSION = 1
EMPTY = f'{{\n  "version": {VERSION},\n  "rules": [\n  ]\n}}\n'
"""The text of a new file."""

_BLANK = re.compile(r"[ \t\r\n]*")
_INDENT = "  "


class Broken(UserError):
    """A file that is not as it should be: ``where`` is an offset into its text."""

    def __init__(self, where: int, reason: str) -> None:
        super().__init__(reason)
        self.where = where


@dataclass(slots=True)
class Layout:
    """Where things stand in the text of a file; ``rules`` are spans, as are the members' ends."""

    version: Any = None
    rules: list[tuple[int, int, Any]] = field(default_factory=list)
    opened: int = -1
    """Behind the bracket that opens the list of rules; -1 where there is none."""
    members: int = 0
    end: int = 0
    """Behind the last member of the object, or behind its brace."""


def read_rules(data: bytes, name: str) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules of a file, and one line for each thing in it that cannot be read.

    Args:
        name: of the file, as the user is told.
    """
    try:
        text = decoded(data)
        layout = laid_out(text)
    except Broken as error:
        return (), (f"{name}:{line_of(data, error.where)}: {error}",)
    rules: list[Rule] = []
    problems: list[str] = []
    for start, _, item in layout.rules:
        place = f"{name}:{text.count(chr(10), 0, start) + 1}"
        try:
            rules.append(parse_rule(item, place))
        except UserError as error:
            problems.append(f"{place}: {error}")
    return tuple(rules), tuple(problems)


def with_rule(text: str, rule: Rule) -> str:
    """Return the text of a file with one more rule at the end of its list, all else as it was.

    Raises:
        Broken: the text is no file of rules.
    """
    layout = laid_out(text)
    new, line = written(rule), "\r\n" if "\r\n" in text else "\n"
    if layout.rules:
        start, end, _ = layout.rules[-1]
        return f"{text[:end]},{_lead(text, start, line)}{new}{text[end:]}"
    if layout.opened >= 0:
        end = _skip(text, layout.opened)
        outer = _indent(text, layout.opened)
        inside = f"{line}{outer}{_INDENT}{new}{line}{outer}"
        return f"{text[: layout.opened]}{inside}{text[end:]}"
    comma = "," if layout.members else ""
    rules = f'{line}{_INDENT}"rules": [{line}{_INDENT * 2}{new}{line}{_INDENT}]'
    rest = text[layout.end :]
    return f"{text[: layout.end]}{comma}{rules}{rest if layout.members else line + rest.lstrip()}"


def fields(rule: Rule) -> dict[str, Any]:
    """Return a rule as it is written down."""
    said = {
        "action": rule.action,
        "tool": rule.tool,
        "path": rule.path,
        "words": list(rule.words) if rule.words is not None else None,
        "server": rule.server,
    }
    return {name: value for name, value in said.items() if value is not None}


def written(rule: Rule) -> str:
    """Return a rule in one line of JSON."""
    pairs = (
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in fields(rule).items()
    )
    return f"{{ {', '.join(pairs)} }}"


def read_rule(text: str) -> Rule:
    """Return the rule that a user wrote as JSON; raises UserError that says what is wrong."""
    try:
        at = _skip(text, 0)
        item, end = _value(text, at)
        if text[end:].strip():
            raise UserError("one rule is one JSON object, and nothing behind it.")
    except Broken as error:
        raise UserError(f"{error} (column {error.where + 1})") from error
    return parse_rule(item)


def decoded(data: bytes) -> str:
    """Return the text of a file; raises Broken where it is no UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Broken(error.start, "it is not UTF-8.") from error


def laid_out(text: str) -> Layout:
    """Return where things stand in a file; raises Broken where it is none of this version."""
    layout = Layout()
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise Broken(at, 'it must be an object like {"version": 1, "rules": []}.')
    layout.end = at + 1
    names: set[str] = set()
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        start = at
        name, at = _name(text, at)
        if name in names:
            raise Broken(start, f"{name} is there twice.")
        names.add(name)
        layout.end = _member(text, name, at, layout)
        at = _next(text, layout.end, "}")
    layout.members = len(names)
    rest = _skip(text, at + 1)
    if rest < len(text):
        raise Broken(rest, "there is something behind the end.")
    if "version" not in names:
        raise Broken(0, f'"version": {VERSION} is missing.')
    return layout


def _member(text: str, name: str, at: int, layout: Layout) -> int:
    """Read the value of one member into the layout; return its end."""
    if name == "rules":
        return _rules(text, at, layout)
    value, end = _value(text, at)
    if name == "version" and (value != VERSION or isinstance(value, bool)):
        raise Broken(at, f"version must be {VERSION}: another one is not known here.")
    return end


def _rules(text: str, at: int, layout: Layout) -> int:
    if text[at : at + 1] != "[":
        raise Broken(at, "rules must be a list.")
    layout.opened = at + 1
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        item, end = _value(text, at)
        layout.rules.append((at, end, item))
        at = _next(text, end, "]")
    return at + 1


def _name(text: str, at: int) -> tuple[str, int]:
    """Return the name of a member, and where its value begins."""
    name, end = _value(text, at)
    if not isinstance(name, str):
        raise Broken(at, "a name in quotes is expected.")
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise Broken(colon, "a colon is expected.")
    return name, _skip(text, colon + 1)


def _next(text: str, end: int, closing: str) -> int:
    """Return where the next item begins, or the closing bracket stands."""
    at = _skip(text, end)
    found = text[at : at + 1]
    if found == closing:
        return at
    if found != ",":
        raise Broken(at, f"a comma or {closing} is expected.")
    after = _skip(text, at + 1)
    if text[after : after + 1] == closing:
        raise Broken(at, f"there is a comma before {closing}.")
    return after


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise Broken(error.pos, f"{error.msg[:1].lower()}{error.msg[1:]}.") from error
    except RecursionError as error:
        raise Broken(at, "it is nested too deeply.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        return {f"{twice} (twice)": None, **found}
    return found


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def line_of(data: bytes, where: int) -> int:
    """Return the number of the line in which an offset stands; of bytes, where it is no text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.count(b"\n", 0, where) + 1
    return text.count("\n", 0, where) + 1


def _lead(text: str, start: int, line: str) -> str:
    """Return what stands before an item: a new line with its indentation, or a blank."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return " " if before.strip() else f"{line}{before}"


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line in which an offset stands."""
    begins = text.rfind("\n", 0, at) + 1
    return text[begins : _skip(text, begins)] if "\n" in text[:at] else ""


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
