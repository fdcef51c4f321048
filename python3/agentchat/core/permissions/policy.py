"""The decision about one call: does it run, ask or fail?

A call comes here after its validation: the tool is one of this chat, the call is complete, its
JSON and schema are right, and it passed the confidence gate. :func:`decide` then takes the first
line of this table that matches:

====  ====================================================================  ======
 1    the mode forbids it: in *plan* only reading runs                      denied
      or its tool was defined anew since the call was made                  denied
 2    a ``deny`` rule matches it, or any part of its command                denied
      or it is about a local host that no rule of the user names exactly    denied
 3    an ``ask`` rule matches it, or any part of its command                asks
 4    this chat remembers *always* for exactly its scope (``grants.py``)    runs
 5    the mode is *stage*, the call works in the overlay, wants no          runs
      network and reads nothing that asks elsewhere
 6    a path is protected, secret, outside or has a second hard link        asks
 7    the user's options of the tool require approval                       asks
 8    the mode allows it: *edit* for edits, *yolo* if not destructive and   runs
      not of a server, or if the options of the tool allow it there
 9    ``allow`` rules match it, and all parts of its command                runs
10    the options of the tool, or else the tool itself, say whether it      either
      asks; by default only reading runs, not from the network
====  ====================================================================  ======

A command whose program only the shell knows (``$x``) asks where a rule of words denies or asks
about commands, unless this chat remembers it: the rule may be about that program.

So ``deny`` rules win over ``ask`` rules and these over ``allow`` rules, in any order. A command
that would ask by line 6 or 10, or that the mode would let run, runs isolated instead, where that is
possible (``isolation.py``): then the question is about what it changed. A ``stage`` rule, and an
``allow`` rule with ``isolated``, say so for commands of their own. A command that opens more
(``network``, ``direct``) asks before it runs. In the mode *plan*, commands run isolated and what
they changed is dropped. Denials come
first because no answer and no mode overrides them. A grant comes before the check of paths because
it may be about that path; it comes after ``ask`` rules, because the user wrote these to be asked
each time. Modes and ``allow`` rules come after the check of paths: they are about work in general,
not about a file that runs code later or contains a secret. Options that require approval
(``tools.opts``) hold in every mode, but the user may answer *always*: they name a tool, not a call.

Two things change the outcome afterwards. While a rule cannot be read, a call that would run asks,
because that rule may be one that denies; only a call without an effect still runs. If nobody is
there to answer, a call that would ask is denied, and the message names the missing rule. An
exception in this module is a question without *always*: in doubt nothing runs.

The turn does the rest: it denies a tool that requires a checkpoint without a handler, and applies
the model's own verdict (``reverse_thinking.py``). It previews a call that asks and requests
approval; *always* becomes a grant of the decision's scope.
An open request is decided again when rules or the mode change.

A :class:`Reason` is a kind and a detail. Code compares kinds; the text is for people, in the
request, the journal and ``:AgentApprovals explain``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Literal, get_args

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.core.permissions.grants import Grants, Scope, scope_of
from agentchat.core.permissions.isolation import Isolation, StageIgnored, Unasked
from agentchat.core.permissions.rules import (
    PartVerdict,
    Rule,
    allowing_rules,
    doubtful_rule,
    judge_parts,
    named_hosts,
    refusing_rule,
    rules_text,
    suggest_rules,
)
from agentchat.core.shell.readers import reads_only
from agentchat.core.tools.call import CallTarget, ValidCall, asks_to_read
from agentchat.core.tools.tool import Tool
from agentchat.core.urls import is_local
from agentchat.core.workspace import FileTarget

Mode = Literal["ask", "edit", "plan", "stage", "yolo"]
StageNetwork = Literal["ask", "allow", "deny"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

EDITING = frozenset({"edit", "write"})
PLANNING = frozenset({"ask", "tool_search", "resolve"})

NOBODY = "Denied: nobody is here to answer."
NO_NETWORK = "Commands have no network in stage mode. Do without, or ask the user to run it."


class Verdict(StrEnum):
    """What happens to a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


