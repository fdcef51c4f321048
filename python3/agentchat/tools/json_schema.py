"""Arguments declared by a JSON Schema that another program wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentchat.core.tools.tool import ArgumentError

NAMED = ("properties", "patternProperties", "$defs", "definitions")
SHAPES = ("items", "additionalProperties", "not", "if", "then", "else")
"""Keywords whose value is a table, or contains tables by name, even an empty one."""

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": (int, float),
    "array": list,
    "object": Mapping,
    "null": type(None),
}


class JsonSchemaArguments:
    """A JSON Schema of an object as ``core.tools.tool.Arguments``.

    Checked are the keywords that most schemas consist of: type, enum, required, properties,
    additionalProperties and items. Others are left to the tool.
    """

    def __init__(self, schema: Any) -> None:
        shape = fill_empty_tables(schema)
        self._schema: dict[str, Any] = {"properties": {}, **shape, "type": "object"}

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return self._schema

    def parse(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments; raises ArgumentError."""
        problems = tuple(_problems(self._schema, value, ""))
        if problems:
            raise ArgumentError(problems)
        return dict(value)


def fill_empty_tables(schema: Any) -> dict[str, Any]:
    """Return a schema from Lua, where an empty table arrives as a list."""
    if not isinstance(schema, Mapping):
        return {}
    filled: dict[str, Any] = {}
    for key, value in schema.items():
        if key in NAMED:
            named = value if isinstance(value, Mapping) else {}
            filled[key] = {name: _shape(inner) for name, inner in named.items()}
        else:
            filled[key] = _shape(value) if key in SHAPES else value
    return filled


def _shape(value: Any) -> Any:
    return value if isinstance(value, bool) else fill_empty_tables(value)


def _problems(schema: Any, value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the reason of each problem."""
    if not isinstance(schema, Mapping):
        return
    where = place or "arguments"
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds or []
    if kinds and not any(_is_kind(value, kind) for kind in kinds):
        yield where, f"Input should be of type {' or '.join(kinds)}"
    elif "enum" in schema and value not in schema["enum"]:
        yield where, f"Input should be one of {', '.join(map(repr, schema['enum']))}"
    elif isinstance(value, Mapping):
        yield from _field_problems(schema, value, place)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _problems(schema.get("items"), item, f"{place}[{number}]")


def _field_problems(
    schema: Mapping[str, Any], value: Mapping[str, Any], place: str
) -> Iterator[tuple[str, str]]:
    prefix = f"{place}." if place else ""
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{prefix}{name}", "Field required"
    for name, item in value.items():
        if name in properties:
            yield from _problems(properties[name], item, f"{prefix}{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{prefix}{name}", "Extra inputs are not permitted"


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float) and not value.is_integer():
        return False
    return isinstance(value, TYPES.get(kind, object))
