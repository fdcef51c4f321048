"""The arguments of our own tools: value classes, from which the JSON Schema follows.

A field is ``Annotated[type, "what it means", {keywords of JSON Schema}]``, like a parameter of the
user's own tools. Types are ``str``, ``int``, ``float``, ``bool``, ``Literal``, ``dict``, and lists
and other arguments of these; each may be optional. No library is used: the first request has the
schemas of all tools, and pydantic, which checks those of the user, takes 60 ms until it has made
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.json_schema import problems

TYPES: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@frozen
class ToolArguments:
    """Base of all arguments: no unknown fields, no conversion of types."""

    @classmethod
    def normalize(cls, value: Any) -> Any:
        """Return what the model sent in the form of the schema, where it is clear what it means."""
        return value

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what the schema cannot say: the field and the reason."""
        return iter(())


A = TypeVar("A", bound=ToolArguments)


class ValueArguments(Generic[A]):
    """A class of arguments as ``core.tools.tool.Arguments``."""

    def __init__(self, shape: type[A]) -> None:
        self._shape: Any = shape

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return object_schema(self._shape)

    def parse(self, value: Mapping[str, Any]) -> A:
        """Return the arguments; raises ArgumentError."""
        plain = _normalize(self._shape, value)
        if found := tuple(problems(self.schema(), plain)):
            raise ArgumentError(found)
        arguments: A = _build(self._shape, plain)
        if found := tuple(_own_problems(arguments, "")):
            raise ArgumentError(found)
        return arguments


@cache
def object_schema(shape: type[ToolArguments]) -> dict[str, Any]:
    """Return the JSON Schema of a class of arguments."""
    hints = get_type_hints(shape, include_extras=True)
    required = [item.name for item in fields(shape) if _is_required(item)]
    return {
        "type": "object",
        "properties": {item.name: _field_schema(item, hints[item.name]) for item in fields(shape)},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _is_required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _field_schema(item: Field[Any], hint: Any) -> dict[str, Any]:
    is_annotated = get_origin(hint) is Annotated
    hint, about, *keywords = get_args(hint) if is_annotated else (hint, "")
    schema = {"description": about, **_type_schema(_plain_type(hint))}
    for more in keywords:
        schema |= more
    return schema if item.default in (MISSING, None) else {**schema, "default": item.default}


def _type_schema(hint: Any) -> dict[str, Any]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(parts)}
    if origin is list:
        return {"type": "array", "items": _type_schema(parts[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": True}
    return {"type": TYPES[hint]} if hint in TYPES else object_schema(hint)


def _plain_type(hint: Any) -> Any:
    """Return a type without ``None``, which stands for a value that is left out."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    return next(part for part in get_args(hint) if part is not NoneType)


@cache
def _types(shape: type[ToolArguments]) -> Mapping[str, Any]:
    return get_type_hints(shape)


def _is_arguments(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, ToolArguments)


def _normalize(hint: Any, value: Any) -> Any:
    """Return a value in the form of its schema, without optional fields that are ``None``."""
    if get_origin(hint) is list and isinstance(value, list):
        return [_normalize(get_args(hint)[0], item) for item in value]
    if not _is_arguments(hint):
        return value
    value = hint.normalize(value)
    if not isinstance(value, Mapping):
        return value
    types = _types(hint)
    return {
        name: _normalize(_plain_type(types.get(name)), item)
        for name, item in value.items()
        if item is not None or NoneType not in get_args(types.get(name))
    }


def _build(hint: Any, value: Any) -> Any:
    """Return a value that fits its schema as its type."""
    hint = _plain_type(hint)
    if get_origin(hint) is list:
        return [_build(get_args(hint)[0], item) for item in value]
    if _is_arguments(hint):
        types = _types(hint)
        return hint(**{name: _build(types[name], item) for name, item in value.items()})
    # Some models write whole numbers as ``3.0``.
    return int(value) if hint is int else value


def _own_problems(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _own_problems(item, f"{place}[{number}]")
    elif isinstance(value, ToolArguments):
        prefix = f"{place}." if place else ""
        yield from ((f"{prefix}{name}", reason) for name, reason in value.problems())
        for item in fields(value):
            yield from _own_problems(getattr(value, item.name), f"{prefix}{item.name}")