ReasonKind = Literal[
    "rule", "mode", "grant", "user", "command", "discard", "effect", "reads", "unasked", "settings",
    "path", "hard_link", "not_understood", "unknown_program", "unreadable_rule", "failure",
    "unattended", "local_host", "own_verdict", "network", "withdrawn", "isolated", "opens_network",
    "direct", "reads_only",
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
    "settings": "setting: {}",
    "path": "{}",
    "hard_link": "{} has a second hard link",
    "not_understood": "the command is not understood: {}",
    "unknown_program": "which program it runs is unknown, and there is a rule: {}",
    "unreadable_rule": "a rule cannot be read ({})",
    "failure": "the gate failed: {}",
    "unattended": "nobody is here to answer: {}",
    "own_verdict": "the model's own verdict is {}",
    "network": "commands have no network in {} mode, and it wants it",
    "withdrawn": "its definition changed",
    "isolated": "isolated, {}",
    "opens_network": "it opens the network, local services included; it runs isolated else",
    "direct": "it runs in the project itself, not isolated",
    "reads_only": "reads only",
    "local_host": "no rule names {}, which is in this computer or its network",
}


@frozen
class Reason:
    """Why a call runs, asks or is denied; as text it is for people."""

    kind: ReasonKind
    detail: str = ""

    def __str__(self) -> str:
        return _TEXTS[self.kind].format(self.detail)


EFFECT = Reason("effect")
"""Why most calls ask; an approval request does not show it."""


@frozen
class Decision:
    """A verdict and its reason; ``message`` is the model's message about a denial."""

    verdict: Verdict
    reason: Reason
    scope: Scope | None = None
    message: str = ""
    parts: tuple[PartVerdict, ...] = ()
    """The rules' verdict about each part of a command."""
    confinement: str = ""
    """How a command would be confined."""
    in_overlay: bool = False
    """Whether the call works in the overlay of the workspace instead of the workspace."""
    isolated: Isolation = ""
    """Whether a command runs isolated, and what becomes of its changes."""

    @property
    def reason_text(self) -> str:
        """The reason as text for people."""
        return str(self.reason)


@dataclass(slots=True)
class Policy:
    """What the user decided in advance.

    ``problems`` name the rules that could not be read: while there are any, every effect asks.
    If the chat is not ``attended``, calls that would ask are denied.
    """

    grants: Grants
    mode: Mode = "ask"
    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()
    attended: bool = True
    rules_file: str = ""
    """The file for rules that a denial names; the settings of Neovim without it."""
    confinement: str = ""
    """How commands are confined; a grant for a sandbox does not cover runs without it."""
    stage_network: StageNetwork = "ask"
    """What happens to a command that wants the network in the overlay."""
    stage_ignored: StageIgnored = "drop"
    """What applying a preview of stage mode does to files that git ignores."""
    has_overlay: bool = False
    """Whether commands can run isolated, as far as that is known."""
    unasked: Unasked = "none"
    """Which commands run without a question."""

    def forbids(self, tool: Tool) -> bool:
        """Whether the mode forbids every call of a tool."""
        runs_isolated = self.isolates and tool.metadata.runs_commands
        return mode_forbids(self.mode, tool) and not runs_isolated

    @property
    def isolates(self) -> bool:
        """Whether commands that nothing else decides run isolated."""
        return self.unasked == "isolated" and self.has_overlay


def decide(call: ValidCall, target: CallTarget, policy: Policy) -> Decision:
    """Return what happens to a call, with the reason and the scope of an *always*.

    An exception becomes a question without *always*.
    """
    try:
        return _decide(call, target, policy)
    except Exception as error:
        reason = Reason("failure", repr(error))
        if policy.attended:
            return Decision(Verdict.ASK, reason)
        return Decision(Verdict.DENY, reason, message=NOBODY)


