"""The user's own rules: deny, ask or allow by tool, path, or the first words of a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from agentchat.core.errors import UserError
from agentchat.core.globs import escape_glob, matches_path
from agentchat.core.permissions.sensitive_paths import is_protected, is_secret
from agentchat.core.shell.covers import base_name, why_not_covered, write_kind
from agentchat.core.shell.parse import Part, candidate_words
from agentchat.core.tools.call import CallTarget, ValidCall

Action = Literal["deny", "ask", "allow"]
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
"""The strongest first."""

KEYS = frozenset({"action", "tool", "path", "words", "server"})
SETTING = "g:agentchat.rules"
_JOINTS = frozenset("=:@,")
_LETTERS = 40
"""How many letters of flags are looked behind for a path; behind more of them there may be any."""

_SKIPPED = 20
"""How many option words may stand between two words of a rule that refuses."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. What is ``None`` matches everything; ``path`` is a glob on the shown path.

    ``source`` says where it stands, like ``.agentchat/rules.json:4``.
    """

    action: Action
    tool: str | None = None
    path: str | None = None
    words: tuple[str, ...] | None = None
    server: str | None = None
    source: str = field(default="", compare=False)

    def __str__(self) -> str:
        parts = {"tool": self.tool, "path": self.path, "server": self.server}
        said = [f"{name} {value}" for name, value in parts.items() if value]
        if self.words:
            said.append("words " + " ".join(self.words))
        return " ".join([self.action, *said])

    @property
    def label(self) -> str:
        """The rule, and where it stands."""
        return f"{self} ({self.source})" if self.source else str(self)


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """What the rules say of one part of a command: ``rule`` does, if one is about it.

    ``missing`` says why a rule with its first words does not allow it.
    """

    part: Part
    action: Action
    rule: Rule | None = None
    missing: str = ""

    @property
    def reason_text(self) -> str:
        """The reason, as people read it; empty where no rule is about the part."""
        return f"rule: {self.rule}" if self.rule is not None else self.missing


def parse_rules(given: Any) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules that can be read, and one line for each that cannot."""
    rules: list[Rule] = []
    problems: list[str] = []
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        return (), () if given in ({}, None) else (f"{SETTING}: must be a list of rules.",)
    for number, item in enumerate(given, 1):
        try:
            rules.append(parse_rule(item, f"{SETTING}[{number}]"))
        except UserError as error:
            problems.append(f"{SETTING}[{number}]: {error}")
    return tuple(rules), tuple(problems)


def parse_rule(item: Any, source: str = "") -> Rule:
    """Return one rule; raises UserError that says what is wrong with it."""
    if not isinstance(item, Mapping):
        raise UserError('must be a table like { action = "ask", tool = "bash" }.')
    unknown = sorted(set(item) - KEYS)
    if unknown:
        raise UserError(f"unknown key {unknown[0]}; known are {', '.join(sorted(KEYS))}.")
    action = next((action for action in ACTIONS if action == item.get("action")), None)
    if action is None:
        raise UserError(f"action must be one of {', '.join(ACTIONS)}.")
    words = item.get("words")
    if words is not None and not (
        isinstance(words, (list, tuple)) and words and all(isinstance(w, str) and w for w in words)
    ):
        raise UserError('words must be a list of strings like { "git", "status" }.')
    for name in ("tool", "path", "server"):
        if not isinstance(item.get(name), (str, type(None))) or item.get(name) == "":
            raise UserError(f"{name} must be a string that is not empty.")
    return Rule(
        action=action,
        tool=item.get("tool"),
        path=item.get("path"),
        words=tuple(words) if words is not None else None,
        server=item.get("server"),
        source=source,
    )


def refusing_rule(
    rules: Iterable[Rule], action: Literal["deny", "ask"], call: ValidCall, place: CallTarget
) -> Rule | None:
    """Return the first rule with ``action`` (deny or ask) that could be about the call."""
    about = (r for r in rules if r.action == action and _is_about(r, call, place))
    return next((r for r in about if r.words is None or _mentions(r.words, place)), None)


