"""The parameters of a function of the user's: its schema, the check of arguments, and the call.

``Parameters`` are those that the model gives. ``Bound`` calls a function with what each of its
parameters asks for: an argument by name, the context, or all arguments.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import NotRequired, TypedDict

from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.custom.context import Context
from agentchat.tools.schema import WholeNumber, plain, problems

UNNAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class DefinitionError(TypeError):
    """A tool is declared wrongly; the message says how to declare it."""


class Given(dict[str, Any]):
    """A call's arguments by name, also as attributes; what has a default is always there."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of the model's: ``default`` is ``inspect.Parameter.empty`` if it has none."""

    name: str
    annotation: Any
    default: Any


class Parameters:
    """The arguments of one function, as ``core.tool.Arguments``."""

    def __init__(self, wanted: tuple[Parameter, ...], notes: Mapping[str, str]) -> None:
        self.names = tuple(parameter.name for parameter in wanted)
        self.defaults = {
            p.name: p.default for p in wanted if p.default is not inspect.Parameter.empty
        }
        fields = {p.name: _field(p, notes.get(p.name)) for p in wanted}
        try:
            self._adapter, self._schema = _adapted(fields)
        except (PydanticUserError, RecursionError) as error:
            reason = str(error).split("\n", 1)[0] or "a type refers to itself"
            raise DefinitionError(f"the type hints make no schema: {reason}") from error

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return self._schema

    def parse(self, value: Mapping[str, Any]) -> Given:
        """Return the arguments with the defaults filled in; raises ArgumentError."""
        return Given({**self.defaults, **self._found(json.dumps(dict(value)))})

    def plain(self, text: str) -> str:
        """Return arguments, both ways as JSON, in the one form in which each is written.

        Raises:
            ArgumentError: they do not fit the hints.
        """
        return to_json(self._found(text), inf_nan_mode="constants").decode()

    def plain_defaults(self) -> dict[str, Any]:
        """Return the defaults, but for those that JSON cannot say."""
        found = {}
        for name, value in self.defaults.items():
            with contextlib.suppress(PydanticSerializationError, ValueError, RecursionError):
                found[name] = json.loads(to_json(value, inf_nan_mode="constants"))
        return found

    def _found(self, text: str) -> dict[str, Any]:
        try:
            # As JSON: a path or a date may be text there, and text is still no number.
            found: dict[str, Any] = self._adapter.validate_json(text)
        except ValidationError as error:
            raise ArgumentError(problems(error)) from error
        return found


def parameters_of(function: Callable[..., Any], notes: Mapping[str, str]) -> Parameters:
    """Return the parameters of a function that the model gives; ``notes`` describe them by name.

    Raises:
        DefinitionError: the parameters cannot be given by name, or make no schema.
    """
    hints = hints_of(function)
    wanted = []
    for parameter in inspect.signature(function).parameters.values():
        annotation = hints.get(parameter.name, Any)
        if is_context(annotation):
            continue
        if parameter.kind in UNNAMED:
            raise DefinitionError(f"*{parameter.name} has no schema: name each parameter")
        if isinstance(parameter.default, FieldInfo):
            how = f"{parameter.name}: Annotated[TYPE, Field(...)] = DEFAULT"
            raise DefinitionError(f"write the field of {parameter.name} as {how}")
        wanted.append(Parameter(parameter.name, annotation, parameter.default))
    return Parameters(tuple(wanted), notes)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the type hints of a function; raises DefinitionError for a name that is unknown."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise DefinitionError(f"a type hint cannot be resolved: {error}") from error
    except TypeError:
        return {}  # a callable in C


def is_context(annotation: Any) -> bool:
    """Whether a parameter with this type hint receives the call's context."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return any(is_context(part) for part in typing.get_args(annotation))
    return isinstance(annotation, type) and issubclass(annotation, Context)


def _field(parameter: Parameter, note: str | None) -> Any:
    """Return the type of one field, described, with its default where JSON can say it."""
    annotation = _lenient(parameter.annotation)
    if typing.get_origin(annotation) is Annotated:
        kind, *extras = typing.get_args(annotation)
        said = [extra for extra in extras if isinstance(extra, str)]
        note = said[0] if said else note
        kept = tuple(extra for extra in extras if not isinstance(extra, str))
        annotation = _lenient(kind)
        for extra in kept:
            annotation = Annotated[annotation, extra]
    field = Annotated[annotation, Field(description=note)] if note else annotation
    if parameter.default is inspect.Parameter.empty:
        return field
    shown = _shown_default(parameter.default)
    return NotRequired[Annotated[field, Field(json_schema_extra=shown)] if shown else field]


