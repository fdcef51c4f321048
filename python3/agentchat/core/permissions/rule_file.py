"""A file of rules: read with the line of each rule, and one rule added to it.

The file is JSON: ``{"version": 1, "rules": [RULE, …]}``. What cannot be read is named by its line.
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
"""The rules of a list as spans of the text, with their values."""


class RuleFileError(UserError):
    """A file that is not as it should be, from ``line`` on."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def read_rules(data: bytes, name: str) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules of a file, and one line for each thing in it that cannot be read.

    Args:
        name: of the file, as the user knows it.
    """
    try:
        text = _decode(data)
        items = next(_lists(text, _document(text).get("rules", [])), [])
    except RuleFileError as error:
        return (), (f"{name}:{error.line}: {error}",)
    rules: list[Rule] = []
    problems: list[str] = []
    for start, _, item in items:
        place = f"{name}:{_line(text, start)}"
        try:
            rules.append(parse_rule(item, place))
        except UserError as error:
            problems.append(f"{place}: {error}")
    return tuple(rules), tuple(problems)


def add_rule(data: bytes | None, rule: Rule) -> bytes:
    """Return a file with one more rule at the end of its list; ``None`` is no file yet.

    What there is stays as it was written, unless there are no rules yet: then it is written anew.

    Raises:
        RuleFileError: the data is no file of rules.
    """
    text = _decode(data) if data is not None else ""
    document: dict[str, Any] = _document(text) if data is not None else {"version": VERSION}
    there: list[Any] = document.get("rules", [])
    if not there:
        return _new_file(document, rule).encode()
    wanted = {**document, "rules": [*there, rule_fields(rule)]}
    for items in _lists(text, there):
        after = _inserted(text, items, rule)
        if _document(after) == wanted:
            return after.encode()
    raise RuleFileError(1, 'the list must be written as "rules": [.')


def rule_fields(rule: Rule) -> dict[str, Any]:
    """Return a rule as the values of its JSON object."""
    values = {
        "action": rule.action,
        "tool": rule.tool,
        "path": rule.path,
        "words": list(rule.words) if rule.words is not None else None,
        "server": rule.server,
    }
    return {name: value for name, value in values.items() if value is not None}


def format_rule(rule: Rule) -> str:
    """Return a rule in one line of JSON."""
    pairs = (f"{_dumped(name)}: {_dumped(value)}" for name, value in rule_fields(rule).items())
    return f"{{ {', '.join(pairs)} }}"


def read_rule(text: str) -> Rule:
    """Return the rule that a user wrote as JSON; raises UserError that says what is wrong."""
    return parse_rule(_loaded(text))


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleFileError(line, "it is not UTF-8.") from error


def _document(text: str) -> dict[str, Any]:
    """Return the object that a file is; raises RuleFileError where it is none of this version."""
    document = _loaded(text)
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
        raise RuleFileError(line, f"version must be {VERSION}: another one is not known here.")
    if not isinstance(document.get("rules", []), list):
        raise RuleFileError(_line(text, text.find('"rules"')), "rules must be a list.")
    return document


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        reason = f"{error.msg} (column {error.colno})."
        raise RuleFileError(error.lineno, reason) from error
    except RecursionError as error:
        raise RuleFileError(1, "it is nested too deeply.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, with a name more for each that is there twice."""
    names = [name for name, _ in pairs]
    twice = {f"{name}{_TWICE}": None for name in names if names.count(name) > 1}
    return {**dict(pairs), **twice}


def _lists(text: str, rules: list[Any]) -> Iterator[Items]:
    """Yield the items of each list in a file, which parses, that has these rules and their name."""
    for found in _LIST.finditer(text):
        try:
            items = list(_items(text, found.end()))
        except (json.JSONDecodeError, IndexError):  # it is within a text
            continue
        if [item for _, _, item in items] == rules:
            yield items


def _items(text: str, at: int) -> Iterator[tuple[int, int, Any]]:
    """Yield the items of a list that is opened before ``at``."""
    at = _skip(text, at)
    while text[at] != "]":
        item, end = _DECODER.raw_decode(text, at)
        yield at, end, item
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _inserted(text: str, items: Items, rule: Rule) -> str:
    """Return the text with a rule behind the last one, on a line of its own if that has one."""
    start, end, _ = items[-1]
    before = text[text.rfind("\n", 0, start) + 1 : start]
    line = "\r\n" if "\r\n" in text else "\n"
    lead = " " if before.strip() else f"{line}{before}"
    return f"{text[:end]},{lead}{format_rule(rule)}{text[end:]}"


def _new_file(document: dict[str, Any], rule: Rule) -> str:
    members = [f"{_dumped(k)}: {_dumped(v)}" for k, v in document.items() if k != "rules"]
    members.append(f'"rules": [\n    {format_rule(rule)}\n  ]')
    return "{\n  " + ",\n  ".join(members) + "\n}\n"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, max(at, 0)) + 1


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)