def allowing_rules(rules: Iterable[Rule], call: ValidCall, place: CallTarget) -> tuple[Rule, ...]:
    """Return the rules that together allow a call; none if a part of its command is left."""
    able = [r for r in rules if r.action == "allow" and _is_about(r, call, place)]
    whole = [r for r in able if r.words is None][:1]
    if place.command is None:
        return tuple(whole)
    if place.script is None or place.script.parse_problem:
        return ()
    if whole:
        return tuple(whole)
    covering = [_covering(able, part)[0] for part in place.script.parts]
    found = [rule for rule in covering if rule is not None]
    return tuple(dict.fromkeys(found)) if len(found) == len(covering) else ()


def matching_rules(rules: Iterable[Rule], call: ValidCall, place: CallTarget) -> tuple[Rule, ...]:
    """Return every rule that is about a call or a part of it, in their order."""
    return tuple(rule for rule in rules if matches(rule, call, place))


def matches(rule: Rule, call: ValidCall, place: CallTarget) -> bool:
    """Whether a rule is about a call: all of it for one that allows by path, else any part."""
    if rule.action != "allow":
        return refusing_rule((rule,), rule.action, call, place) is not None
    if rule.words is None or place.script is None:
        return bool(allowing_rules((rule,), call, place))
    return _is_about(rule, call, place) and any(
        _covering((rule,), part)[0] is not None for part in place.script.parts
    )


def judge_parts(
    rules: Iterable[Rule], call: ValidCall, place: CallTarget
) -> tuple[PartVerdict, ...]:
    """Return what the rules say of each part of a command."""
    if place.script is None:
        return ()
    about = [r for r in rules if _is_about(r, call, place)]
    return tuple(_judge_part(about, part) for part in place.script.parts)


def _judge_part(about: Sequence[Rule], part: Part) -> PartVerdict:
    refusing = [r for r in about if r.action != "allow"]
    for rule in sorted(refusing, key=lambda rule: ACTIONS.index(rule.action)):
        if rule.words is None or _spelled(_likely_words(part), rule.words):
            return PartVerdict(part, rule.action, rule)
    covering, missing = _covering([r for r in about if r.action == "allow"], part)
    return PartVerdict(part, "ask" if covering is None else "allow", covering, missing)


def _covering(able: Sequence[Rule], part: Part) -> tuple[Rule | None, str]:
    """Return the rule that allows a part; or nothing, and what is missing of one."""
    missing = ""
    for rule in able:
        if rule.words is None:
            return rule, ""
        if part.texts[: len(rule.words)] != rule.words:
            continue
        missing = part.doubt or why_not_safe(part, len(rule.words))
        if not missing:
            return rule, ""
    return None, missing or part.doubt


def why_not_safe(part: Part, lead: int) -> str:
    """Return why a rule of the first ``lead`` words of a part does not cover the others."""
    words = part.texts
    return why_not_covered(words, lead, part.has_piped_input) or _asking_path(words, lead)


def _asking_path(words: tuple[str, ...], lead: int) -> str:
    """Return which word names a file that always asks, if one does."""
    name, changes = base_name(words[0]), write_kind(words)
    for word in words[lead:]:
        paths = list(_paths(word))
        if any(is_secret(path.split("/")) for path in paths):
            return f"{name}: {word} may hold secrets"
        if changes and any(_is_guarded(path, changes == "folders") for path in paths):
            return f"{name}: {word} is protected or outside"
    return ""