def _decide(call: ValidCall, target: CallTarget, policy: Policy) -> Decision:
    confinement = policy.confinement if target.command is not None else ""
    in_overlay = works_in_overlay(call, target, policy.mode)
    scope = scope_of(call, target, direct=not in_overlay)
    if scope is not None and (confinement or in_overlay):
        how = "staged" if in_overlay else f"confined {confinement}"
        scope = replace(scope, key=(*scope.key, how))
    decision = _denial(call, target, policy)
    if decision is None:
        decision = _while_unreadable(
            call, target, policy, _first_match(call, target, policy, scope)
        )
    if decision.verdict is not Verdict.DENY and mode_forbids(policy.mode, call.tool):
        decision = replace(decision, isolated="drop")
    if decision.verdict is Verdict.ASK and not policy.attended:
        decision = _while_unattended(call, target, decision, policy.rules_file)
    decision = replace(
        decision,
        scope=scope,
        parts=judge_parts(policy.rules, call, target),
        confinement=confinement,
        in_overlay=in_overlay,
    )
    return as_isolated(call, target, decision) if decision.isolated else decision


def as_isolated(call: ValidCall, target: CallTarget, decision: Decision) -> Decision:
    """Return the decision about an isolated run, with the scope of an *always* about that."""
    scope = _isolated_scope(call, target)
    isolated = decision.isolated or "ask"
    return replace(decision, scope=scope, confinement="", isolated=isolated)


def _isolated_scope(call: ValidCall, target: CallTarget) -> Scope | None:
    scope = scope_of(call, target, direct=False)
    if scope is None:
        return None
    description = f"{scope.description}, isolated"
    return replace(scope, key=(*scope.key, "isolated"), description=description)


def works_in_overlay(call: ValidCall, target: CallTarget, mode: Mode) -> bool:
    """Whether a call works in the overlay: all that can be confined does, in the mode *stage*.

    What is outside the workspace is read-only there, so other calls about it work outside.
    """
    if mode != "stage" or not call.tool.metadata.confined:
        return False
    return target.command is not None or not any(map(_is_outside, (*target.reads, *target.writes)))


def _is_outside(target: FileTarget) -> bool:
    # A secret file has a zone of its own, wherever it is; a path outside is shown in full.
    return target.display_path.startswith("/")


def _denial(call: ValidCall, target: CallTarget, policy: Policy) -> Decision | None:
    name = call.tool.name
    if message := call.tool.is_withdrawn():
        return Decision(Verdict.DENY, Reason("withdrawn"), message=message)
    if _mode_forbids_call(call, target, policy):
        message = f"Not allowed in plan mode: {name}."
        return Decision(Verdict.DENY, Reason("mode", policy.mode), message=message)
    if target.network and policy.mode == "stage" and policy.stage_network == "deny":
        reason = Reason("settings", "stage.network")
        return Decision(Verdict.DENY, reason, message=NO_NETWORK)
    rule = refusing_rule(policy.rules, "deny", call, target)
    if rule is not None:
        message = f"Denied by rule: {rule}"
        return Decision(Verdict.DENY, Reason("rule", rule.label), message=message)
    named = named_hosts(policy.rules, call, target)
    local = next((u.host for u in target.urls if is_local(u.host) and u.host not in named), "")
    if not local:
        return None
    return Decision(
        Verdict.DENY, Reason("local_host", local), message=local_host_message(name, local)
    )


def local_host_message(tool: str, host: str, address: str = "") -> str:
    """Return the message about a host that is not public; ``address`` is what it resolves to."""
    where = f"{host} is {address}, an address" if address else f"{host} is a host"
    rule = f'{{ action = "ask", tool = "{tool}", host = "{host}" }}'
    return (
        f"{where} of this computer or its network, which no rule allows. Nothing was sent. "
        f"To allow it, the user adds {rule} to g:agentchat.rules."
    )


def _first_match(
    call: ValidCall, target: CallTarget, policy: Policy, scope: Scope | None
) -> Decision:
    asking = refusing_rule(policy.rules, "ask", call, target)
    if asking is not None:
        return Decision(Verdict.ASK, Reason("rule", asking.label))
    if policy.grants.covers(scope):
        return Decision(Verdict.ALLOW, Reason("grant"))
    doubtful = doubtful_rule(policy.rules, call, target)
    if doubtful is not None:
        return Decision(Verdict.ASK, Reason("unknown_program", doubtful.label))
    if works_in_overlay(call, target, policy.mode):
        return _decide_in_overlay(call, target, policy)
    if may_isolate(call, target, policy):
        return _decide_command(call, target, policy)
    directly = _decide_directly(call, target, policy)
    return _unless_reading(directly, target, policy) if target.command is not None else directly


