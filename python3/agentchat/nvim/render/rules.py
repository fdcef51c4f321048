"""What a rule that is being written looks like, as a table for its float."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentchat.agent.permissions.rule_drafts import MatchedCall, RuleDraft
from agentchat.core.permissions.policy import Policy
from agentchat.core.permissions.proposals import consequence
from agentchat.core.permissions.rule_file import format_rule
from agentchat.core.permissions.rules import Rule
from agentchat.core.text import escape

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
    then = consequence(draft.rule, draft.call, draft.place, policy)
    return {
        "id": draft.id,
        "title": f"A rule for {draft.call.tool.name}",
        "text": format_rule(draft.rule),
        "facts": [
            ["rule", escape(format_rule(draft.rule))],
            ["means", escape(meaning(draft.rule))],
            ["kept for", escape(where)],
            ["this call", escape(then)],
        ],
        "past": [escape(line) for line in past_lines(draft.past, draft.matched)],
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
