"""The user's rules: deny, ask or allow by tool, path, host, or the first words of a command."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, get_args

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.core.globs import GlobError, compile_glob, escape_glob, matches_path
from agentchat.core.shell.covers import why_not_covered
from agentchat.core.shell.parse import UNKNOWN_PROGRAM, Part, Script, candidate_words
from agentchat.core.shell.programs import INTERPRETERS
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.urls import Url, canonical_pattern, matches_host, names_host

Action = Literal["deny", "ask", "stage", "allow"]
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
"""The strongest first."""

SETTING = "g:agentchat.rules"
_EVALUATING = ("eval", ".", "source")
_SKIPPED = 20
"""Most option words between two words of a ``deny`` or ``ask`` rule."""


@frozen
class Rule:
    """One rule. ``None`` matches everything; ``path`` is a glob on the displayed path.

    ``host`` is a canonical pattern of hosts, see ``core/urls.py``. ``source`` is the place of the
    rule, like ``.agentchat/rules.json:4``.
    """

    action: Action
    tool: str | None = None
    path: str | None = None
    words: tuple[str, ...] | None = None
    server: str | None = None
    host: str | None = None
    readonly: bool = False
    """Whether it matches only tools that read, or whose server claims that they only read."""
    isolated: bool = False
    """Whether the commands that it allows run isolated; their changes of ordinary files apply."""
    source: str = dataclasses.field(default="", compare=False)
    trusted: bool = dataclasses.field(default=True, compare=False)
    """Whether the user wrote or trusts it; a rule of an untrusted project only restricts."""

    def __str__(self) -> str:
        conditions = (_condition(name, value) for name, value in self.fields.items())
        return " ".join(conditions)

    @property
    def fields(self) -> dict[str, Any]:
        """What the user writes of it, as the values of a JSON object."""
        values = ((name, getattr(self, name)) for name in RULE_FIELDS)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values
            if value not in (None, False)
        }

    @property
    def permits(self) -> bool:
        """Whether it lets calls run, if only in the overlay."""
        return self.action in ("stage", "allow")

    @property
    def label(self) -> str:
        """The rule and its place."""
        return f"{self} ({self.source})" if self.source else str(self)


RULE_FIELDS = tuple(field.name for field in dataclasses.fields(Rule) if field.compare)
"""What a rule consists of for the user who writes it."""


def _condition(name: str, value: Any) -> str:
    """Return one field of a rule as text for people."""
    if name == "action":
        return str(value)
    if value is True:
        return name
    return f"{name} {' '.join(value) if isinstance(value, list) else value}"


@frozen
class PartVerdict:
    """The rules' verdict about one part of a command; ``rule`` is the one that matches, if any.

    ``missing`` is why a rule with its first words does not allow it.
    """

    part: Part
    action: Action
    rule: Rule | None = None
    missing: str = ""

    @property
    def reason_text(self) -> str:
        """The reason as text for people; empty if no rule matches the part."""
        return f"rule: {self.rule}" if self.rule is not None else self.missing


def parse_rules(setting: Any) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Return the rules that can be read, and one line for each that cannot."""
    rules: list[Rule] = []
    problems: list[str] = []
    if isinstance(setting, (str, Mapping)) or not isinstance(setting, Iterable):
        return (), () if setting in ({}, None) else (f"{SETTING}: must be a list of rules.",)
    for number, item in enumerate(setting, 1):
        try:
            rules.append(parse_rule(item, f"{SETTING}[{number}]"))
        except UserError as error:
            problems.append(f"{SETTING}[{number}]: {error}")
    return tuple(rules), tuple(problems)