def may_isolate(call: ValidCall, target: CallTarget, policy: Policy) -> bool:
    """Whether a call is a command that can run isolated, and that nothing else must prepare."""
    metadata = call.tool.metadata
    is_command = target.command is not None and metadata.runs_commands
    return is_command and policy.has_overlay and not metadata.requires_checkpoint


def _decide_command(call: ValidCall, target: CallTarget, policy: Policy) -> Decision:
    """Return the decision about a command that can run isolated."""
    if policy.grants.covers(_isolated_scope(call, target)) and not target.direct:
        return Decision(Verdict.ALLOW, Reason("grant"), isolated="apply")
    directly = _decide_directly(call, target, policy)
    if directly.isolated or target.settings_ask:
        return directly
    if directly.verdict is Verdict.ALLOW and directly.reason.kind != "mode":
        return directly
    if target.direct:
        return Decision(Verdict.ASK, Reason("direct"))
    if not policy.isolates:
        return _unless_reading(directly, target, policy)
    isolation: Isolation = "apply" if policy.mode == "yolo" else "ask"
    return _isolated_decision(target, policy, Reason("isolated", "without a question"), isolation)


def _unless_reading(decision: Decision, target: CallTarget, policy: Policy) -> Decision:
    """Return a decision, unless it asks about a command that only reads and need not ask then."""
    no_overlay = policy.unasked == "isolated" and not policy.has_overlay
    lets_read = policy.unasked == "readers" or no_overlay
    may_run = decision.verdict is Verdict.ASK and not target.settings_ask
    opens_more = target.direct or target.network
    if lets_read and may_run and not opens_more and reads_only(target.script):
        return Decision(Verdict.ALLOW, Reason("reads_only"))
    return decision


def _isolated_decision(
    target: CallTarget, policy: Policy, reason: Reason, isolation: Isolation
) -> Decision:
    """Return the decision to run a command isolated; what it opens asks first."""
    if not policy.has_overlay:
        return Decision(Verdict.ASK, reason)
    if target.direct:
        return Decision(Verdict.ASK, Reason("direct"))
    if target.network:
        return Decision(Verdict.ASK, Reason("opens_network"), isolated=isolation)
    return Decision(Verdict.ALLOW, reason, isolated=isolation)


def _decide_directly(call: ValidCall, target: CallTarget, policy: Policy) -> Decision:
    """Return the decision about a call that works in the workspace itself."""
    if target.unusual:
        return Decision(Verdict.ASK, _path_reason(target.unusual[0]))
    if target.settings_ask:
        return Decision(Verdict.ASK, _settings_reason(call, "require_approval_before"))
    allowed = target.allowed_in_yolo
    if policy.mode == "yolo" and allowed is not None:
        if allowed:
            return Decision(Verdict.ALLOW, _settings_reason(call, "allowed_in_yolo_mode"))
    elif mode_allows(policy.mode, call.tool.name in EDITING, _asks_in_yolo(call.tool)):
        return Decision(Verdict.ALLOW, Reason("mode", policy.mode))
    allowing = allowing_rules(policy.rules, call, target)
    return _decide_by_rules(allowing, target, policy) if allowing else _tool_default(call, target)


def _decide_by_rules(rules: tuple[Rule, ...], target: CallTarget, policy: Policy) -> Decision:
    """Return the decision of rules that together allow a call, perhaps in the overlay only."""
    reason = Reason("rule", "; ".join(rule.label for rule in rules))
    if any(rule.action == "stage" for rule in rules):
        return _isolated_decision(target, policy, reason, "ask")
    if any(rule.isolated for rule in rules):
        return _isolated_decision(target, policy, reason, "apply")
    return Decision(Verdict.ALLOW, reason)


def _decide_in_overlay(call: ValidCall, target: CallTarget, policy: Policy) -> Decision:
    """Return the decision about a call in the overlay; the review decides about what it writes."""
    unusual = [read for read in target.reads if asks_to_read(read)]
    if unusual:
        return Decision(Verdict.ASK, _path_reason(unusual[0]))
    if target.network and policy.stage_network == "ask":
        return Decision(Verdict.ASK, Reason("network", policy.mode))
    if target.settings_ask:
        return Decision(Verdict.ASK, _settings_reason(call, "require_approval_before"))
    return Decision(Verdict.ALLOW, Reason("mode", policy.mode))


