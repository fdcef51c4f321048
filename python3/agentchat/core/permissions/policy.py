"""What may run, what asks and what is refused: the decision about one call.

A call comes here after its checks: the tool is one of this chat, the call is complete, its JSON
and schema are right, and it passed the confidence gate. :func:`decide` then takes the first of
these that says something about it:

====  ===================================================================  ======
 1    the mode forbids it: in *plan* nothing but reading runs              denied
 2    a rule with ``deny`` is about it, or about any part of its command   denied
 3    a rule with ``ask`` is about it, or about any part of its command    asks
 4    this chat remembers *always* for exactly its scope (``grants.py``)   runs
 5    a path is protected, secret, outside or has a second hard link       asks
 6    the mode frees it: *edit* for edits, *yolo* unless it is destructive runs
 7    rules with ``allow`` are about it, and about all parts of a command  runs
 8    the tool itself says whether it asks; else what only reads runs      either
====  ===================================================================  ======

So among rules ``deny`` comes before ``ask`` and ``ask`` before ``allow``, wherever they were
written. Denials stand first because no answer and no mode outweighs them. A remembered answer
stands before the paths because it may be about that very path; it stands behind ``ask``, because
the user wrote that rule to be asked each time. Modes and rules that allow stand behind the paths:
they are about work in general, and never about a file that runs code later or holds a secret.

Two things change the outcome afterwards. While a rule cannot be read, what would run asks, for that
rule may be one that denies; only what cannot have an effect still runs. With nobody there to
answer, what would ask is denied, and the model is told the rule that is missing. An exception in
here is a question without *always*: doubt never runs anything.

What follows is up to the turn: a tool that requires a checkpoint is denied without a handler; what
asks is previewed and put to the user, whose *always* becomes a grant of the decision's scope. The
approval request is judged here again when rules or the mode change while it is open.

A :class:`Reason` says why, as a kind and a detail. Code compares kinds; the text is for people, in
the request, the journal and ``:AgentApprovals explain``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal, get_args

from agentchat.core.errors import UserError
from agentchat.core.permissions.grants import Grants, Scope, scope_of
from agentchat.core.permissions.rules import (
    PartVerdict,
    Rule,
    allowing_rules,
    judge_parts,
    refusing_rule,
    suggestion,
)
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.ports import FileTarget
from agentchat.core.tools.tool import Tool

Mode = Literal["ask", "edit", "plan", "yolo"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

EDITING = frozenset({"edit", "write"})
PLANNING = frozenset({"ask", "tool_search", "resolve"})

NOBODY = "Denied: nobody is here to answer."


class Verdict(StrEnum):
    """What happens to a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


ReasonKind = Literal[
    "rule", "mode", "grant", "user", "command", "discard", "effect", "reads", "unasked", "path",
    "hard_link", "not_understood", "unreadable_rule", "failure", "unattended",
]  # fmt: skip

