"""Propose rules for a call, and predict the effect of a rule on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

from agentchat.core.globs import escape_glob
from agentchat.core.permissions.grants import hides_characters
from agentchat.core.permissions.policy import EFFECT, Decision, Policy, Verdict, decide
from agentchat.core.permissions.rules import Action, Rule, why_not_safe
from agentchat.core.shell.parse import LONGEST, Part
from agentchat.core.shell.programs import has_commands
from agentchat.core.text import has_hidden_characters
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.urls import is_address

RuleHome = Literal["chat", "project", "user"]
"""Where a rule is stored: only in this chat, in the project's file or in the user's file."""

RULE_HOMES: Final[tuple[RuleHome, ...]] = get_args(RuleHome)


PROPOSED_ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny", "stage")
"""In the order in which the user changes from one to the next."""


def offers_rule(call: ValidCall, target: CallTarget) -> bool:
    """Whether a request may offer a rule: only if it shows all of the call, unchanged."""
    command = target.command or ""
    return (
        len(command) <= LONGEST
        and not has_hidden_characters(command)
        and not hides_characters(call)
    )


def asking_parts(call: ValidCall, target: CallTarget, policy: Policy) -> tuple[Part, ...]:
    """Return the parts of a command that a rule could keep from asking."""
    parts = decide(call, target, policy).parts
    return tuple(judged.part for judged in parts if judged.action == "ask")


def propose_rules(
    call: ValidCall, target: CallTarget, parts: Sequence[Part] = ()
) -> tuple[Rule, ...]:
    """Return at least one rule that allows calls like this one, the most likely first.

    Args:
        parts: those of the command that the rules are about; by default all.
    """
    tool = call.tool.name
    if not parts and target.script is not None:
        parts = target.script.parts
    rules = [*_by_words(tool, parts), *_by_host(tool, target), *_by_path(tool, target)]
    rules.append(Rule(action="allow", tool=tool))
    if call.tool.metadata.server:
        rules.append(Rule(action="allow", server=call.tool.metadata.server))
    return tuple(dict.fromkeys(rules))


def describe_consequence(rule: Rule, call: ValidCall, target: CallTarget, policy: Policy) -> str:
    """Return what would happen to the call if the rule existed."""
    with_rule = replace(policy, rules=(*policy.rules, rule), attended=True)
    decision = decide(call, target, with_rule)
    if decision.isolated and decision.verdict is Verdict.ALLOW:
        return _ISOLATED[decision.isolated]
    if decision.verdict is Verdict.ALLOW:
        return "runs without a question"
    if decision.verdict is Verdict.DENY:
        return "is denied"
    return "asks" if rule.action == "ask" else f"still asks: {_reason_to_ask(decision)}"


_ISOLATED: Mapping[str, str] = {
    "ask": "runs isolated; what it changes asks",
    "apply": "runs isolated; changes of ordinary files apply without a question",
    "drop": "runs isolated; what it changes is dropped",
}


def next_action(rule: Rule) -> Rule:
    """Return the rule with the next of allow isolated, allow, ask, deny and stage."""
    if rule.isolated:
        return replace(rule, isolated=False)
    index = PROPOSED_ACTIONS.index(rule.action)
    return replace(rule, action=PROPOSED_ACTIONS[(index + 1) % len(PROPOSED_ACTIONS)])


def _reason_to_ask(decision: Decision) -> str:
    """Return why a call still asks; for a command, why its first asking part does."""
    if decision.reason != EFFECT:
        return decision.reason_text
    asking = next((part for part in decision.parts if part.action == "ask"), None)
    if asking is None:
        return decision.reason_text
    return asking.reason_text or f"no rule covers {asking.part.source}"


def _by_words(tool: str, parts: Sequence[Part]) -> Iterator[Rule]:
    for part in parts:
        if part.words:
            for lead in _leads(part):
                yield Rule(action="allow", tool=tool, words=part.texts[:lead])


def _leads(part: Part) -> list[int]:
    """Return how many first words a rule could have: the name of the command, or all words."""
    texts = part.texts
    name_length = 2 if has_commands(part.program) and len(texts) > 1 else 1
    leads = [name_length, len(texts)]
    safe = [lead for lead in leads if not part.doubt and not why_not_safe(part, lead)]
    return safe or leads[:1]


def _by_host(tool: str, target: CallTarget) -> Iterator[Rule]:
    for url in target.urls:
        yield Rule(action="allow", tool=tool, host=url.host)
        domain = url.host.partition(".")[2]
        if "." in domain and not is_address(url.host):
            yield Rule(action="allow", tool=tool, host=f"*.{domain}")


def _by_path(tool: str, target: CallTarget) -> Iterator[Rule]:
    if target.command is not None:
        return
    paths = [file.display_path for file in (*target.reads, *target.writes)]
    for path in paths:
        yield Rule(action="allow", tool=tool, path=escape_glob(path))
    for path in paths:
        folder, slash, name = path.rpartition("/")
        if slash:
            yield Rule(action="allow", tool=tool, path=f"{escape_glob(folder)}/**")
        _, dot, ending = name.rpartition(".")
        if dot and ending:
            yield Rule(action="allow", tool=tool, path=f"**/*.{escape_glob(ending)}")
