"""Rules that could be written about a call, and what one of them would make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal, get_args

from agentchat.core.globs import escape_glob
from agentchat.core.permissions.grants import hides_characters
from agentchat.core.permissions.policy import EFFECT, Decision, Policy, Verdict, decide
from agentchat.core.permissions.rules import ACTIONS, Rule, why_not_safe
from agentchat.core.shell.parse import LONGEST, Part
from agentchat.core.shell.programs import has_commands
from agentchat.core.text import has_hidden_characters
from agentchat.core.tools.call import CallTarget, ValidCall

RuleHome = Literal["chat", "project", "user"]
"""Where a rule is kept: in this chat alone, in the project's file or in the user's."""

RULE_HOMES: Final[tuple[RuleHome, ...]] = get_args(RuleHome)


def offers_rule(call: ValidCall, place: CallTarget) -> bool:
    """Whether a rule can be written from a question: all of the call is shown, as it is."""
    command = place.command or ""
    return (
        len(command) <= LONGEST
        and not has_hidden_characters(command)
        and not hides_characters(call)
    )


def propose_rules(call: ValidCall, place: CallTarget) -> tuple[Rule, ...]:
    """Return rules that allow calls like this one, the likeliest first; there is always one."""
    tool = call.tool.name
    found = [*_by_words(tool, place), *_by_path(tool, place), Rule(action="allow", tool=tool)]
    if call.tool.metadata.server:
        found.append(Rule(action="allow", server=call.tool.metadata.server))
    return tuple(dict.fromkeys(found))


def describe_consequence(rule: Rule, call: ValidCall, place: CallTarget, policy: Policy) -> str:
    """Return what would become of the call if the rule were in force."""
    with_it = replace(policy, rules=(*policy.rules, rule), attended=True)
    decision = decide(call, place, with_it)
    if decision.verdict is Verdict.ALLOW:
        return "runs without a question"
    if decision.verdict is Verdict.DENY:
        return "is denied"
    return "asks" if rule.action == "ask" else f"still asks: {_why(decision)}"


def next_action(rule: Rule) -> Rule:
    """Return the rule with the next of allow, ask and deny."""
    order = ACTIONS[::-1]
    return replace(rule, action=order[(order.index(rule.action) + 1) % len(order)])


def _why(decision: Decision) -> str:
    """Return why a call asks all the same; of a command, what is missing of its first part."""
    if decision.reason != EFFECT:
        return decision.reason_text
    asking = next((judged for judged in decision.parts if judged.action == "ask"), None)
    if asking is None:
        return decision.reason_text
    return asking.reason_text or f"no rule covers {asking.part.source}"


def _by_words(tool: str, place: CallTarget) -> Iterator[Rule]:
    for part in place.script.parts if place.script is not None else ():
        if part.words:
            for lead in _leads(part):
                yield Rule(action="allow", tool=tool, words=part.texts[:lead])


def _leads(part: Part) -> list[int]:
    """Return how many first words a rule could have: what names the command, then all of them."""
    texts = part.texts
    named = 2 if has_commands(part.program) and len(texts) > 1 else 1
    leads = [named, len(texts)]
    sure = [lead for lead in leads if not part.doubt and not why_not_safe(part, lead)]
    return sure or leads[:1]


def _by_path(tool: str, place: CallTarget) -> Iterator[Rule]:
    if place.command is not None:
        return
    shown = [target.display_path for target in (*place.reads, *place.writes)]
    for path in shown:
        yield Rule(action="allow", tool=tool, path=escape_glob(path))
    for path in shown:
        folder, slash, name = path.rpartition("/")
        if slash:
            yield Rule(action="allow", tool=tool, path=f"{escape_glob(folder)}/**")
        _, dot, ending = name.rpartition(".")
        if dot and ending:
            yield Rule(action="allow", tool=tool, path=f"**/*.{escape_glob(ending)}")
