"""The user's own rules: deny, ask or allow by tool, path, or the first words of a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentchat.core.calls import Call, Place
from agentchat.core.errors import UserError

ACTIONS = ("deny", "ask", "allow")
KEYS = frozenset({"action", "tool", "path", "words", "server"})
WORD = r"(?:[A-Za-z0-9_./:@%+,=-]+|'[^'\n]*')"
PLAIN_WORDS = re.compile(f"{WORD}(?: +{WORD})*")
SEPARATORS = re.compile(r"[\s;&|()<>`$\"'\\{}]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. What is ``None`` matches everything; ``path`` is a glob on the shown path."""

    action: str
    tool: str | None = None
    path: str | None = None
    words: tuple[str, ...] | None = None
    server: str | None = None

    def __str__(self) -> str:
        parts = {"tool": self.tool, "path": self.path, "server": self.server}
        said = [f"{name} {value}" for name, value in parts.items() if value]
        if self.words:
            said.append("words " + " ".join(self.words))
        return " ".join([self.action, *said])


def parse_rules(given: Iterable[Any]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules that can be read, and one line for each that cannot."""
    rules: list[Rule] = []
    problems: list[str] = []
    for number, item in enumerate(given, 1):
        try:
            rules.append(parse_rule(item))
        except UserError as error:
            problems.append(f"g:agentchat.rules[{number}]: {error}")
    return tuple(rules), tuple(problems)


def parse_rule(item: Any) -> Rule:
    """Return one rule; raises UserError that says what is wrong with it."""
    if not isinstance(item, Mapping):
        raise UserError('must be a table like { action = "ask", tool = "bash" }.')
    unknown = sorted(set(item) - KEYS)
    if unknown:
        raise UserError(f"unknown key {unknown[0]}; known are {', '.join(sorted(KEYS))}.")
    if item.get("action") not in ACTIONS:
        raise UserError(f"action must be one of {', '.join(ACTIONS)}.")
    words = item.get("words")
    if words is not None and not (
        isinstance(words, (list, tuple)) and words and all(isinstance(w, str) for w in words)
    ):
        raise UserError('words must be a list of strings like { "git", "status" }.')
    for name in ("tool", "path", "server"):
        if not isinstance(item.get(name), (str, type(None))):
            raise UserError(f"{name} must be a string.")
    return Rule(
        action=item["action"],
        tool=item.get("tool"),
        path=item.get("path"),
        words=tuple(words) if words is not None else None,
        server=item.get("server"),
    )


def matching(rules: Iterable[Rule], action: str, call: Call, place: Place) -> Rule | None:
    """Return the first rule with ``action`` that matches the call."""
    return next((r for r in rules if r.action == action and matches(r, call, place)), None)


def matches(rule: Rule, call: Call, place: Place) -> bool:
    """Whether a rule is about this call: one that allows is read narrowly, the others widely."""
    if rule.tool is not None and rule.tool not in (call.tool.name, *call.tool.metadata.aliases):
        return False
    if rule.server is not None:
        return False
    if rule.path is not None and not _path_matches(rule, place):
        return False
    return rule.words is None or _words_match(rule, place.command)


def _path_matches(rule: Rule, place: Place) -> bool:
    shown = [t.shown for t in (*place.reads, *place.writes)]
    hits = [bool(glob(rule.path or "").fullmatch(path)) for path in shown]
    return bool(hits) and (all(hits) if rule.action == "allow" else any(hits))


def _words_match(rule: Rule, command: str | None) -> bool:
    words = list(rule.words or ())
    if command is None:
        return False
    if rule.action == "allow":
        # Only the plainest commands: flags can make a program run or write something else.
        plain = PLAIN_WORDS.fullmatch(command.strip(" "))
        given = [word.strip("'") for word in command.split()] if plain else []
        rest = given[len(words) :]
        return given[: len(words)] == words and not any(w.startswith(("-", "+")) for w in rest)
    found = [word for word in SEPARATORS.split(command) if word]
    starts = range(len(found) - len(words) + 1)
    return any(_same_program(found[i : i + len(words)], words) for i in starts)


def _same_program(found: list[str], words: list[str]) -> bool:
    return [found[0].rpartition("/")[2], *found[1:]] == words or found == words


@lru_cache(maxsize=256)
def glob(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a path glob: ``**`` crosses directories, ``*`` does not."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(p, re.escape(p)) for p in parts), re.DOTALL)
