"""Arguments that a JSON Schema of another program declares."""

from __future__ import annotations

from typing import Any

import pytest

from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.json_schema import JsonSchemaArguments

SCHEMA: dict[str, Any] = {
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "integer"},
        "mode": {"enum": ["fast", "slow"]},
        "tags": {"type": "array", "items": {"type": ["string", "null"]}},
        "place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "any": [],
    },
    "required": ["name"],
    "additionalProperties": False,
}


def problems(given: dict[str, Any]) -> dict[str, str]:
    try:
        JsonSchemaArguments(SCHEMA).parse(given)
    except ArgumentError as error:
        return dict(error.problems)
    return {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"name": "a", "size": 3.0, "mode": "fast", "tags": ["b", None], "any": [1]}, {}),
        ({"name": "a", "place": {"x": 1.5, "y": "more"}}, {}),
        ({}, {"name": "Field required"}),
        ({"name": 3}, {"name": "Input should be a valid string"}),
        ({"name": "a", "size": 1.5}, {"size": "Input should be a valid integer"}),
        ({"name": "a", "size": True}, {"size": "Input should be a valid integer"}),
        ({"name": "a", "mode": "odd"}, {"mode": "Input should be one of 'fast', 'slow'"}),
        ({"name": "a", "tags": [1]}, {"tags[0]": "Input should be a valid string or null"}),
        ({"name": "a", "place": {}}, {"place.x": "Field required"}),
        ({"name": "a", "nmae": "b"}, {"nmae": "Extra inputs are not permitted"}),
    ],
)
def test_arguments_are_checked_and_each_problem_names_its_place(
    given: dict[str, Any], expected: dict[str, str]
) -> None:
    assert problems(given) == expected


@pytest.mark.parametrize("schema", [None, [], {}, {"type": "object", "properties": []}])
def test_an_empty_table_of_lua_is_an_object_without_properties(schema: Any) -> None:
    assert JsonSchemaArguments(schema).schema() == {"type": "object", "properties": {}}