_TEXTS: Mapping[ReasonKind, str] = {
    "rule": "rule: {}",
    "mode": "{} mode",
    "grant": "remembered answer",
    "user": "user: {}",
    "command": "the user's command is the consent",
    "discard": "discarding changes nothing",
    "effect": "it has an effect",
    "reads": "it only reads",
    "unasked": "its tool does not ask",
    "path": "{}",
    "hard_link": "{} has a second hard link",
    "not_understood": "the command is not understood: {}",
    "unreadable_rule": "a rule cannot be read ({})",
    "failure": "the gate failed: {}",
    "unattended": "nobody is here to answer: {}",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a call runs, asks or is denied; its text is what people read."""

    kind: ReasonKind
    detail: str = ""

    def __str__(self) -> str:
        return _TEXTS[self.kind].format(self.detail)


EFFECT = Reason("effect")
"""Why most calls ask; a question need not say it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and its reason; ``message`` is what the model is told of a denial."""

    verdict: Verdict
    reason: Reason
    scope: Scope | None = None
    message: str = ""
    parts: tuple[PartVerdict, ...] = ()
    """What the rules say of each part of a command."""
    confined: str = ""
    """How a command would be confined."""

    @property
    def why(self) -> str:
        """The reason, as people read it."""
        return str(self.reason)


@dataclass(slots=True)
class Policy:
    """What the user decided ahead of a call.

    ``problems`` name the rules that could not be read: while there are any, every effect asks.
    Without anybody ``attended``, what would ask is denied.
    """

    grants: Grants
    mode: Mode = "ask"
    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()
    attended: bool = True
    confined: str = ""
    """How commands are confined; an answer for a sandbox is none for a run without it."""


def decide(call: ValidCall, place: CallTarget, policy: Policy) -> Decision:
    """Return what happens to a call, with the reason and the scope an *always* would have.

    Whatever goes wrong here is a question, without *always*.
    """
    try:
        return _decide(call, place, policy)
    except Exception as error:
        reason = Reason("failure", repr(error))
        if policy.attended:
            return Decision(Verdict.ASK, reason)
        return Decision(Verdict.DENY, reason, message=NOBODY)


def _decide(call: ValidCall, place: CallTarget, policy: Policy) -> Decision:
    scope = scope_of(call, place)
    confined = policy.confined if place.command is not None else ""
    if scope is not None and confined:
        scope = replace(scope, key=(*scope.key, f"confined {confined}"))
    decision = _denial(call, place, policy)
    if decision is None:
        decision = _while_unreadable(call, policy, _first_answer(call, place, policy, scope))
    if decision.verdict is Verdict.ASK and not policy.attended:
        decision = _while_unattended(call, place, decision)
    parts = judge_parts(policy.rules, call, place)
    return replace(decision, scope=scope, parts=parts, confined=confined)


def _denial(call: ValidCall, place: CallTarget, policy: Policy) -> Decision | None:
    name = call.tool.name
    if forbidden(policy.mode, call.tool):
        message = f"Not allowed in plan mode: {name}."
        return Decision(Verdict.DENY, Reason("mode", policy.mode), message=message)
    rule = refusing_rule(policy.rules, "deny", call, place)
    if rule is None:
        return None
    message = f"Denied by rule: {rule}"
    return Decision(Verdict.DENY, Reason("rule", rule.located), message=message)


def _first_answer(
    call: ValidCall, place: CallTarget, policy: Policy, scope: Scope | None
) -> Decision:
    asked = refusing_rule(policy.rules, "ask", call, place)
    if asked is not None:
        return Decision(Verdict.ASK, Reason("rule", asked.located))
    if policy.grants.covers(scope):
        return Decision(Verdict.ALLOW, Reason("grant"))
    if place.unusual:
        return Decision(Verdict.ASK, _unusual(place.unusual[0]))
    if mode_allows(policy.mode, call.tool.name in EDITING, call.tool.metadata.destructive):
        return Decision(Verdict.ALLOW, Reason("mode", policy.mode))
    allowed = allowing_rules(policy.rules, call, place)
    if allowed:
        return Decision(Verdict.ALLOW, Reason("rule", "; ".join(r.located for r in allowed)))
    return _by_nature(call, place)


def _by_nature(call: ValidCall, place: CallTarget) -> Decision:
    only_reads = call.tool.metadata.read_only
    asks = place.asks if place.asks is not None else not only_reads
    if not asks:
        return Decision(Verdict.ALLOW, Reason("reads" if only_reads else "unasked"))
    if place.script is not None and place.script.unread:
        return Decision(Verdict.ASK, Reason("not_understood", place.script.unread))
    return Decision(Verdict.ASK, EFFECT)


def _unusual(target: FileTarget) -> Reason:
    """Return why a path asks in every mode."""
    if target.ordinary or target.hard_linked:
        return Reason("hard_link", target.shown)
    return Reason("path", f"{target.shown} is {target.zone.value}")


def _while_unreadable(call: ValidCall, policy: Policy, decision: Decision) -> Decision:
    """Ask about every effect while a rule cannot be read: it might be one that denies."""
    harmless = call.tool.metadata.read_only or call.tool.name in PLANNING
    if decision.verdict is not Verdict.ALLOW or harmless or not policy.problems:
        return decision
    return Decision(Verdict.ASK, Reason("unreadable_rule", policy.problems[0]))


def _while_unattended(call: ValidCall, place: CallTarget, decision: Decision) -> Decision:
    """Deny what would ask, and tell the model which rule would allow it, if one can."""
    rule = "" if decision.reason.kind == "rule" else suggestion(call, place)
    if rule:
        message = f"{NOBODY} Add a rule to g:agentchat.rules: {rule}"
    else:
        message = f"{NOBODY} It asks: {_missing_rule(place) or decision.why}."
    return Decision(Verdict.DENY, Reason("unattended", decision.why), message=message)


def _missing_rule(place: CallTarget) -> str:
    parts = place.script.parts if place.script is not None else ()
    return next((f"no rule covers {p.source!r}, {p.unsure}" for p in parts if p.unsure), "")


def parse_mode(text: str) -> Mode:
    """Return the mode of this name; raises UserError that lists them."""
    for mode in MODES:
        if mode == text:
            return mode
    raise UserError(f"Unknown mode {text}; choose one of {', '.join(MODES)}.")


def forbidden(mode: Mode, tool: Tool) -> bool:
    """Whether the mode lets no call of this tool run."""
    return mode == "plan" and not tool.metadata.read_only and tool.name not in PLANNING


def mode_allows(mode: Mode, editing: bool, destructive: bool) -> bool:
    """Whether the mode runs this without a question, on ordinary paths."""
    return not destructive and (mode == "yolo" or (mode == "edit" and editing))
