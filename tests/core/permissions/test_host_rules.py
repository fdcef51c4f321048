"""What the policy decides about calls that reach a host of the network."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from agentchat.core.messages import ToolCall
from agentchat.core.permissions.grants import Grants, scope_of
from agentchat.core.permissions.policy import Decision, Mode, Policy, Verdict, decide
from agentchat.core.permissions.proposals import propose_rules
from agentchat.core.permissions.rule_file import format_rule, read_rule
from agentchat.core.permissions.rules import parse_rules
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import Metadata
from agentchat.core.urls import parse_url
from tests.core.turn.world import a_tool

FETCH = dataclasses.replace(a_tool("fetch"), metadata=Metadata(read_only=True), asks=True)


def call() -> ValidCall:
    return ValidCall(ToolCall("1", "fetch", "{}"), FETCH, {}, None)


def target(*urls: str) -> CallTarget:
    return CallTarget("/ws", urls=tuple(map(parse_url, urls)), asks=True)


def policy(*rules: dict[str, object], mode: Mode = "ask") -> Policy:
    parsed, problems = parse_rules(rules)
    assert problems == ()
    return Policy(Grants(), mode=mode, rules=parsed)


def host(action: str, name: str, **more: object) -> dict[str, object]:
    return {"action": action, "tool": "fetch", "host": name, **more}


def judge(policy: Policy, *urls: str) -> Decision:
    return decide(call(), target(*urls), policy)


DOCS = "https://docs.python.org/3/"


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ([], "ask"),
        ([host("allow", "*.python.org")], "allow"),
        ([host("allow", "*.PYTHON.org.")], "allow"),
        ([host("allow", "python.org")], "ask"),
        ([host("allow", "*.python.org"), host("ask", "docs.python.org")], "ask"),
        ([host("allow", "*"), host("deny", "*.python.org")], "deny"),
        ([{"action": "allow", "host": "docs.python.org"}], "allow"),
        ([host("allow", "*", path="src/**")], "ask"),
        ([host("allow", "*", words=["curl"])], "ask"),
        ([{"action": "allow", "tool": "bash", "host": "*"}], "ask"),
    ],
)
def test_rules_decide_by_the_host(rules: Sequence[dict[str, object]], verdict: str) -> None:
    assert judge(policy(*rules), DOCS).verdict == verdict


def test_a_host_rule_is_about_no_call_without_a_host() -> None:
    rules = policy({"action": "deny", "host": "*"}, {"action": "allow", "host": "*"})
    assert decide(call(), CallTarget("/ws", asks=True), rules).verdict is Verdict.ASK


def test_every_host_of_a_call_must_be_allowed_and_any_can_deny_it() -> None:
    allowed = policy(host("allow", "*.python.org"))
    assert judge(allowed, DOCS, "https://pypi.org/").verdict is Verdict.ASK
    denied = policy(host("allow", "*"), host("deny", "pypi.org"))
    assert judge(denied, DOCS, "https://pypi.org/").verdict is Verdict.DENY


@pytest.mark.parametrize(("mode", "verdict"), [("ask", "ask"), ("edit", "ask"), ("plan", "ask")])
def test_no_mode_but_yolo_reaches_a_host_unasked(mode: Mode, verdict: str) -> None:
    assert judge(policy(mode=mode), DOCS).verdict == verdict
    assert judge(policy(mode="yolo"), DOCS).verdict == "allow"


LOCAL = "http://127.0.0.1:8000/"


@pytest.mark.parametrize(
    ("rules", "verdict"),
    [
        ([], "deny"),
        ([{"action": "allow", "tool": "fetch"}], "deny"),
        ([host("allow", "*")], "deny"),
        ([host("allow", "*:8000")], "deny"),
        ([host("allow", "localhost")], "deny"),
        ([host("allow", "127.0.0.1:9000")], "deny"),
        ([{"action": "allow", "tool": "other", "host": "127.0.0.1"}], "deny"),
        ([host("deny", "127.0.0.1")], "deny"),
        ([host("allow", "127.0.0.1")], "allow"),
        ([host("allow", "127.0.0.1:8000")], "allow"),
        ([host("ask", "127.0.0.1")], "ask"),
        ([host("allow", "127.0.0.1"), host("ask", "127.0.0.1")], "ask"),
    ],
)
def test_a_local_host_needs_a_rule_with_exactly_that_host(
    rules: Sequence[dict[str, object]], verdict: str
) -> None:
    assert judge(policy(*rules), LOCAL).verdict == verdict
    assert judge(policy(*rules, mode="yolo"), LOCAL).verdict == verdict


def test_a_rule_of_an_untrusted_project_opens_no_local_host() -> None:
    rules = policy(host("ask", "127.0.0.1"))
    rules.rules = tuple(dataclasses.replace(rule, trusted=False) for rule in rules.rules)
    assert judge(rules, LOCAL).verdict is Verdict.DENY


def test_the_model_hears_which_rule_a_local_host_needs() -> None:
    decision = judge(policy(), "http://[::1]:3000/")
    assert decision.message == (
        "::1 is a host of this computer or its network, which no rule allows. Nothing was sent. "
        'To allow it, the user adds { action = "ask", tool = "fetch", host = "::1" } '
        "to g:agentchat.rules."
    )


def test_always_covers_that_host_and_port_alone() -> None:
    rules = policy()
    scope = scope_of(call(), target(DOCS))
    assert scope is not None
    assert scope.description == "fetch on docs.python.org"
    rules.grants.remember(scope)
    assert judge(rules, "https://docs.python.org/other").verdict is Verdict.ALLOW
    for other in ("https://python.org/", "https://docs.python.org:8443/", "https://pypi.org/"):
        assert judge(rules, other).verdict is Verdict.ASK
    assert judge(rules, DOCS, "https://pypi.org/").verdict is Verdict.ASK


def test_a_request_asks_while_a_rule_cannot_be_read_because_that_may_deny_the_host() -> None:
    unreadable = dataclasses.replace(policy(host("allow", "*")), problems=("rules[2]: no",))
    assert judge(unreadable, DOCS).verdict is Verdict.ASK


def test_a_rule_for_the_host_and_for_its_domain_are_proposed() -> None:
    proposed = propose_rules(call(), target(DOCS))
    assert [rule.host for rule in proposed] == ["docs.python.org", "*.python.org", None]
    assert read_rule(format_rule(proposed[1])) == proposed[1]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("https://python.org", "cannot be matched"),
        (["python.org"], "host must be a string"),
        ("", "host must be a string that is not empty"),
    ],
)
def test_a_wrong_host_is_named(value: object, problem: str) -> None:
    (line,) = parse_rules([{"action": "deny", "host": value}])[1]
    assert line.startswith("g:agentchat.rules[1]: host ")
    assert problem in line
