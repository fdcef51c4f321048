"""The parameters of a user's function: its schema, the check of arguments, and the call.

``Parameters`` are those that the model sets. ``BoundFunction`` calls a function with the value that
each of its parameters asks for: an argument by name, the context, or all arguments.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from inspect import Parameter
from types import MappingProxyType
from typing import Annotated, Any, NotRequired, Union

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict

from agentchat.core.errors import DefinitionError
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.custom.declaration.context import Context
from agentchat.tools.custom.declaration.schema import WholeNumber, field_problems, simplify_schema

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class AllArguments(dict[str, Any]):
    """A call's arguments by name and as attributes, with the defaults."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Parameters:
    """The parameters of one function that the model sets; ``notes`` describe them by name."""

    def __init__(self, parameters: Sequence[Parameter], notes: Mapping[str, str]) -> None:
        self.names = tuple(parameter.name for parameter in parameters)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        make: Any = TypedDict
        shape = make("Arguments", {p.name: _field(p, notes.get(p.name)) for p in parameters})
        shape.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(shape)
            self._schema = simplify_schema(self._adapter.json_schema())
        except (PydanticUserError, RecursionError) as error:
            reason = str(error).split("\n", 1)[0] or "a type refers to itself"
            raise DefinitionError(f"the type hints make no schema: {reason}") from error

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        return self._schema

    def parse(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the type hints say, with defaults; raises ArgumentError."""
        return {**self.defaults, **self._validate(value)}

    def plain(self, value: Mapping[str, Any]) -> Any:
        """Return the arguments as JSON data, each in its usual form; raises ArgumentError."""
        return json.loads(to_json(self._validate(value), inf_nan_mode="constants"))

    def plain_defaults(self) -> dict[str, Any]:
        """Return the defaults that JSON can represent."""
        defaults = {}
        for name, value in self.defaults.items():
            with contextlib.suppress(PydanticSerializationError, ValueError, RecursionError):
                defaults[name] = json.loads(to_json(value, inf_nan_mode="constants"))
        return defaults

    def _validate(self, value: Mapping[str, Any]) -> dict[str, Any]:
        try:
            # As JSON: there a path or a date can be text, while text is still no number.
            arguments: dict[str, Any] = self._adapter.validate_json(json.dumps(dict(value)))
        except ValidationError as error:
            raise ArgumentError(field_problems(error)) from error
        return arguments


def parameters_of(function: Callable[..., Any], notes: Mapping[str, str]) -> Parameters:
    """Return the parameters of a function that the model sets.

    Raises:
        DefinitionError: they cannot be set by name, or make no schema.
    """
    parameters = [p for p in _signature(function) if not is_context(p.annotation)]
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DefinitionError(f"*{parameter.name} has no schema: name each parameter")
        if isinstance(parameter.default, FieldInfo):
            correct = f"{parameter.name}: Annotated[TYPE, Field(...)] = DEFAULT"
            raise DefinitionError(f"write the field of {parameter.name} as {correct}")
    return Parameters(parameters, notes)


def is_context(annotation: Any) -> bool:
    """Whether a parameter with this type hint receives the call's context."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return any(is_context(part) for part in typing.get_args(annotation))
    return isinstance(annotation, type) and issubclass(annotation, Context)


def _field(parameter: Parameter, note: str | None) -> Any:
    """Return the type of one field with its description, and its default as far as JSON has it."""
    annotation, extras = parameter.annotation, []
    if typing.get_origin(annotation) is Annotated:
        annotation, *extras = typing.get_args(annotation)
    note = next((extra for extra in extras if isinstance(extra, str)), note)
    # Some models write whole numbers as ``3.0``.
    field: Any = WholeNumber if annotation is int else annotation
    for extra in extras:
        if not isinstance(extra, str):
            field = Annotated[field, extra]
    if note:
        field = Annotated[field, Field(description=note)]
    if parameter.default is parameter.empty:
        return field
    default = _schema_default(parameter.default)
    return NotRequired[Annotated[field, Field(json_schema_extra=default)] if default else field]


def _schema_default(default: Any) -> dict[str, Any] | None:
    is_plain = isinstance(default, (str, int, float, list, dict)) and default == default
    try:
        return {"default": json.loads(json.dumps(default))} if is_plain else None
    except (TypeError, ValueError):
        return None


class ValueSource(Enum):
    """Where the value of a parameter comes from."""

    CONTEXT = auto()
    EARLIER = auto()
    """A value that comes before the arguments: a result, or the output of the step before."""
    VALUE = auto()
    """A value of the call by its name, like its result."""
    ARGUMENT = auto()
    ALL_ARGUMENTS = auto()
    REST = auto()
    """``**rest``: the arguments that no other parameter names."""
    DEFAULT = auto()


@frozen
class BoundFunction:
    """A function of the user, with the source of each parameter's value."""

    function: Callable[..., Any]
    sources: tuple[tuple[Parameter, ValueSource], ...]

    def call(
        self,
        arguments: Mapping[str, Any],
        context: Any,
        *earlier: Any,
        values: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """Call the function; ``earlier`` are as many values as it was bound with."""
        remaining = iter(earlier)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for parameter, source in self.sources:
            name, default = parameter.name, parameter.default
            if source is ValueSource.REST:
                named |= {key: value for key, value in arguments.items() if key not in named}
                continue
            if source is ValueSource.CONTEXT:
                value = context
            elif source is ValueSource.EARLIER:
                value = next(remaining)
            elif source is ValueSource.VALUE:
                value = values.get(name)
            elif source is ValueSource.ALL_ARGUMENTS:
                value = AllArguments(arguments)
            elif name in arguments or default is parameter.empty:
                value = arguments.get(name)
            else:
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[name] = value
        return self.function(*positional, **named)

    def value_names(self) -> tuple[str, ...]:
        """Return the values of the call that it takes."""
        return tuple(p.name for p, source in self.sources if source is ValueSource.VALUE)

    def required_names(self) -> tuple[str, ...]:
        """Return the arguments without which it cannot be called."""
        return tuple(
            parameter.name
            for parameter, source in self.sources
            if source is ValueSource.ARGUMENT and parameter.default is parameter.empty
        )


def bind(
    function: Callable[..., Any],
    names: tuple[str, ...],
    *,
    earlier: int = 0,
    values: tuple[str, ...] = (),
    role: str = "it",
) -> BoundFunction:
    """Find the source of each parameter once, for many calls.

    Args:
        names: the arguments of the tool.
        earlier: how many values come before the arguments.
        values: names of parameters that receive a value of the call, unless the tool has an
            argument of that name; the function may have any of them, anywhere.
        role: how an error names the function.

    Raises:
        DefinitionError: it has a parameter that no value is for.
    """
    if not callable(function):
        raise DefinitionError(f"{role} must be a function, not {type(function).__name__}")
    sources: list[tuple[Parameter, ValueSource]] = []
    for parameter in _signature(function, earlier):
        is_value = parameter.name in values and parameter.name not in names
        source = ValueSource.VALUE if is_value else _source(parameter, names, earlier)
        earlier -= source is ValueSource.EARLIER
        if source is not ValueSource.DEFAULT:
            sources.append((parameter, source))
    others = [p.name for p, source in sources if source is ValueSource.ALL_ARGUMENTS]
    has_named = any(source is ValueSource.ARGUMENT for _, source in sources)
    if len(others) > 1 or (others and has_named):
        problem = f"a parameter {others[-1]}, which is no argument of the tool"
        raise DefinitionError(f"{role} has {problem}")
    return BoundFunction(function, tuple(sources))


def _source(parameter: Parameter, names: tuple[str, ...], earlier: int) -> ValueSource:
    if is_context(parameter.annotation):
        return ValueSource.CONTEXT
    if earlier > 0 and parameter.kind in POSITIONAL:
        return ValueSource.EARLIER
    if parameter.kind is parameter.VAR_KEYWORD:
        return ValueSource.REST
    if parameter.name in names:
        return ValueSource.ARGUMENT
    has_value = parameter.default is not parameter.empty
    if has_value or parameter.kind is parameter.VAR_POSITIONAL:
        return ValueSource.DEFAULT
    return ValueSource.ALL_ARGUMENTS


def _signature(function: Callable[..., Any], positional: int = 0) -> list[Parameter]:
    """Return the parameters with their types; of a C function without a signature so many."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return [Parameter("value", Parameter.POSITIONAL_ONLY)][:positional]
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise DefinitionError(f"a type hint cannot be resolved: {error}") from error
    except TypeError:  # a callable in C
        hints = {}
    return [p.replace(annotation=hints.get(p.name, Any)) for p in parameters]


SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\s*$", re.MULTILINE)
OTHER_SECTION = re.compile(r"^\S", re.MULTILINE)
ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+)(?:\s*\([^)]*\))?:[ \t]*(.*)$")


def split_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the description, and the entries of its ``Args:`` by name."""
    text = inspect.cleandoc(doc)
    section = SECTION.search(text)
    if section is None:
        return text.strip(), {}
    after = OTHER_SECTION.search(text, section.end())
    end = after.start() if after is not None else len(text)
    description = f"{text[: section.start()]}{text[end:]}".strip()
    return description, _entries(text[section.end() : end])


def _entries(text: str) -> dict[str, str]:
    notes: dict[str, str] = {}
    name, depth = "", 0
    for line in text.splitlines():
        entry = ENTRY.match(line)
        if entry is not None and (not name or len(entry[1]) <= depth):
            name, depth = entry[2], len(entry[1])
            notes[name] = entry[3].strip()
        elif name and line.strip():
            notes[name] = f"{notes[name]} {line.strip()}".strip()
    return {name: note for name, note in notes.items() if note}