def parse_rule(item: Any, source: str = "") -> Rule:
    """Return one rule; raises UserError with the problem."""
    if not isinstance(item, Mapping):
        raise UserError('must be a table like { action = "ask", tool = "bash" }.')
    unknown = sorted(set(item) - set(RULE_FIELDS))
    if unknown:
        near = difflib.get_close_matches(str(unknown[0]), RULE_FIELDS, n=1)
        known = ", ".join(sorted(RULE_FIELDS))
        hint = f"did you mean {near[0]}?" if near else f"known are {known}."
        raise UserError(f"unknown key {unknown[0]}: {hint}")
    action = next((action for action in ACTIONS if action == item.get("action")), None)
    if action is None:
        raise UserError(f"action must be one of {', '.join(ACTIONS)}.")
    words = item.get("words")
    if words is not None and not (
        isinstance(words, (list, tuple)) and words and all(isinstance(w, str) and w for w in words)
    ):
        raise UserError('words must be a list of strings like { "git", "status" }.')
    _check_values(item)
    if item.get("isolated") and action != "allow":
        raise UserError('isolated is for rules with action = "allow".')
    return Rule(
        action=action,
        tool=item.get("tool"),
        path=item.get("path"),
        words=tuple(words) if words is not None else None,
        server=item.get("server"),
        readonly=bool(item.get("readonly")),
        isolated=bool(item.get("isolated")),
        host=canonical_pattern(item["host"]) if item.get("host") is not None else None,
        source=source,
    )


def _check_values(item: Mapping[str, Any]) -> None:
    """Raise UserError if a text, a glob or a flag of a rule is none."""
    for name in ("tool", "path", "server", "host"):
        if not isinstance(item.get(name), (str, type(None))) or item.get(name) == "":
            raise UserError(f"{name} must be a string that is not empty.")
    for name in ("readonly", "isolated"):
        if not isinstance(item.get(name), (bool, type(None))):
            raise UserError(f"{name} must be true or false.")
    if item.get("path") is not None:
        compile_glob(item["path"])


def refusing_rule(
    rules: Iterable[Rule], action: Literal["deny", "ask"], call: ValidCall, target: CallTarget
) -> Rule | None:
    """Return the first rule with ``action`` (deny or ask) that may match the call."""
    candidates = (r for r in rules if r.action == action and _is_about(r, call, target))
    return next((r for r in candidates if r.words is None or _mentions(r.words, target)), None)


def allowing_rules(rules: Iterable[Rule], call: ValidCall, target: CallTarget) -> tuple[Rule, ...]:
    """Return the rules that together allow a call; none if a part of its command remains.

    If a rule with the action ``stage`` is among them, the command runs in the overlay only.
    """
    candidates = [r for r in rules if r.permits and _is_about(r, call, target)]
    whole = [r for r in candidates if r.words is None][:1]
    if target.command is None:
        return tuple(whole)
    if target.script is None or target.script.parse_problem:
        return ()
    if whole:
        return tuple(whole)
    covering = [_covering(candidates, part)[0] for part in target.script.parts]
    if None in covering:
        return ()
    return tuple(dict.fromkeys(rule for rule in covering if rule is not None))


def matching_rules(rules: Iterable[Rule], call: ValidCall, target: CallTarget) -> tuple[Rule, ...]:
    """Return all rules that match a call or a part of it, in order."""
    return tuple(rule for rule in rules if matches(rule, call, target))


def matches(rule: Rule, call: ValidCall, target: CallTarget) -> bool:
    """Whether a rule matches a call or any part of its command."""
    if rule.action in ("deny", "ask"):
        return refusing_rule((rule,), rule.action, call, target) is not None
    if rule.words is None or target.script is None:
        return bool(allowing_rules((rule,), call, target))
    return _is_about(rule, call, target) and any(
        _covering((rule,), part)[0] is not None for part in target.script.parts
    )


def judge_parts(
    rules: Iterable[Rule], call: ValidCall, target: CallTarget
) -> tuple[PartVerdict, ...]:
    """Return the rules' verdict about each part of a command."""
    if target.script is None:
        return ()
    candidates = [r for r in rules if _is_about(r, call, target)]
    return tuple(_judge_part(candidates, part) for part in target.script.parts)


def _judge_part(rules: Sequence[Rule], part: Part) -> PartVerdict:
    refusing = [r for r in rules if not r.permits]
    for rule in sorted(refusing, key=lambda rule: ACTIONS.index(rule.action)):
        if rule.words is None or _contains_words(_likely_words(part), rule.words):
            return PartVerdict(part, rule.action, rule)
    covering, missing = _covering([r for r in rules if r.permits], part)
    return PartVerdict(part, "ask" if covering is None else covering.action, covering, missing)


