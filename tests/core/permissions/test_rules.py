"""The user's rules: read exactly, matched widely against a call and narrowly for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from agentchat.core.messages import ToolCall
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy, Verdict, decide
from agentchat.core.permissions.proposals import propose_rules
from agentchat.core.permissions.rules import matches, parse_rules
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.workspace import FileTarget
from agentchat.workspace.shfmt import parse_shell_sync
from tests.core.turn.world import a_tool


def verdict(rules: Sequence[Mapping[str, object]], **place: object) -> Verdict:
    parsed, problems = parse_rules(rules)
    assert problems == ()
    call = ValidCall(ToolCall("1", "t", "{}"), a_tool("t"), {}, None)
    if "command" in place:
        script = parse_shell_sync(str(place["command"]))
        parts = tuple(replace(part, operands=()) for part in script.parts)
        place["script"] = replace(script, parts=parts)
    return decide(call, CallTarget("/ws", **place), Policy(Grants(), rules=parsed)).verdict  # type: ignore[arg-type]


def words(action: str, *said: str) -> dict[str, object]:
    return {"action": action, "words": list(said)}


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("deny", "must be a table"),
        ({"action": "permit"}, "action must be one of"),
        ({"action": "deny", "tol": "x"}, "unknown key tol"),
        ({"action": "deny", "words": "rm"}, "words must be a list"),
        ({"action": "deny", "words": []}, "words must be a list"),
        ({"action": "deny", "path": 3}, "path must be a string"),
    ],
)
def test_a_rule_that_cannot_be_read_is_named_and_the_others_hold(
    rule: object, problem: str
) -> None:
    rules, problems = parse_rules([rule, {"action": "deny"}])
    assert len(rules) == 1
    assert problems[0].startswith("g:agentchat.rules[1]: ")
    assert problem in problems[0]


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git status --short'",
        "git status\ntouch m",
        "git status && touch m",
        "git status > m",
        'git status "$(touch m)"',
        "git log -c core.pager=x",
        "X=1 git status",
        "git  -c a=b status",
    ],
)
def test_allow_by_words_covers_only_the_plainest_command(command: str) -> None:
    got = verdict([words("allow", "git", "status")], command=command)
    assert got is (Verdict.ALLOW if command == "git status" else Verdict.ASK)


@pytest.mark.parametrize(
    "command", ["rm -rf x", "ls; rm x", "/bin/rm x", "echo $(rm x)", "env rm x", "a|rm x"]
)
def test_deny_by_words_finds_the_program_anywhere(command: str) -> None:
    rules = [words("allow", "ls"), words("deny", "rm")]
    assert verdict(rules, command=command) is Verdict.DENY


def test_deny_comes_before_ask_and_ask_before_allow() -> None:
    path = {"writes": (FileTarget("/ws/src/a.py", "src/a.py"),)}
    allow = {"action": "allow", "tool": "t"}
    ask = {"action": "ask", "path": "src/**"}
    deny = {"action": "deny", "path": "**/*.py"}
    assert verdict([allow], **path) is Verdict.ALLOW
    assert verdict([allow, ask], **path) is Verdict.ASK
    assert verdict([allow, ask, deny], **path) is Verdict.DENY


@pytest.mark.parametrize(
    ("glob", "path", "hit"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("src/**", "src/x/y", True),
        ("s?c/a.[py]", "src/a.p", True),
        ("app/[id]/a", "app/[id]/a", True),
        (r"app/\[id\]/a", "app/[id]/a", True),
        (r"app/\[id\]/a", "app/i/a", False),
        ("src/{a,b}.py", "src/b.py", True),
        ("!src/**", "src/a.py", False),
        ("!src/**", "b.py", True),
        ("/etc/**", "/etc/hosts", True),
    ],
)
def test_globs_of_paths(glob: str, path: str, hit: bool) -> None:
    rules = [{"action": "deny", "path": glob}]
    got = verdict(rules, writes=(FileTarget(f"/ws/{path}", path),))
    assert got is (Verdict.DENY if hit else Verdict.ASK)


def test_an_allow_by_path_needs_every_path_to_match() -> None:
    rules = [{"action": "allow", "path": "src/**"}]
    both = (FileTarget("/ws/src/a", "src/a"), FileTarget("/ws/b", "b"))
    assert verdict(rules, writes=both[:1]) is Verdict.ALLOW
    assert verdict(rules, writes=both) is Verdict.ASK


@pytest.mark.parametrize("path", ["app/[id]/page.ts", "a*b", "!x", "{a,b}/c", "b\\?"])
def test_a_rule_that_is_proposed_for_a_path_is_about_that_path_alone(path: str) -> None:
    call = ValidCall(ToolCall("1", "t", "{}"), a_tool("t"), {}, None)
    place = CallTarget(cwd="/ws", writes=(FileTarget(path=f"/ws/{path}", display_path=path),))
    rule = propose_rules(call, place)[0]
    assert matches(rule, call, place)
    for other in ("app/i/page.ts", "axb", "x", "a/c", "b\\x"):
        elsewhere = CallTarget(
            cwd="/ws", writes=(FileTarget(path=f"/ws/{other}", display_path=other),)
        )
        assert not matches(rule, call, elsewhere)
