"""Arguments declared by a JSON Schema that another program wrote."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
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


LONE_SURROGATES = "Input contains lone surrogates"

NAMES = {"array": "list"}
"""The names of types in messages, where they are not those of the schema."""

BOUNDS: Mapping[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", operator.ge, "Input should be greater than or equal to {}"),
    "maximum": ("number", operator.le, "Input should be less than or equal to {}"),
    "exclusiveMinimum": ("number", operator.gt, "Input should be greater than {}"),
    "minLength": (
        "string",
        lambda text, least: len(text) >= least,
        "Input should have a length of {} or more",
    ),
}
"""By keyword: the type it is for, whether a value keeps to the bound, and the reason if not."""


class JsonSchemaArguments:
    """A JSON Schema of an object as ``core.tools.tool.Arguments``.

    Checked are the keywords that most schemas consist of: type, enum, required, properties,
    additionalProperties, items and bounds. Others are left to the tool.
    """

    def __init__(self, schema: Any) -> None:
        shape = fill_empty_tables(schema)
        self._schema: dict[str, Any] = {"properties": {}, **shape, "type": "object"}

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return self._schema

    def parse(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments; raises ArgumentError."""
        found = tuple(problems(self._schema, value))
        if found:
            raise ArgumentError(found)
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


def problems(schema: Any, value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the place and the reason of each problem of a value."""
    if not isinstance(schema, Mapping):
        return
    where = place or "arguments"
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds or []
    if "enum" in schema and value not in schema["enum"]:
        yield where, f"Input should be one of {', '.join(map(repr, schema['enum']))}"
    elif kinds and not any(_is_kind(value, kind) for kind in kinds):
        names = " or ".join(NAMES.get(kind, kind) for kind in kinds)
        yield where, f"Input should be a valid {names}"
    elif isinstance(value, str) and not is_text(value, "surrogateescape"):
        yield where, LONE_SURROGATES
    elif isinstance(value, Mapping):
        yield from _field_problems(schema, value, place)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from problems(schema.get("items"), item, f"{place}[{number}]")
    else:
        yield from ((where, reason) for reason in _bound_problems(schema, value))


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
            yield from problems(properties[name], item, f"{prefix}{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{prefix}{name}", "Extra inputs are not permitted"


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and not (math.isfinite(value) and kind != "integer"):
        return kind == "integer" and value.is_integer()
    return isinstance(value, TYPES.get(kind, object))


def is_text(value: str, errors: str = "strict") -> bool:
    """Whether a string of JSON, which can contain half a character, can be encoded.

    With ``surrogateescape``, it may contain bytes of a file name that are not UTF-8.
    """
    try:
        value.encode("utf-8", errors)
    except UnicodeEncodeError:
        return False
    return True


def _bound_problems(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    """Yield which bounds a number or a text does not keep to."""
    for keyword, (kind, keeps, reason) in BOUNDS.items():
        bound = schema.get(keyword)
        if _is_kind(value, kind) and _is_kind(bound, "number") and not keeps(value, bound):
            yield reason.format(bound)