def _covering(rules: Sequence[Rule], part: Part) -> tuple[Rule | None, str]:
    """Return the rule that allows a part, or ``None`` and why no rule does."""
    missing = ""
    for rule in rules:
        if rule.words is None:
            return rule, ""
        if part.texts[: len(rule.words)] != rule.words:
            continue
        missing = part.doubt or why_not_safe(part, len(rule.words))
        if not missing:
            return rule, ""
    return None, missing or part.doubt


def why_not_safe(part: Part, lead: int) -> str:
    """Return why a rule of the first ``lead`` words does not cover the rest; empty if it does."""
    return why_not_covered(part.texts, lead, part.has_piped_input) or _operand_problem(part, lead)


def _operand_problem(part: Part, lead: int) -> str:
    """Return why what a part names on disk asks; empty if it does not."""
    if part.operands is None:
        return "nobody looked at what it names"
    asking = (o for o in part.operands if o.problem and not (o.named and 0 < o.index < lead))
    return next((operand.problem for operand in asking), "")


def _names_tool(rule: Rule, call: ValidCall) -> bool:
    metadata = call.tool.metadata
    own_name = (f"{metadata.server}__{rule.tool}",) if rule.server is not None else ()
    if rule.tool is not None and not {rule.tool, *own_name} & {call.tool.name, *metadata.aliases}:
        return False
    if rule.readonly and not (metadata.read_only or metadata.claims_read_only):
        return False
    return rule.server is None or rule.server == metadata.server


def _is_about(rule: Rule, call: ValidCall, target: CallTarget) -> bool:
    """Whether a rule matches this call, apart from its words."""
    if not _names_tool(rule, call):
        return False
    if rule.path is not None and not _path_matches(rule, target):
        return False
    if rule.host is not None and not _host_matches(rule, target.urls):
        return False
    return rule.words is None or target.command is not None


def _host_matches(rule: Rule, urls: Sequence[Url]) -> bool:
    pattern = rule.host or ""
    if rule.permits:
        return bool(urls) and all(matches_host(pattern, url) for url in urls)
    return any(matches_host(pattern, url) for url in urls)


def named_hosts(rules: Iterable[Rule], call: ValidCall, target: CallTarget) -> frozenset[str]:
    """Return the hosts of a call that a trusted rule names exactly, to allow them or to ask."""
    about = (rule for rule in rules if rule.trusted and _names_tool(rule, call))
    naming = [rule.host for rule in about if rule.host and rule.action != "deny"]
    return frozenset(u.host for u in target.urls if any(names_host(host, u) for host in naming))


def _path_matches(rule: Rule, target: CallTarget) -> bool:
    paths = [t.display_path for t in (*target.reads, *target.writes)]
    pattern = rule.path or ""
    if rule.permits:
        return bool(paths) and all(matches_path(pattern, path) for path in paths)
    if target.script is not None:
        paths += named_paths(target.script)
    return any(_restricts(pattern, path) for path in paths)


def _restricts(pattern: str, path: str) -> bool:
    """Whether a rule that denies or asks is about a path, or about what is in that folder."""
    if path == pattern or matches_path(pattern, path):
        return True
    return not pattern.startswith("!") and matches_path(pattern, f"{path}/")


def restricting_rule(
    rules: Iterable[Rule], action: Literal["deny", "ask"], tool: str, paths: Iterable[str]
) -> Rule | None:
    """Return the first rule with ``action`` that names one of the displayed paths.

    For what a tool finds while it runs, and for what a preview writes.
    """
    about = [r for r in rules if r.action == action and r.path and r.tool in (None, tool)]
    return next((r for r in about if any(_restricts(r.path or "", path) for path in paths)), None)


def restricts_path(rules: Sequence[Rule], tool: str, path: str) -> bool:
    """Whether a rule denies a path to a tool or asks about it."""
    actions: tuple[Literal["deny", "ask"], ...] = ("deny", "ask")
    return any(restricting_rule(rules, action, tool, (path,)) for action in actions)


