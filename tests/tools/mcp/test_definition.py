"""Definitions of tools as servers send them, honest or not."""

from __future__ import annotations

from typing import Any

import pytest

from agentchat.tools.mcp.definition import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    ToolDefinition,
    ambiguous_names,
    differences,
    read_definitions,
)

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def read(*tools: dict[str, Any]) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
    return read_definitions("srv", [{"inputSchema": SCHEMA, **tool} for tool in tools])


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("read", "srv__read"),
        ("a.b/c d", "srv__a_b_c_d"),
        ("\x1b[31mred", "srv____31mred"),
        ("a\u202eb", "srv__a_b"),
    ],
)
def test_a_name_has_only_characters_that_model_servers_accept(tool: str, name: str) -> None:
    (definition,), _ = read({"name": tool})
    assert definition.name == name
    assert definition.tool == tool


def test_long_names_stay_different() -> None:
    tools, problems = read({"name": "x" * 10_000 + "1"}, {"name": "x" * 10_000 + "2"})
    assert [len(tool.name) for tool in tools] == [LONGEST_NAME, LONGEST_NAME]
    assert tools[0].name != tools[1].name
    assert problems == ()


def test_of_two_tools_with_one_name_the_second_is_left_out() -> None:
    tools, problems = read({"name": "a", "description": "first"}, {"name": "a"})
    assert [tool.description for tool in tools] == ["first"]
    assert problems == ('a second tool "a" was left out',)


@pytest.mark.parametrize(
    ("definition", "problem"),
    [
        ({"inputSchema": "text"}, "its schema is no object"),
        ({"inputSchema": deep(10_000)}, "its schema is nested too deeply"),
        ({"inputSchema": {"description": "x" * 100_000}}, "its schema is too large"),
        ({"inputSchema": {"properties": []}}, 'its schema has "properties" that are no object'),
        ({"execution": {"taskSupport": "required"}}, "it runs only as a task in the background"),
    ],
)
def test_a_tool_that_cannot_be_used_is_left_out_and_the_others_stay(
    definition: dict[str, Any], problem: str
) -> None:
    tools, problems = read({"name": "bad", **definition}, {"name": "good"})
    assert [tool.tool for tool in tools] == ["good"]
    assert problems == (f'the tool "bad" was left out: {problem}',)


def test_no_order_decides_whose_a_name_is() -> None:
    items = [{"name": "a.b"}, {"name": "a_b"}, {"name": "c"}]
    for ordered in (items, items[::-1]):
        tools, problems = read(*ordered)
        assert [tool.tool for tool in tools] == ["c"]
        assert len(problems) == 2
    one, _ = read_definitions("a_", [{"name": "x"}, {"name": "y"}])
    other, _ = read_definitions("a", [{"name": "_x"}, {"name": "z"}])
    assert ambiguous_names([one, other]) == ambiguous_names([other, one]) == {"a___x"}


def test_a_schema_that_refers_to_itself_is_taken_as_it_is() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    (tool,), problems = read({"name": "a", "inputSchema": schema})
    assert tool.schema == schema
    assert problems == ()


def test_a_description_is_cut_and_its_hidden_characters_are_shown() -> None:
    (tool,), _ = read({"name": "a", "description": "\u202e" + "x" * 10_000})
    assert tool.description.startswith("<U+202E>xxx")
    assert len(tool.description) < LONGEST_DESCRIPTION + 100


@pytest.mark.parametrize(
    ("annotations", "claims", "read_only", "destructive"),
    [
        ({}, "nothing: counts as destructive and open-world", False, True),
        ({"readOnlyHint": True}, "read-only", True, False),
        ({"readOnlyHint": "yes"}, "nothing: counts as destructive and open-world", False, True),
        ({"destructiveHint": False}, "not destructive", False, False),
        (
            {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
            "changes things, destructive, stays in its own domain",
            False,
            True,
        ),
    ],
)
def test_what_is_not_claimed_counts_as_the_worst(
    annotations: dict[str, Any], claims: str, read_only: bool, destructive: bool
) -> None:
    (tool,), _ = read({"name": "a", "annotations": annotations})
    assert tool.claims == claims
    assert (tool.claims_read_only, tool.is_destructive) == (read_only, destructive)


def test_every_part_of_a_definition_counts_for_consent_and_shows_in_the_difference() -> None:
    (old,), _ = read({"name": "a", "description": "one"})
    changed = (
        {"name": "a", "description": "two"},
        {"name": "a", "description": "one", "inputSchema": {"type": "object"}},
        {"name": "a", "description": "one", "annotations": {"readOnlyHint": True}},
    )
    for item in changed:
        (new,), _ = read(item)
        assert new.digest != old.digest
        assert differences(old, new)
    assert differences(old, read(changed[0])[0][0]) == "-description: one\n+description: two"