def _tool_default(call: ValidCall, target: CallTarget) -> Decision:
    if target.settings_ask is False:
        return Decision(Verdict.ALLOW, _settings_reason(call, "require_approval_before"))
    only_reads = call.tool.metadata.read_only and not target.urls
    asks = target.asks if target.asks is not None else not only_reads
    if not asks:
        return Decision(Verdict.ALLOW, Reason("reads" if only_reads else "unasked"))
    if target.script is not None and target.script.parse_problem:
        return Decision(Verdict.ASK, Reason("not_understood", target.script.parse_problem))
    return Decision(Verdict.ASK, EFFECT)


def _settings_reason(call: ValidCall, option: str) -> Reason:
    return Reason("settings", f"tools.opts.{call.tool.name}.{option}")


def _path_reason(target: FileTarget) -> Reason:
    """Return why a path asks in every mode."""
    if target.ordinary or target.hard_linked:
        return Reason("hard_link", target.display_path)
    return Reason("path", f"{target.display_path} is {target.zone.value}")


def _while_unreadable(
    call: ValidCall, target: CallTarget, policy: Policy, decision: Decision
) -> Decision:
    """Ask about every effect and host while a rule cannot be read: it may be one that denies."""
    only_reads = call.tool.metadata.read_only and not target.urls
    harmless = only_reads or call.tool.name in PLANNING
    if decision.verdict is not Verdict.ALLOW or harmless or not policy.problems:
        return decision
    reason = Reason("unreadable_rule", policy.problems[0])
    return replace(decision, verdict=Verdict.ASK, reason=reason)


def _while_unattended(
    call: ValidCall, target: CallTarget, decision: Decision, rules_file: str
) -> Decision:
    """Deny a call that would ask, and name the rule that would allow it, if there is one."""
    rules = () if decision.reason.kind == "rule" else suggest_rules(call, target)
    if rules:
        message = f"{NOBODY} {advise_rules(rules, rules_file)}"
    else:
        message = f"{NOBODY} It asks: {_missing_rule(target) or decision.reason_text}."
    return Decision(Verdict.DENY, Reason("unattended", decision.reason_text), message=message)


def advise_rules(rules: Sequence[Mapping[str, Any]], rules_file: str) -> str:
    """Return where the user adds these rules."""
    place = rules_file or "g:agentchat.rules"
    return f"Add a rule to {place}: {rules_text(rules, as_json=bool(rules_file))}"


def _missing_rule(target: CallTarget) -> str:
    parts = target.script.parts if target.script is not None else ()
    return next((f"no rule covers {p.source!r}, {p.doubt}" for p in parts if p.doubt), "")


def parse_mode(text: str) -> Mode:
    """Return the mode of this name; raises UserError that lists them."""
    for mode in MODES:
        if mode == text:
            return mode
    raise UserError(f"Unknown mode {text}; choose one of {', '.join(MODES)}.")


def _mode_forbids_call(call: ValidCall, target: CallTarget, policy: Policy) -> bool:
    """Whether the mode forbids a call: in *plan*, a command may run if its changes are dropped."""
    if not mode_forbids(policy.mode, call.tool):
        return False
    return target.direct or not (policy.isolates and may_isolate(call, target, policy))


def mode_forbids(mode: Mode, tool: Tool) -> bool:
    """Whether no call of this tool may change anything in this mode."""
    return mode == "plan" and not tool.metadata.read_only and tool.name not in PLANNING


def _asks_in_yolo(tool: Tool) -> bool:
    # What the tool of a server does is known from the server only, and a claim is no consent.
    return tool.metadata.destructive or bool(tool.metadata.server)


def mode_allows(mode: Mode, editing: bool, destructive: bool) -> bool:
    """Whether the mode runs a call on ordinary paths without asking."""
    return not destructive and (mode == "yolo" or (mode == "edit" and editing))