def doubtful_rule(rules: Iterable[Rule], call: ValidCall, target: CallTarget) -> Rule | None:
    """Return a rule of words that may deny or ask about a program that only the shell knows."""
    if target.command is None or not _hides_program(target.script):
        return None
    restricting = (r for r in rules if not r.permits and r.words)
    return next((rule for rule in restricting if _is_about(rule, call, target)), None)


def _hides_program(script: Script | None) -> bool:
    """Whether it is unknown which programs a command runs."""
    if script is None or script.parse_problem:
        return True
    return any(_is_hidden(part) for part in script.parts if part.words)


def _is_hidden(part: Part) -> bool:
    runs_words = part.program in _EVALUATING or INTERPRETERS.fullmatch(part.program)
    plain = all(word.plain for word in (part.words if runs_words else part.words[:1]))
    return not plain or part.obscure == UNKNOWN_PROGRAM


def named_paths(script: Script) -> Iterator[str]:
    """Yield the displayed paths of all that a command names, for rules that restrict."""
    yield from script.writes
    for operand in (operand for part in script.parts for operand in part.operands or ()):
        yield operand.path
        yield from operand.below


def _mentions(words: tuple[str, ...], target: CallTarget) -> bool:
    """Whether the words occur in a command, parsed or as plain text."""
    if target.command is None:
        return False
    parts = target.script.parts if target.script is not None else ()
    return _contains_words(candidate_words(target.command), words) or any(
        _contains_words(_likely_words(part), words) for part in parts
    )


def _likely_words(part: Part) -> list[str]:
    return [text for word in part.words for text in word.others or (word.text,)]


def _contains_words(command: Sequence[str], words: tuple[str, ...]) -> bool:
    """Whether the words follow one another, options and their values skipped."""
    if command and _is_glob_of(command[0], words[0]):
        return True
    return any(_continues(command, i + 1, words[1:]) for i in _starts(command, words[0]))


def _starts(command: Sequence[str], program: str) -> Iterable[int]:
    return (i for i, word in enumerate(command) if program in (word, word.rpartition("/")[2]))


def _continues(command: Sequence[str], start: int, words: tuple[str, ...]) -> bool:
    """Whether ``words`` follow from ``start`` on, with options and their values between them."""
    positions = {start}
    for word in words:
        first = min(positions)
        for index in range(first, min(first + _SKIPPED, len(command))):
            if index in positions and command[index].startswith("-"):
                positions |= {index + 1, index + 2}
        positions = {p + 1 for p in positions if p < len(command) and command[p] == word}
        if not positions:
            return False
    return True


def _is_glob_of(word: str, program: str) -> bool:
    name = word.rpartition("/")[2]
    try:
        return any(mark in name for mark in "*?[") and matches_path(name, program)
    except GlobError:
        return True


def suggest_rules(call: ValidCall, target: CallTarget) -> tuple[dict[str, Any], ...]:
    """Return rules, as the user writes them, that would allow a call; none if no rule can."""
    if target.unusual:
        return ()
    rule = {"action": "allow", "tool": call.tool.name}
    if target.command is None:
        paths = sorted({t.display_path for t in (*target.reads, *target.writes)})
        named: list[dict[str, Any]] = [{"path": escape_glob(path)} for path in paths]
        named += [{"host": host} for host in sorted({u.host for u in target.urls})]
        return tuple({**rule, **condition} for condition in named or [{}])
    parts = target.script.parts if target.script is not None else ()
    if not parts or any(part.doubt or why_not_safe(part, len(part.texts)) for part in parts):
        return ()
    commands = dict.fromkeys(part.texts for part in parts)
    return tuple({**rule, "words": list(texts)} for texts in commands)


def rules_text(rules: Iterable[Mapping[str, Any]], *, as_json: bool = False) -> str:
    """Return rules as text for the settings of Neovim, or for a file."""
    if as_json:
        return ", ".join(json.dumps(rule, ensure_ascii=False) for rule in rules)
    return ", ".join(_lua_text(rule) for rule in rules)


def _lua_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_lua_text(item)}' for key, item in value.items())} }}"
    if isinstance(value, list):
        return f"{{ {', '.join(map(_lua_text, value))} }}"
    if value is True:
        return "true"
    return _quote(str(value))


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