def _lenient(annotation: Any) -> Any:
    """Some models write whole numbers as ``3.0``."""
    return WholeNumber if annotation is int else annotation


def _shown_default(default: Any) -> dict[str, Any] | None:
    simple = isinstance(default, (str, int, float, list, dict)) and default == default
    try:
        return {"default": json.loads(json.dumps(default))} if simple else None
    except (TypeError, ValueError):
        return None


def _adapted(fields: Mapping[str, Any]) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    make: Any = TypedDict
    shape = make("Arguments", dict(fields))
    shape.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    return adapter, plain(adapter.json_schema())


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one parameter's value comes from.

    ``kind`` is ``context``, ``first`` (the next of the values that come first), ``named`` (the
    argument of the parameter's name) or ``all`` (every argument, as one mapping).
    """

    name: str
    kind: str
    by_position: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A function and how its parameters are filled."""

    function: Callable[..., Any]
    slots: tuple[Slot, ...]
    rest: bool = False
    """Whether it takes every other argument, as ``**rest``."""

    def call(self, given: Mapping[str, Any], context: Any, *first: Any) -> Any:
        """Call the function; ``first`` go to its first parameters, as many as it has."""
        ahead = list(first)
        args: list[Any] = []
        named: dict[str, Any] = {}
        for slot in self.slots:
            if slot.kind == "named" and slot.optional and slot.name not in given:
                continue
            value = _value(slot, given, context, ahead)
            if slot.by_position:
                args.append(value)
            else:
                named[slot.name] = value
        if self.rest:
            named.update({name: value for name, value in given.items() if name not in named})
        return self.function(*args, **named)


def _value(slot: Slot, given: Mapping[str, Any], context: Any, ahead: list[Any]) -> Any:
    if slot.kind == "context":
        return context
    if slot.kind == "first":
        return ahead.pop(0)
    return given.get(slot.name) if slot.kind == "named" else Given(given)


def bind(
    function: Callable[..., Any], names: tuple[str, ...], *, first: int = 0, what: str = "it"
) -> Bound:
    """Look at a function once, for many calls.

    Args:
        names: the arguments of the tool.
        first: how many values come first, before the arguments.
        what: what to call the function in an error.

    Raises:
        DefinitionError: it has a parameter that nothing can fill.
    """
    if not callable(function):
        raise DefinitionError(f"{what} must be a function, not {type(function).__name__}")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a function in C without a signature
        return Bound(function, (Slot("", "first", by_position=True),) if first else ())
    hints = hints_of(function)
    slots: list[Slot] = []
    for parameter in parameters:
        slot = _slot(parameter, hints.get(parameter.name), names, first)
        if slot is None:
            continue
        first -= slot.kind == "first"
        slots.append(slot)
    _refuse_unknown(slots, what)
    rest = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return Bound(function, tuple(slots), rest)


def _slot(
    parameter: inspect.Parameter, hint: Any, names: tuple[str, ...], first: int
) -> Slot | None:
    by_position = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
    optional = parameter.default is not inspect.Parameter.empty
    if is_context(hint):
        return Slot(parameter.name, "context", by_position)
    if parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
        return None
    if first > 0 and parameter.kind in POSITIONAL:
        return Slot(parameter.name, "first", by_position)
    if parameter.name in names:
        return Slot(parameter.name, "named", by_position, optional)
    return None if optional else Slot(parameter.name, "all", by_position)


def _refuse_unknown(slots: list[Slot], what: str) -> None:
    unknown = [slot.name for slot in slots if slot.kind == "all"]
    if len(unknown) > 1 or (unknown and any(slot.kind == "named" for slot in slots)):
        raise DefinitionError(
            f"{what} has a parameter {unknown[-1]}, which is no argument of the tool"
        )


SECTION = re.compile(r"^(?:Args|Arguments|Parameters):\s*$", re.MULTILINE)
OTHER_SECTION = re.compile(r"^\S", re.MULTILINE)
ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+)(?:\s*\([^)]*\))?:[ \t]*(.*)$")


def split_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the description and what its ``Args:`` say, by name."""
    text = inspect.cleandoc(doc)
    found = SECTION.search(text)
    if found is None:
        return text.strip(), {}
    after = OTHER_SECTION.search(text, found.end())
    end = after.start() if after is not None else len(text)
    said = f"{text[: found.start()]}{text[end:]}".strip()
    return said, _entries(text[found.end() : end])


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
