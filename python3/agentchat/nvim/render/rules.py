"""Renders the draft of a rule, and the explanation of a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentchat.agent.execution.locate import locate_named_call
from agentchat.agent.permissions.rule_drafts import MatchedCall, RuleDraft
from agentchat.core.errors import ToolError
from agentchat.core.permissions.policy import Decision, Policy, decide
from agentchat.core.permissions.proposals import describe_consequence
from agentchat.core.permissions.rule_file import format_rule
from agentchat.core.permissions.rules import ACTIONS, PartVerdict, Rule, matching_rules
from agentchat.core.shell.dangers import find_dangers
from agentchat.core.text import escape_line
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.turn.chat import Chat
from agentchat.core.workspace import Workspace


async def explain(chat: Chat, workspace: Workspace, text: str) -> list[str]:
    """Return which rule, mode or answer would decide a call like ``bash git status``.

    Raises:
        UserError: no such tool.
    """
    try:
        call, target = await locate_named_call(chat, workspace, text)
    except ToolError as error:
        return [escape_line(text), "", f"error: {error}"]
    decision = decide(call, target, chat.policy)
    lines = _decision_lines(decision, target, chat.policy.mode)
    return [escape_line(text), "", *lines, *_rule_lines(call, target, chat.policy)]


def _decision_lines(decision: Decision, target: CallTarget, mode: str) -> list[str]:
    files = (*target.reads, *target.writes)
    lines = [
        f"verdict   {decision.verdict.value}",
        f"because   {escape_line(decision.reason_text)}",
    ]
    lines += [f"mode      {mode}"]
    lines += [f"path      {escape_line(file.path)} ({file.zone.value})" for file in files]
    lines += [f"url       {escape_line(str(url))}" for url in target.urls]
    if target.command is not None:
        lines += [f"in        {escape_line(target.cwd)}"]
    if target.script is not None:
        lines += [f"danger    {escape_line(str(danger))}" for danger in find_dangers(target.script)]
    if target.host and not target.urls:
        lines += [f"on        {escape_line(target.host)}"]
    if decision.scope is not None:
        lines += [f"always    {escape_line(decision.scope.description)}"]
    return [*lines, *part_lines(decision)]


def _rule_lines(call: ValidCall, target: CallTarget, policy: Policy) -> list[str]:
    """Return every rule that matches the call, the strongest kind first, and unreadable rules."""
    rules = matching_rules(policy.rules, call, target)
    ordered = sorted(rules, key=lambda rule: ACTIONS.index(rule.action))
    lines = [f"  {escape_line(rule.label)}" for rule in ordered]
    if len(rules) > 1:
        lines[:0] = ["rules about it: deny before ask before allow, then the first of them"]
    elif rules:
        lines[:0] = ["rule about it"]
    unread = [f"unread    {escape_line(problem)}" for problem in policy.problems]
    return [line for block in (lines, unread) if block for line in ("", *block)]


def part_lines(decision: Decision) -> list[str]:
    """Return a line for each part of a command: its verdict, its text, and why."""
    if not decision.parts:
        return []
    return ["", "parts", *map(_part_line, decision.parts)]


def _part_line(judged: PartVerdict) -> str:
    line = f"  {judged.action:<5}  {part_text(judged)}"
    source = judged.rule.source if judged.rule is not None else ""
    return f"{line}  {escape_line(source)}" if source else line


def part_text(judged: PartVerdict) -> str:
    """Return a part of a command in one line, with the reason of its verdict and its writes."""
    part = judged.part
    # Without a rule, the reason of the verdict names the first file that is written.
    first = 1 if judged.rule is None and not part.obscure else 0
    source = " ".join(part.source.split())
    remarks = [judged.reason_text] if judged.reason_text else []
    remarks += [f"writes {path}" for path in part.writes[first:]]
    return escape_line(f"{source}  ({'; '.join(remarks)})" if remarks else source)


MOST_SHOWN = 8
"""Past calls that are listed; the others are counted."""

_OUTCOMES = {
    "allow": "ran",
    "deny": "denied",
    "ask": "asked",
    "accept": "accepted",
    "always": "answered always",
    "reject": "rejected",
    "cancel": "cancelled",
}
_ACTIONS = {
    "allow": "runs without a question",
    "ask": "always asks",
    "deny": "is denied",
    "stage": "runs on an overlay before the question",
}


def draft_table(draft: RuleDraft, where: str, policy: Policy) -> dict[str, Any]:
    """Return a draft for Lua's ``rules.show``.

    Args:
        where: where the rule is kept, for the user.
    """
    effect = describe_consequence(draft.rule, draft.call, draft.target, policy)
    return {
        "id": draft.id,
        "title": f"A rule for {draft.call.tool.name}",
        "text": format_rule(draft.rule),
        "facts": [
            ["rule", escape_line(format_rule(draft.rule))],
            ["means", escape_line(meaning(draft.rule))],
            ["kept for", escape_line(where)],
            ["this call", escape_line(effect)],
        ],
        "past": [escape_line(line) for line in past_lines(draft.past, draft.matched)],
    }


def meaning(rule: Rule) -> str:
    """Return a rule as a sentence."""
    subject = rule.tool or "a tool"
    if rule.server:
        subject += f" from {rule.server}"
    if rule.path:
        subject += f" on {rule.path}"
    if rule.host:
        subject += f" on the host {rule.host}"
    if rule.words and rule.action == "allow":
        subject += f": what begins with {' '.join(rule.words)}"
    elif rule.words:
        subject += f": what has {' '.join(rule.words)} anywhere in it"
    return f"{subject} {_ACTIONS[rule.action]}"


def past_lines(past: int, matched: tuple[MatchedCall, ...]) -> list[str]:
    """Return the past calls that a rule matches, and how they ended."""
    if not past:
        return ["There are no earlier calls in this project to try it on."]
    totals: Counter[str] = Counter()
    for call in matched:
        totals.update(dict(call.outcomes))
    if not totals:
        return [f"It is about none of the last {past} calls in this project."]
    head = f"It is about {sum(totals.values())} of the last {past} calls in this project:"
    lines = [f"{head} {_outcomes(totals.most_common())}"]
    lines += [f"  {call.call}  ({_outcomes(call.outcomes)})" for call in matched[:MOST_SHOWN]]
    if len(matched) > MOST_SHOWN:
        lines.append(f"  and {len(matched) - MOST_SHOWN} more")
    return lines


def _outcomes(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{_OUTCOMES.get(name, name)} {count}×" for name, count in counts)
