"""What all built-in tools have in common."""

from __future__ import annotations

import json

import pytest

from agentchat.core.frozen import frozen
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.system_prompt import system_prompt
from agentchat.core.tools.tool import ArgumentError, Environment, Tool
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.builtin.catalogue import BUILTINS


def test_the_names_and_aliases_are_the_contracts() -> None:
    registry = Registry(BUILTINS)
    aliases = {
        "read_file": "read", "grep_search": "grep", "file_search": "find",
        "insert_edit_into_file": "edit", "create_file": "write", "delete_file": "delete",
        "run_command": "bash",
    }  # fmt: skip
    found = {alias: tool.name for alias in aliases if (tool := registry.get(alias))}
    assert found == aliases


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("bash read", ""),
        ("grep ls", ""),
        ("bash grep", "- Prefer grep over bash for"),
        ("bash grep find ls", "- Prefer grep, find and ls over bash for"),
    ],
)
def test_looking_is_preferred_to_running_where_both_are_active(given: str, said: str) -> None:
    registry = Registry(BUILTINS)
    active = [tool for name in given.split() if (tool := registry.get(name))]
    prompt = system_prompt(active, [], Environment("/ws"))
    assert prompt.count("Prefer ") == (1 if said else 0)
    assert said in prompt


NATURES = {
    "read": "reads", "grep": "reads", "find": "reads", "ls": "reads",
    "edit": "dry run, undoable", "write": "dry run, undoable",
    "delete": "destructive, dry run, undoable", "bash": "destructive",
}  # fmt: skip


@pytest.mark.parametrize("tool", BUILTINS, ids=lambda tool: tool.name)
def test_each_tool_has_the_contracts_nature(tool: Tool) -> None:
    facts = {
        "reads": tool.metadata.read_only and tool.metadata.concurrency_safe,
        "destructive": tool.metadata.destructive,
        "dry run": tool.capability.dry_run and tool.dry_run is not None,
        "undoable": tool.capability.reversible,
    }
    if tool.name in NATURES:
        assert ", ".join(name for name, true in facts.items() if true) == NATURES[tool.name]


@pytest.mark.parametrize("tool", BUILTINS, ids=lambda tool: tool.name)
def test_each_schema_is_simple_and_describes_each_field(tool: Tool) -> None:
    schema = tool.arguments.schema()
    text = json.dumps(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert not any(noise in text for noise in ('"title"', "$ref", "$defs", '"null"', "anyOf"))
    assert '"ge"' not in text
    assert "description" not in schema
    assert all(field["description"] for field in schema["properties"].values())


@pytest.mark.parametrize("tool", BUILTINS, ids=lambda tool: tool.name)
def test_a_call_is_one_line_from_the_first_character_on(tool: Tool) -> None:
    for given in ({}, {"path": None}, {"path": "a\nb"}, {"command": "a\nb"}, {"pattern": 3}):
        line = tool.title(given)
        assert line
        assert "\n" not in line


@frozen
class Example(ToolArguments):
    """Arguments of a test."""

    count: int = 0
    flag: bool = False
    extra: dict[str, object] | None = None


@pytest.mark.parametrize(
    ("given", "count"), [({"count": 3}, 3), ({"count": 3.0}, 3), ({"count": -1.0}, -1)]
)
def test_whole_numbers_may_be_written_as_floats(given: dict[str, object], count: int) -> None:
    assert ValueArguments(Example).parse(given).count == count


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"count": 3.5}, ("count", "Input should be a valid integer")),
        ({"count": "3"}, ("count", "Input should be a valid integer")),
        ({"count": True}, ("count", "Input should be a valid integer")),
        ({"flag": "true"}, ("flag", "Input should be a valid boolean")),
        ({"flag": 1}, ("flag", "Input should be a valid boolean")),
    ],
)
def test_nothing_else_is_converted(given: dict[str, object], problem: tuple[str, str]) -> None:
    with pytest.raises(ArgumentError) as raised:
        ValueArguments(Example).parse(given)
    assert raised.value.problems == (problem,)


def test_only_what_changes_nothing_but_files_starts_without_a_durable_record() -> None:
    only_files = {tool.name for tool in BUILTINS if tool.changes_only_files}
    assert only_files == {"edit", "write", "delete", "ast_edit"}
