"""A file of rules: read it with the line of each rule, and add a rule to it.

The file is JSON: ``{"version": 1, "rules": [RULE, …]}``. Problems are reported with their line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agentchat.core.errors import UserError
from agentchat.core.permissions.rules import Rule, parse_rule

VERSION = 1

_BLANK = re.compile(r"[ \t\r\n]*")
_LIST = re.compile(r'"rules"[ \t\r\n]*:[ \t\r\n]*\[')
_TWICE = " (twice)"

Items = list[tuple[int, int, Any]]
"""The start, end and value of each rule in a text."""


class RuleFileError(UserError):
    """A file with a problem in ``line``."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def read_rules(data: bytes, name: str) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules of a file, and one line for each problem.

    Args:
        name: the name of the file in messages.
    """
    try:
        text = _decode(data)
        items = next(_lists(text, _document(text).get("rules", [])), [])
    except RuleFileError as error:
        return (), (f"{name}:{error.line}: {error}",)
    rules: list[Rule] = []
    problems: list[str] = []
    for start, _, item in items:
        source = f"{name}:{_line(text, start)}"
        try:
            rules.append(parse_rule(item, source))
        except UserError as error:
            problems.append(f"{source}: {error}")
    return tuple(rules), tuple(problems)


def add_rule(data: bytes | None, rule: Rule) -> bytes:
    """Return the file with one more rule at the end of its list; ``None`` is a missing file.

    Keeps the text of existing rules; a file without rules is rewritten.

    Raises:
        RuleFileError: the data is not a file of rules.
    """
    text = _decode(data) if data is not None else ""
    document: dict[str, Any] = _document(text) if data is not None else {"version": VERSION}
    rules: list[Any] = document.get("rules", [])
    if not rules:
        return _new_file(document, rule).encode()
    expected = {**document, "rules": [*rules, rule.fields]}
    for items in _lists(text, rules):
        after = _insert(text, items, rule)
        if _document(after) == expected:
            return after.encode()
    raise RuleFileError(1, 'the list must be written as "rules": [.')


def format_rule(rule: Rule) -> str:
    """Return a rule in one line of JSON."""
    pairs = (f"{_dump(name)}: {_dump(value)}" for name, value in rule.fields.items())
    return f"{{ {', '.join(pairs)} }}"


def read_rule(text: str) -> Rule:
    """Return the rule that a user wrote as JSON; raises UserError with the problem."""
    return parse_rule(_load(text))


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleFileError(line, "it is not UTF-8.") from error


def _document(text: str) -> dict[str, Any]:
    """Return the object in a file; raises RuleFileError if it has no rules of this version."""
    document = _load(text)
    if not isinstance(document, dict):
        raise RuleFileError(1, 'it must be an object like {"version": 1, "rules": []}.')
    for name in document:
        if name.endswith(_TWICE):
            name = name.removesuffix(_TWICE)
            raise RuleFileError(_line(text, text.rfind(f'"{name}"')), f"{name} is there twice.")
    version = document.get("version")
    if "version" not in document:
        raise RuleFileError(1, f'"version": {VERSION} is missing.')
    if version != VERSION or isinstance(version, bool):
        line = _line(text, text.find('"version"'))
        raise RuleFileError(line, f"version must be {VERSION}; other versions are unknown.")
    if not isinstance(document.get("rules", []), list):
        raise RuleFileError(_line(text, text.find('"rules"')), "rules must be a list.")
    return document


def _load(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_mark_repeats)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} (column {error.colno})."
        raise RuleFileError(error.lineno, reason) from error
    except RecursionError as error:
        raise RuleFileError(1, "it is nested too deeply.") from error


def _mark_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, with an extra name for each name that occurs twice."""
    names = [name for name, _ in pairs]
    twice = {f"{name}{_TWICE}": None for name in names if names.count(name) > 1}
    return {**dict(pairs), **twice}


def _lists(text: str, rules: list[Any]) -> Iterator[Items]:
    """Yield the items of each list named ``rules`` in a valid file that has these rules."""
    for found in _LIST.finditer(text):
        try:
            items = list(_items(text, found.end()))
        except (json.JSONDecodeError, IndexError):  # it is inside a string
            continue
        if [item for _, _, item in items] == rules:
            yield items


def _items(text: str, offset: int) -> Iterator[tuple[int, int, Any]]:
    """Yield the items of a list whose bracket is before ``offset``."""
    offset = _skip_blanks(text, offset)
    while text[offset] != "]":
        item, end = _DECODER.raw_decode(text, offset)
        yield offset, end, item
        offset = _skip_blanks(text, end)
        if text[offset] == ",":
            offset = _skip_blanks(text, offset + 1)


def _insert(text: str, items: Items, rule: Rule) -> str:
    """Return the text with a rule after the last one, on its own line if that has one."""
    start, end, _ = items[-1]
    before = text[text.rfind("\n", 0, start) + 1 : start]
    line = "\r\n" if "\r\n" in text else "\n"
    lead = " " if before.strip() else f"{line}{before}"
    return f"{text[:end]},{lead}{format_rule(rule)}{text[end:]}"


def _new_file(document: dict[str, Any], rule: Rule) -> str:
    members = [f"{_dump(k)}: {_dump(v)}" for k, v in document.items() if k != "rules"]
    members.append(f'"rules": [\n    {format_rule(rule)}\n  ]')
    return "{\n  " + ",\n  ".join(members) + "\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _skip_blanks(text: str, offset: int) -> int:
    blank = _BLANK.match(text, offset)
    return blank.end() if blank else offset


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, max(offset, 0)) + 1


_DECODER = json.JSONDecoder(object_pairs_hook=_mark_repeats)