def _paths(word: str) -> Iterator[str]:
    """Yield what could be a path in a word, alone or behind the letter or name of an option."""
    yield word.rstrip("/") or "/"
    if word.startswith("-") and not word.startswith("--"):
        letters = range(2, min(len(word), _LETTERS))
        yield from (word[at:].rstrip("/") for at in letters)
        if len(word) > _LETTERS:
            yield "/"
    if not _JOINTS.isdisjoint(word) and "://" not in word:
        yield from (part.rstrip("/") for part in re.split("[=:@,]", word)[1:] if part)


def _is_guarded(path: str, whole: bool) -> bool:
    parts = [part for part in path.split("/") if part and part != "."]
    return path.startswith("/") or ".." in parts or is_protected(parts) or (whole and not parts)


def _is_about(rule: Rule, call: ValidCall, place: CallTarget) -> bool:
    """Whether a rule is about this call, words aside."""
    if rule.tool is not None and rule.tool not in (call.tool.name, *call.tool.metadata.aliases):
        return False
    if rule.server is not None and rule.server != call.tool.metadata.server:
        return False
    if rule.path is not None and not _path_matches(rule, place):
        return False
    return rule.words is None or place.command is not None


def _path_matches(rule: Rule, place: CallTarget) -> bool:
    shown = [t.display_path for t in (*place.reads, *place.writes)]
    if rule.action != "allow" and place.script is not None:
        shown += place.script.writes
    pattern = rule.path or ""
    if rule.action == "allow":
        return bool(shown) and all(matches_path(pattern, path) for path in shown)
    return any(path == pattern or matches_path(pattern, path) for path in shown)


def _mentions(words: tuple[str, ...], place: CallTarget) -> bool:
    """Whether the words stand anywhere in a command, with and without its grammar."""
    if place.command is None:
        return False
    parts = place.script.parts if place.script is not None else ()
    return _spelled(candidate_words(place.command), words) or any(
        _spelled(_likely_words(part), words) for part in parts
    )


def _likely_words(part: Part) -> list[str]:
    return [text for word in part.words for text in word.others or (word.text,)]


def _spelled(found: Sequence[str], words: tuple[str, ...]) -> bool:
    """Whether the words follow one another, options and their values aside."""
    if found and _is_glob_of(found[0], words[0]):
        return True
    return any(_goes_on(found, i + 1, words[1:]) for i in _starts(found, words[0]))


def _starts(found: Sequence[str], program: str) -> Iterable[int]:
    return (i for i, f in enumerate(found) if program in (f, f.rpartition("/")[2]))


def _goes_on(found: Sequence[str], at: int, words: tuple[str, ...]) -> bool:
    places = {at}
    for word in words:
        for place in range(at, min(at + _SKIPPED, len(found))):
            if place in places and found[place].startswith("-"):
                places |= {place + 1, place + 2}
        places = {p + 1 for p in places if p < len(found) and found[p] == word}
        at = min(places, default=len(found))
    return bool(places)


def _is_glob_of(found: str, program: str) -> bool:
    name = found.rpartition("/")[2]
    return any(mark in name for mark in "*?[") and matches_path(name, program)


def suggest_rules(call: ValidCall, place: CallTarget) -> str:
    """Return the rules that would allow a call, as they are written; empty if none can."""
    if place.unusual:
        return ""
    if place.command is None:
        paths = sorted({t.display_path for t in (*place.reads, *place.writes)})
        given = [f"path = {_quoted(escape_glob(path))}" for path in paths] or [""]
        return ", ".join(_written(call.tool.name, said) for said in given)
    parts = place.script.parts if place.script is not None else ()
    if not parts or any(part.doubt or why_not_safe(part, len(part.texts)) for part in parts):
        return ""
    each = dict.fromkeys(part.texts for part in parts)
    return ", ".join(
        _written(call.tool.name, f"words = {{ {', '.join(map(_quoted, texts))} }}")
        for texts in each
    )


def _written(tool: str, said: str) -> str:
    fields = ['action = "allow"', f"tool = {_quoted(tool)}", *([said] if said else [])]
    return f"{{ {', '.join(fields)} }}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
