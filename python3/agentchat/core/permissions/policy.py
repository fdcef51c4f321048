"""What may run, what is asked and what is refused; and what was answered with *always*.

The order is fixed: the mode, deny rules, unusual paths, ask rules, remembered answers, the
mode's freedoms, allow rules, the tool's own nature. Doubt is a question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from agentchat.core.permissions.grants import Grants, Scope, scope_of
from agentchat.core.permissions.rules import (
    PartVerdict,
    Rule,
    allowing,
    judge_parts,
    refusing,
    suggestion,
)
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.ports import Target
from agentchat.core.tools.tool import Tool

NOBODY = "Denied: nobody is here to answer. The preview stays pending."

USUAL = "it has an effect"
"""Why most calls ask; a question need not say it."""

MODES = ("ask", "edit", "plan", "yolo")
EDITING = frozenset({"edit", "write"})
PLANNING = frozenset({"ask", "tool_search", "resolve"})


class Verdict(str, Enum):
    """What happens to a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reason; ``message`` is what the model is told of a denial."""

    verdict: Verdict
    why: str
    scope: Scope | None = None
    message: str = ""
    parts: tuple[PartVerdict, ...] = ()
    """What the rules say of each part of a command."""
    confined: str = ""
    """How a command would be confined."""


@dataclass(slots=True)
class Policy:
    """What the user decided ahead of a call.

    ``problems`` name the rules that could not be read: while there are any, every effect asks.
    Without anybody ``attended``, what would ask is denied.
    """

    grants: Grants
    mode: str = "ask"
    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()
    attended: bool = True
    confined: str = ""
    """How commands are confined; an answer for a sandbox is none for a run without it."""


def decide(call: Call, place: Place, policy: Policy) -> Decision:
    """Return what happens to a call, with the reason and the scope an *always* would have.

    Whatever goes wrong here is a question, without *always*.
    """
    try:
        return _decided(call, place, policy)
    except Exception as error:
        why = f"the gate failed: {error!r}"
        if policy.attended:
            return Decision(Verdict.ASK, why)
        return Decision(Verdict.DENY, why, message="Denied: nobody is here to answer.")


def _decided(call: Call, place: Place, policy: Policy) -> Decision:
    scope = scope_of(call, place)
    confined = policy.confined if place.command is not None else ""
    if scope is not None and confined:
        scope = replace(scope, key=(*scope.key, f"confined {confined}"))
    decision = _refused(call, place, policy)
    if decision is None:
        decision = _careful(call, policy, _settled(call, place, policy, scope))
    if decision.verdict is Verdict.ASK and not policy.attended:
        decision = _unattended(call, place, decision)
    parts = judge_parts(policy.rules, call, place)
    return replace(decision, scope=scope, parts=parts, confined=confined)


def _refused(call: Call, place: Place, policy: Policy) -> Decision | None:
    name = call.tool.name
    if forbidden(policy.mode, call.tool):
        return Decision(Verdict.DENY, "plan mode", message=f"Not allowed in plan mode: {name}.")
    rule = refusing(policy.rules, "deny", call, place)
    if rule is not None:
        why = f"rule: {rule.located}"
        return Decision(Verdict.DENY, why, message=f"Denied by rule: {rule}")
    return None


def _careful(call: Call, policy: Policy, decision: Decision) -> Decision:
    """Ask about every effect while a rule cannot be read: it might be one that denies."""
    harmless = call.tool.metadata.read_only or call.tool.name in PLANNING
    if decision.verdict is not Verdict.ALLOW or harmless or not policy.problems:
        return decision
    return Decision(Verdict.ASK, f"a rule cannot be read ({policy.problems[0]})")


def _unattended(call: Call, place: Place, decision: Decision) -> Decision:
    rule = "" if decision.why.startswith("rule: ") else suggestion(call, place)
    why = decision.why if place.script is None else _why_not_covered(place, decision.why)
    way_out = f" Add a rule to g:agentchat.rules: {rule}" if rule else f" It asks: {why}."
    message = f"Denied: nobody is here to answer.{way_out}"
    return Decision(Verdict.DENY, f"nobody is here to answer: {decision.why}", message=message)


def _why_not_covered(place: Place, why: str) -> str:
    parts = place.script.parts if place.script is not None else ()
    return next((f"no rule covers {p.source!r}, {p.obscure}" for p in parts if p.obscure), why)


def _settled(call: Call, place: Place, policy: Policy, scope: Scope | None) -> Decision:
    asked = refusing(policy.rules, "ask", call, place)
    if asked is not None:
        return Decision(Verdict.ASK, f"rule: {asked.located}")
    if policy.grants.covers(scope):
        return Decision(Verdict.ALLOW, "remembered answer")
    if place.unusual:
        return Decision(Verdict.ASK, why_unusual(place.unusual[0]))
    if mode_allows(policy.mode, call.tool.name in EDITING, call.tool.metadata.destructive):
        return Decision(Verdict.ALLOW, f"{policy.mode} mode")
    allowed = allowing(policy.rules, call, place)
    if allowed:
        said = "; ".join(rule.located for rule in allowed)
        return Decision(Verdict.ALLOW, f"rule: {said}")
    return _by_nature(call, place)


def _by_nature(call: Call, place: Place) -> Decision:
    asks = place.asks if place.asks is not None else not call.tool.metadata.read_only
    if asks and place.script is not None and place.script.unread:
        return Decision(Verdict.ASK, f"the command is not understood: {place.script.unread}")
    if asks:
        return Decision(Verdict.ASK, USUAL)
    return Decision(Verdict.ALLOW, "it only reads")


def forbidden(mode: str, tool: Tool) -> bool:
    """Whether the mode lets no call of this tool run."""
    return mode == "plan" and not tool.metadata.read_only and tool.name not in PLANNING


def mode_allows(mode: str, editing: bool, destructive: bool) -> bool:
    """Whether the mode runs this without a question, on ordinary paths."""
    return not destructive and (mode == "yolo" or (mode == "edit" and editing))


def why_unusual(target: Target) -> str:
    """Return why a path asks in every mode."""
    if target.ordinary or target.hard_linked:
        return f"{target.shown} has a second hard link"
    return f"{target.shown} is {target.zone.value}"
