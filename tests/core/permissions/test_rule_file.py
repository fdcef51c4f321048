"""A file of rules: read by line, refused where it is in doubt, and added to without a rewrite."""

from __future__ import annotations

import json

import pytest

from agentchat.core.errors import UserError
from agentchat.core.permissions.rule_file import (
    add_rule,
    format_rule,
    read_rule,
    read_rules,
)
from agentchat.core.permissions.rules import RULE_FIELDS, Rule

GIT = Rule("allow", "bash", words=("git", "status"))


def problems(text: str | bytes) -> tuple[str, ...]:
    data = text if isinstance(text, bytes) else text.encode()
    return read_rules(data, "rules.json")[1]


def test_each_rule_knows_the_line_it_stands_in() -> None:
    text = '{\n  "version": 1,\n  "rules": [\n    { "action": "deny",\n      "words": ["rm"] },\n\n'
    text += '    { "action": "ask", "path": "**" }\n  ]\n}\n'
    rules, wrong = read_rules(text.encode(), "rules.json")
    assert wrong == ()
    assert rules == (Rule("deny", words=("rm",)), Rule("ask", path="**"))
    assert [rule.label for rule in rules] == [
        "deny words rm (rules.json:4)",
        "ask path ** (rules.json:7)",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "rules.json:1: Expecting value"),
        ("[]", "rules.json:1: it must be an object"),
        ("null", "rules.json:1: it must be an object"),
        ('{"rules": []}', 'rules.json:1: "version": 1 is missing'),
        ('{\n"version": 2, "rules": []}', "rules.json:2: version must be 1"),
        ('{"version": true, "rules": []}', "rules.json:1: version must be 1"),
        ('{"version": 1, "rules": {}}', "rules.json:1: rules must be a list"),
        ('{"version": 1,\n"rules": [\n{"action": "deny"', "rules.json:3: "),
        ('{"version": 1, "rules": [{"action": "deny"}\n', "rules.json:2: Expecting ',' delimiter"),
        ('{"version": 1, "rules": [{"action": "deny"},]}', "rules.json:1: "),
        ('{"version": 1, "rules": [],\n"rules": []}', "rules.json:2: rules is there twice"),
        ('{"version": 1, "rules": []}\n{}', "rules.json:2: Extra data"),
        ('{"version": 1, rules: []}', "rules.json:1: "),
        ('{"version": 1, "rules" []}', "rules.json:1: Expecting ':' delimiter"),
        ('{"version": 1, 7: []}', "rules.json:1: Expecting property name"),
        ('{"version": 1, "rules": [' + "[" * 100_000, "rules.json:1: it is nested too deeply"),
        ('// rules\n{"version": 1}', "rules.json:1: Expecting value"),
        (b'{"version": 1,\n "rules": ["\xff"]}', "rules.json:2: it is not UTF-8"),
        (b'{"version": 1,\n\x00 "rules": []}', "rules.json:2: "),
        ('\ufeff{"version": 1, "rules": []}', "rules.json:1: Unexpected UTF-8 BOM"),
    ],
)
def test_a_file_that_is_none_is_named_by_its_line_and_has_no_rules(
    text: str | bytes, problem: str
) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    rules, wrong = read_rules(data, "rules.json")
    assert rules == ()
    assert len(wrong) == 1
    assert wrong[0].startswith(problem)


def test_one_wrong_rule_is_named_by_its_line_and_the_others_hold() -> None:
    text = '{"version": 1, "note": "mine", "rules": [\n{"action": "deny"},\n{"acton": "allow"},\n'
    text += '{"action": "ask", "action": "allow"},\n7]}'
    rules, wrong = read_rules(text.encode(), "rules.json")
    assert rules == (Rule("deny"),)
    assert [line.split(":")[1] for line in wrong] == ["3", "4", "5"]
    assert "unknown key acton" in wrong[0]
    assert "action (twice)" in wrong[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, '{\n  "version": 1,\n  "rules": [\n    NEW\n  ]\n}\n'),
        ('{"version": 1}', '{\n  "version": 1,\n  "rules": [\n    NEW\n  ]\n}\n'),
        (
            '{"rules":[], "version":1, "x": "é"}',
            '{\n  "version": 1,\n  "x": "é",\n  "rules": [\n    NEW\n  ]\n}\n',
        ),
        (
            '{"version": 1, "x": {"rules": [{}]}, "y": "\\"rules\\": [", "rules": [{}]}',
            '{"version": 1, "x": {"rules": [{}]}, "y": "\\"rules\\": [", "rules": [{}, NEW]}',
        ),
        (
            '{"rules": [{"action":"deny"}], "version": 1, "x": [1, 2]}',
            '{"rules": [{"action":"deny"}, NEW], "version": 1, "x": [1, 2]}',
        ),
        (
            '{\r\n\t"version": 1,\r\n\t"rules": [\r\n\t\t{"tool": 1}\r\n\t]\r\n}',
            '{\r\n\t"version": 1,\r\n\t"rules": [\r\n\t\t{"tool": 1},\r\n\t\tNEW\r\n\t]\r\n}',
        ),
    ],
)
def test_a_rule_is_added_at_the_end_and_all_else_stays_as_it_was(
    before: str | None, after: str
) -> None:
    text = add_rule(before.encode() if before is not None else None, GIT).decode()
    assert text == after.replace("NEW", format_rule(GIT))
    rules, wrong = read_rules(text.encode(), "r")
    assert len(wrong) == len(json.loads(text)["rules"]) - len(rules)
    assert rules[-1] == GIT


def test_nothing_is_added_to_a_file_that_is_none() -> None:
    with pytest.raises(UserError, match="delimiter"):
        add_rule(b'{"version": 1 "rules": []}', GIT)


def test_a_rule_written_as_text_is_read_back() -> None:
    odd = Rule("deny", "t", path='a "quoted"\\ path\n', server="s")
    assert read_rule(format_rule(odd)) == odd
    assert set(odd.fields) == {"action", "tool", "path", "server"}
    for text in ("", "[]", "{} {}", '{"action": "allow"', '{"action": "permit"}'):
        with pytest.raises(UserError):
            read_rule(text)


FULL = Rule(
    "allow", "bash", "src/**", ("git", "status"), "github", "*.org", readonly=True, isolated=True
)


def test_every_field_of_a_rule_is_written_and_read_back() -> None:
    assert set(FULL.fields) == set(RULE_FIELDS), "give FULL the new field, too"
    assert read_rule(format_rule(FULL)) == FULL
    assert read_rules(add_rule(None, FULL), "rules.json")[0] == (FULL,)
    assert str(FULL) == (
        "allow tool bash path src/** words git status server github host *.org readonly isolated"
    )


def test_only_a_rule_that_allows_may_be_isolated() -> None:
    with pytest.raises(UserError, match="isolated is for rules"):
        read_rule('{"action": "ask", "isolated": true}')
    with pytest.raises(UserError, match="isolated must be true or false"):
        read_rule('{"action": "allow", "isolated": "yes"}')
