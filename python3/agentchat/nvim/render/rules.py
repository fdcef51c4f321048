"""Rules as lines: the draft of a rule for its float, and why a call would ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentchat.agent.execution.locate import suppose
from agentchat.agent.permissions.rule_drafts import MatchedCall, RuleDraft
from agentchat.core.permissions.policy import Decision, Policy, decide
from agentchat.core.permissions.proposals import describe_consequence
from agentchat.core.permissions.rule_file import format_rule
from agentchat.core.permissions.rules import ACTIONS, PartVerdict, Rule, matching_rules
from agentchat.core.text import escape_hidden_characters
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.ports import Workspace
from agentchat.core.turn.chat import Chat


async def explain(chat: Chat, workspace: Workspace, text: str) -> list[str]:
    """Return which rule, mode or answer would decide a call like ``bash git status``.

    Raises:
        UserError: no such tool, or nothing that it would get.
    """
    call, place = await suppose(chat, workspace, text)
    if isinstance(place, str):
        return [escape_hidden_characters(text), "", f"error: {place}"]
    told = _told(decide(call, place, chat.policy), place, chat.policy.mode)
    return [escape_hidden_characters(text), "", *told, *_rules(call, place, chat.policy)]


def _told(decision: Decision, place: CallTarget, mode: str) -> list[str]:
    lines = [
        f"verdict   {decision.verdict.value}",
        f"because   {escape_hidden_characters(decision.reason_text)}",
    ]
    lines += [f"mode      {mode}"]
    lines += [
        f"path      {escape_hidden_characters(t.path)} ({t.zone.value})"
        for t in (*place.reads, *place.writes)
    ]
    if place.command is not None:
        lines += [f"in        {escape_hidden_characters(place.cwd)}"]
    if place.host:
        lines += [f"on        {escape_hidden_characters(place.host)}"]
    if decision.scope is not None:
        lines += [f"always    {escape_hidden_characters(decision.scope.description)}"]
    return [*lines, *part_lines(decision)]


def _rules(call: ValidCall, place: CallTarget, policy: Policy) -> list[str]:
    """Return every rule that is about the call, the strongest kind first, and what is unread."""
    found = matching_rules(policy.rules, call, place)
    ordered = sorted(found, key=lambda rule: ACTIONS.index(rule.action))
    lines = [f"  {escape_hidden_characters(rule.label)}" for rule in ordered]
    if len(found) > 1:
        lines[:0] = ["rules about it: deny before ask before allow, then the first of them"]
    elif found:
        lines[:0] = ["rule about it"]
    unread = [f"unread    {escape_hidden_characters(problem)}" for problem in policy.problems]
    return [part for some in (lines, unread) if some for part in ("", *some)]


def part_lines(decision: Decision) -> list[str]:
    """Return a line for each part of a command: its verdict, its text, and why."""
    if not decision.parts:
        return []
    return ["", "parts", *map(_part_line, decision.parts)]


def _part_line(judged: PartVerdict) -> str:
    line = f"  {judged.action:<5}  {part_text(judged)}"
    source = judged.rule.source if judged.rule is not None else ""
    return f"{line}  {escape_hidden_characters(source)}" if source else line


def part_text(judged: PartVerdict) -> str:
    """Return a part of a command in one line, with the reason of its verdict and what it writes."""
    named = 1 if judged.rule is None and not judged.part.obscure else 0
    writes = [f"writes {path}" for path in judged.part.writes[named:]]
    source = " ".join(judged.part.source.split())
    said = [why for why in (judged.reason_text, *writes) if why]
    return escape_hidden_characters(f"{source}  ({'; '.join(said)})" if said else source)


MOST_SHOWN = 8
"""Calls of the past that are listed; the others are counted."""

_OUTCOMES = {
    "allow": "ran",
    "deny": "denied",
    "ask": "asked",
    "accept": "accepted",
    "always": "answered always",
    "reject": "rejected",
    "cancel": "cancelled",
}
_ACTIONS = {"allow": "runs without a question", "ask": "always asks", "deny": "is denied"}


def draft_table(draft: RuleDraft, where: str, policy: Policy) -> dict[str, Any]:
    """Return a draft as ``agentchat.rule.show`` takes it.

    Args:
        where: where the rule would be kept.
    """
    then = describe_consequence(draft.rule, draft.call, draft.place, policy)
    return {
        "id": draft.id,
        "title": f"A rule for {draft.call.tool.name}",
        "text": format_rule(draft.rule),
        "facts": [
            ["rule", escape_hidden_characters(format_rule(draft.rule))],
            ["means", escape_hidden_characters(meaning(draft.rule))],
            ["kept for", escape_hidden_characters(where)],
            ["this call", escape_hidden_characters(then)],
        ],
        "past": [escape_hidden_characters(line) for line in past_lines(draft.past, draft.matched)],
    }


def meaning(rule: Rule) -> str:
    """Return a rule as a sentence."""
    about = f"{rule.tool or 'a tool'}"
    if rule.server:
        about += f" from {rule.server}"
    if rule.path:
        about += f" on {rule.path}"
    if rule.words and rule.action == "allow":
        about += f": what begins with {' '.join(rule.words)}"
    elif rule.words:
        about += f": what has {' '.join(rule.words)} anywhere in it"
    return f"{about} {_ACTIONS[rule.action]}"


def past_lines(past: int, matched: tuple[MatchedCall, ...]) -> list[str]:
    """Return which calls of the past a rule is about, and how they ended."""
    if not past:
        return ["There are no earlier calls in this project to try it on."]
    totals: Counter[str] = Counter()
    for one in matched:
        totals.update(dict(one.outcomes))
    if not totals:
        return [f"It is about none of the last {past} calls in this project."]
    head = f"It is about {sum(totals.values())} of the last {past} calls in this project:"
    lines = [f"{head} {_outcomes(totals.most_common())}"]
    lines += [f"  {one.call}  ({_outcomes(one.outcomes)})" for one in matched[:MOST_SHOWN]]
    if len(matched) > MOST_SHOWN:
        lines.append(f"  and {len(matched) - MOST_SHOWN} other ones")
    return lines


def _outcomes(counted: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{_OUTCOMES.get(name, name)} {count}×" for name, count in counted)
