"""The order in which a call is decided, and the reason that is written down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentchat.core.messages import ToolCall
from agentchat.core.permissions.grants import Grants, scope_of
from agentchat.core.permissions.policy import (
    Decision,
    Mode,
    Policy,
    StageNetwork,
    Verdict,
    decide,
)
from agentchat.core.permissions.rules import Action, Rule
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import Metadata, Tool
from agentchat.core.workspace import FileTarget, Zone
from agentchat.workspace.shfmt import parse_shell_sync
from tests.core.turn.world import a_tool

ORDINARY = FileTarget(path="/ws/a", display_path="a")
PROTECTED = FileTarget(path="/ws/.git/config", display_path=".git/config", zone=Zone.PROTECTED)


def decided(
    *actions: Action,
    target: FileTarget = ORDINARY,
    mode: Mode = "ask",
    granted: bool = False,
    problems: tuple[str, ...] = (),
) -> Decision:
    """Return the decision about an ``edit`` of one file, with a rule for each action."""
    call = called(a_tool("edit"))
    place = CallTarget(cwd="/ws", writes=(target,))
    rules = tuple(Rule(action=action, tool="edit") for action in actions)
    policy = Policy(Grants(), mode=mode, rules=rules, problems=problems)
    scope = scope_of(call, place)
    if granted and scope is not None:
        policy.grants.remember(scope)
    return decide(call, place, policy)


def called(tool: Tool) -> ValidCall:
    return ValidCall(ToolCall("1", tool.name, "{}"), tool, {}, None)


def test_each_answer_outweighs_those_behind_it() -> None:
    plan = decided("deny", "ask", "allow", granted=True, mode="plan")
    assert (plan.verdict, plan.message) == (Verdict.DENY, "Not allowed in plan mode: edit.")
    order = [
        decided("deny", "ask", "allow", granted=True, mode="yolo"),
        decided("ask", "allow", granted=True, mode="yolo"),
        decided("allow", granted=True, mode="yolo", target=PROTECTED),
        decided("allow", mode="yolo", target=PROTECTED),
        decided("allow", mode="edit"),
        decided("allow"),
        decided(),
    ]
    assert [(str(one.verdict.value), one.reason_text) for one in order] == [
        ("deny", "rule: deny tool edit"),
        ("ask", "rule: ask tool edit"),
        ("allow", "remembered answer"),
        ("ask", ".git/config is protected"),
        ("allow", "edit mode"),
        ("allow", "rule: allow tool edit"),
        ("ask", "it has an effect"),
    ]


OPTION = "setting: tools.opts.bash.{}"


@pytest.mark.parametrize(
    ("settings_ask", "in_yolo", "mode", "more", "expected", "reason"),
    [
        (True, None, "yolo", {}, "ask", "require_approval_before"),
        (True, None, "ask", {"rule": "allow"}, "ask", "require_approval_before"),
        (True, None, "ask", {"granted": True}, "allow", ""),
        (True, None, "plan", {}, "deny", ""),
        (False, None, "ask", {}, "allow", "require_approval_before"),
        (False, None, "plan", {}, "deny", ""),
        (False, None, "ask", {"rule": "ask"}, "ask", ""),
        (False, None, "ask", {"rule": "deny"}, "deny", ""),
        (False, None, "ask", {"target": PROTECTED}, "ask", ""),
        (False, None, "ask", {"problems": ("line 3",)}, "ask", ""),
        (None, True, "yolo", {}, "allow", "allowed_in_yolo_mode"),
        (None, True, "yolo", {"target": PROTECTED}, "ask", ""),
        (None, True, "ask", {}, "ask", ""),
        (None, False, "yolo", {"destructive": False}, "ask", ""),
        (None, None, "yolo", {"destructive": False}, "allow", ""),
        (False, False, "yolo", {}, "allow", "require_approval_before"),
    ],
)
def test_the_options_of_a_tool_decide_below_rules_and_paths(
    settings_ask: bool | None,
    in_yolo: bool | None,
    mode: Mode,
    more: dict[str, Any],
    expected: str,
    reason: str,
) -> None:
    destructive = more.get("destructive", True)
    call = called(a_tool("bash", metadata=Metadata(destructive=destructive)))
    place = CallTarget(
        cwd="/ws",
        writes=(more.get("target", ORDINARY),),
        settings_ask=settings_ask,
        allowed_in_yolo=in_yolo,
    )
    rules = (Rule(action=more["rule"], tool="bash"),) if "rule" in more else ()
    policy = Policy(Grants(), mode=mode, rules=rules, problems=more.get("problems", ()))
    scope = scope_of(call, place)
    if more.get("granted") and scope is not None:
        policy.grants.remember(scope)
    decision = decide(call, place, policy)
    assert decision.verdict.value == expected
    if reason:
        assert decision.reason_text == OPTION.format(reason)


@pytest.mark.parametrize(
    ("mode", "rules", "in_yolo", "expected"),
    [
        ("yolo", (), None, "ask"),
        ("edit", (), None, "ask"),
        ("yolo", (), True, "allow"),
        ("yolo", (Rule(action="allow", server="docs"),), None, "allow"),
        ("yolo", (Rule(action="allow", server="docs", readonly=True),), None, "allow"),
        ("yolo", (Rule(action="allow", server="other"),), None, "ask"),
    ],
)
def test_no_mode_runs_a_tool_of_a_server_whatever_the_server_claims(
    mode: Mode, rules: tuple[Rule, ...], in_yolo: bool | None, expected: str
) -> None:
    claims = Metadata(destructive=False, claims_read_only=True, server="docs")
    call = called(a_tool("docs__look", metadata=claims))
    target = CallTarget(cwd="/ws", allowed_in_yolo=in_yolo)
    assert decide(call, target, Policy(Grants(), mode=mode, rules=rules)).verdict.value == expected


def test_what_would_run_asks_while_a_rule_cannot_be_read() -> None:
    decision = decided("allow", granted=True, mode="yolo", problems=("line 3",))
    assert (decision.verdict, decision.reason.kind) == (Verdict.ASK, "unreadable_rule")


@pytest.mark.parametrize(
    ("read_only", "kind", "why"),
    [(True, "reads", "it only reads"), (False, "unasked", "its tool does not ask")],
)
def test_a_tool_that_has_an_effect_and_does_not_ask_is_not_said_to_only_read(
    read_only: bool, kind: str, why: str
) -> None:
    tool = a_tool("mine", metadata=Metadata(read_only=read_only))
    decision = decide(called(tool), CallTarget(cwd="/ws", asks=False), Policy(Grants()))
    assert decision.verdict is Verdict.ALLOW
    assert (decision.reason.kind, decision.reason_text) == (kind, why)


def test_a_tool_that_reads_and_asks_has_no_scope_for_hidden_characters() -> None:
    tool = a_tool("mine", metadata=Metadata(read_only=True))
    hidden = ValidCall(ToolCall("1", "mine", "{}"), tool, {"path": "a\u202e"}, None)
    assert scope_of(hidden, CallTarget(cwd="/ws", asks=True)) is None
    outside = FileTarget(path="/x\u202e", display_path="/x\u202e", zone=Zone.OUTSIDE)
    once = scope_of(hidden, CallTarget(cwd="/ws", reads=(outside,)))
    assert once is not None
    assert once.key == ("paths", "/x\u202e")


SECRET = FileTarget(path="/ws/.env", display_path=".env", zone=Zone.SECRET)
OUTSIDE = FileTarget(path="/etc/hosts", display_path="/etc/hosts", zone=Zone.OUTSIDE)
LINKED = FileTarget(path="/ws/b", display_path="b", hard_linked=True)


@pytest.mark.parametrize(
    ("target", "verdict", "staged"),
    [
        (CallTarget("/ws", writes=(ORDINARY,)), "allow", True),
        (CallTarget("/ws", writes=(PROTECTED,)), "allow", True),
        (CallTarget("/ws", writes=(LINKED, SECRET)), "allow", True),
        (CallTarget("/ws", reads=(SECRET,)), "ask", True),
        (CallTarget("/ws", reads=(OUTSIDE,)), "ask", False),
        (CallTarget("/ws", writes=(OUTSIDE,)), "ask", False),
        (CallTarget("/ws", command="rm -rf ."), "allow", True),
        (CallTarget("/etc", reads=(OUTSIDE,), command="ls"), "ask", True),
        (CallTarget("/ws", command="npm i", network=True), "ask", True),
    ],
)
def test_in_stage_mode_runs_what_stays_in_the_overlay(
    target: CallTarget, verdict: str, staged: bool
) -> None:
    tool = a_tool("bash", metadata=Metadata(destructive=True, confined=True))
    decision = decide(called(tool), target, Policy(Grants(), "stage"))
    assert (decision.verdict.value, decision.in_overlay) == (verdict, staged)


@pytest.mark.parametrize(
    ("setting", "verdict"), [("ask", "ask"), ("allow", "allow"), ("deny", "deny")]
)
def test_the_setting_decides_about_the_network_of_stage_mode(
    setting: StageNetwork, verdict: str
) -> None:
    tool = a_tool("bash", metadata=Metadata(confined=True))
    policy = Policy(Grants(), "stage", stage_network=setting)
    target = CallTarget("/ws", command="npm i", network=True)
    assert decide(called(tool), target, policy).verdict.value == verdict


BASH = a_tool("bash", metadata=Metadata(destructive=True, confined=True, runs_commands=True))


def isolated(command: str, policy: Policy, **more: Any) -> tuple[str, str]:
    """Return the verdict about a command and what becomes of its changes."""
    target = CallTarget("/ws", command=command, script=parse_shell_sync(command), **more)
    decision = decide(called(BASH), target, policy)
    return decision.verdict.value, decision.isolated


def isolating(mode: Mode = "ask", *rules: Rule, **more: Any) -> Policy:
    settings = {"unasked": "isolated", "has_overlay": True, **more}
    return Policy(Grants(), mode, rules, **settings)


@pytest.mark.parametrize(
    ("policy", "opens", "expected"),
    [
        (isolating("ask"), {}, ("allow", "ask")),
        (isolating("edit"), {}, ("allow", "ask")),
        (isolating("yolo"), {}, ("allow", "apply")),
        (isolating("plan"), {}, ("allow", "drop")),
        (isolating("stage"), {}, ("allow", "")),
        (isolating("ask", attended=False), {}, ("allow", "ask")),
        (isolating("ask", unasked="none"), {}, ("ask", "")),
        (isolating("plan", unasked="none"), {}, ("deny", "")),
        (isolating("ask", has_overlay=False), {}, ("ask", "")),
        (isolating("plan", has_overlay=False), {}, ("deny", "")),
        (isolating("ask"), {"network": True}, ("ask", "ask")),
        (isolating("yolo"), {"network": True}, ("ask", "apply")),
        (isolating("plan"), {"network": True}, ("ask", "drop")),
        (isolating("ask"), {"direct": True}, ("ask", "")),
        (isolating("yolo"), {"direct": True}, ("ask", "")),
        (isolating("plan"), {"direct": True}, ("deny", "")),
        (isolating("ask", attended=False), {"direct": True}, ("deny", "")),
        (isolating("ask", Rule("deny", "bash")), {}, ("deny", "")),
        (isolating("ask", Rule("ask", "bash")), {}, ("ask", "")),
        (isolating("plan", Rule("ask", "bash")), {}, ("ask", "drop")),
        (isolating("plan", Rule("allow", "bash")), {}, ("allow", "drop")),
        (isolating("ask", Rule("allow", "bash")), {}, ("allow", "")),
        (isolating("ask", Rule("allow", "bash")), {"direct": True}, ("allow", "")),
        (isolating("ask", Rule("allow", "bash", isolated=True)), {}, ("allow", "apply")),
        (isolating("ask", Rule("allow", "bash", isolated=True), unasked="none"), {},
         ("allow", "apply")),
        (isolating("ask", Rule("allow", "bash", isolated=True)), {"network": True},
         ("ask", "apply")),
        (isolating("ask", Rule("allow", "bash", isolated=True)), {"direct": True}, ("ask", "")),
        (isolating("ask", Rule("allow", "bash", isolated=True), has_overlay=False), {},
         ("ask", "")),
        (isolating("ask", Rule("stage", "bash")), {}, ("allow", "ask")),
        (isolating("yolo", Rule("stage", "bash")), {}, ("allow", "ask")),
        (isolating("ask", Rule("stage", "bash"), unasked="none"), {}, ("allow", "ask")),
        (isolating("ask", problems=("a rule",)), {}, ("ask", "ask")),
        (isolating("ask"), {"settings_ask": True}, ("ask", "")),
        (isolating("ask"), {"settings_ask": False}, ("allow", "")),
        (isolating("yolo"), {"allowed_in_yolo": True}, ("allow", "")),
    ],
)  # fmt: skip
def test_how_a_command_runs_that_nothing_else_decides(
    policy: Policy, opens: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert isolated("ls", policy, **opens) == expected


def test_an_answer_about_an_isolated_run_holds_for_isolated_runs_only() -> None:
    policy, target = isolating(), CallTarget("/ws", command="ls", script=parse_shell_sync("ls"))
    scope = decide(called(BASH), target, policy).scope
    assert scope is not None
    assert "isolated" in scope.description
    policy.grants.remember(scope)
    again = decide(called(BASH), target, policy)
    assert (again.verdict, again.isolated, again.reason.kind) == (Verdict.ALLOW, "apply", "grant")
    direct = decide(called(BASH), replace(target, direct=True), policy)
    assert (direct.verdict, direct.isolated) == (Verdict.ASK, "")
    network = decide(called(BASH), replace(target, network=True), policy)
    assert network.verdict is Verdict.ASK
    policy.has_overlay = False
    assert decide(called(BASH), target, policy).verdict is Verdict.ASK


def test_in_stage_mode_rules_and_tools_that_are_not_confined_are_as_elsewhere() -> None:
    confined = a_tool("edit", metadata=Metadata(confined=True))
    for action in ("ask", "deny"):
        policy = Policy(Grants(), "stage", (Rule(action=action, tool="edit"),))
        target = CallTarget("/ws", writes=(ORDINARY,))
        assert decide(called(confined), target, policy).verdict.value == action
    own = decide(called(a_tool("deploy")), CallTarget("/ws"), Policy(Grants(), "stage"))
    assert (own.verdict.value, own.in_overlay) == ("ask", False)


def test_an_answer_about_a_staged_command_does_not_hold_for_the_project() -> None:
    call = called(a_tool("bash", metadata=Metadata(destructive=True, confined=True)))
    target = CallTarget("/ws", command="npm i", network=True)
    policy = Policy(Grants(), "stage")
    scope = decide(call, target, policy).scope
    assert scope is not None
    policy.grants.remember(scope)
    assert decide(call, target, policy).verdict is Verdict.ALLOW
    policy.mode = "ask"
    assert decide(call, target, policy).verdict is Verdict.ASK
