"""What pydantic says of type hints: as a simple JSON Schema, and as readable problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError


def _integral(value: Any) -> Any:
    """Some models write whole numbers as ``3.0``."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, BeforeValidator(_integral)]


def field_problems(error: ValidationError) -> tuple[tuple[str, str], ...]:
    """Return the problems as pairs of field and reason."""
    return tuple(
        (_field(problem["loc"]), problem["msg"].removeprefix("Value error, "))
        for problem in error.errors(include_url=False, include_input=False)
    )


def _field(location: tuple[int | str, ...]) -> str:
    """Return a place in the arguments like ``edits[0].old_text``."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return path.removeprefix(".") or "arguments"


def simplify_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of pydantic in a simple form; raises RecursionError if it is recursive."""
    definitions = schema.pop("$defs", {})
    for described in (schema, *definitions.values()):
        described.pop("description", None)  # the docstring is for readers of the code
    simple: dict[str, Any] = _plain(schema, definitions)
    return simple


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _plain({**definitions[node["$ref"].rpartition("/")[2]], **rest}, definitions)
    plain = {key: _plain_entry(key, value, definitions) for key, value in node.items()}
    return _without_null(_without_noise(plain))


def _plain_entry(key: str, value: Any, definitions: Mapping[str, Any]) -> Any:
    if key == "properties":
        return {name: _plain(shape, definitions) for name, shape in value.items()}
    return _plain(value, definitions)


def _without_noise(node: dict[str, Any]) -> dict[str, Any]:
    """Drop titles (texts; a property may be named ``title``) and defaults that are ``null``."""
    if isinstance(node.get("title"), str):
        del node["title"]
    if "default" in node and node["default"] is None:
        del node["default"]
    if isinstance(node.get("ge"), int):  # pydantic's form of a bound on a converted number
        node["minimum"] = node.pop("ge")
    return node


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Turn an alternative with ``null`` into the other alternative: the field is optional."""
    others = [shape for shape in node.get("anyOf", ()) if shape != {"type": "null"}]
    if len(others) != 1:
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return {**others[0], **rest}
