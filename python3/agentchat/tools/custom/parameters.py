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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Union

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict

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


class Parameters:
    """The arguments of one function, as ``core.tool.Arguments``."""

    def __init__(self, wanted: Sequence[inspect.Parameter], notes: Mapping[str, str]) -> None:
        self.names = tuple(one.name for one in wanted)
        self.defaults = {one.name: one.default for one in wanted if one.default is not one.empty}
        make: Any = TypedDict
        shape = make("Arguments", {one.name: _field(one, notes.get(one.name)) for one in wanted})
        shape.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(shape)
            self._schema = plain(self._adapter.json_schema())
        except (PydanticUserError, RecursionError) as error:
            reason = str(error).split("\n", 1)[0] or "a type refers to itself"
            raise DefinitionError(f"the type hints make no schema: {reason}") from error

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return self._schema

    def parse(self, value: Mapping[str, Any]) -> Given:
        """Return the arguments with the defaults filled in; raises ArgumentError."""
        return Given({**self.defaults, **self._validate(value)})

    def plain(self, value: Mapping[str, Any]) -> Any:
        """Return the arguments as the data of JSON, in one form each; raises ArgumentError."""
        return json.loads(to_json(self._validate(value), inf_nan_mode="constants"))

    def plain_defaults(self) -> dict[str, Any]:
        """Return the defaults, but for those that JSON cannot represent."""
        found = {}
        for name, value in self.defaults.items():
            with contextlib.suppress(PydanticSerializationError, ValueError, RecursionError):
                found[name] = json.loads(to_json(value, inf_nan_mode="constants"))
        return found

    def _validate(self, value: Mapping[str, Any]) -> dict[str, Any]:
        try:
            # As JSON: a path or a date may be text there, and text is still no number.
            found: dict[str, Any] = self._adapter.validate_json(json.dumps(dict(value)))
        except ValidationError as error:
            raise ArgumentError(problems(error)) from error
        return found


def parameters_of(function: Callable[..., Any], notes: Mapping[str, str]) -> Parameters:
    """Return the parameters of a function that the model gives; ``notes`` describe them by name.

    Raises:
        DefinitionError: the parameters cannot be given by name, or make no schema.
    """
    wanted = []
    for parameter in _parameters(function, 0):
        if is_context(parameter.annotation):
            continue
        if parameter.kind in UNNAMED:
            raise DefinitionError(f"*{parameter.name} has no schema: name each parameter")
        if isinstance(parameter.default, FieldInfo):
            how = f"{parameter.name}: Annotated[TYPE, Field(...)] = DEFAULT"
            raise DefinitionError(f"write the field of {parameter.name} as {how}")
        wanted.append(parameter)
    return Parameters(wanted, notes)


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


def _field(parameter: inspect.Parameter, note: str | None) -> Any:
    """Return the type of one field, described, with its default where JSON can represent it."""
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
    shown = _shown_default(parameter.default)
    return NotRequired[Annotated[field, Field(json_schema_extra=shown)] if shown else field]


def _shown_default(default: Any) -> dict[str, Any] | None:
    simple = isinstance(default, (str, int, float, list, dict)) and default == default
    try:
        return {"default": json.loads(json.dumps(default))} if simple else None
    except (TypeError, ValueError):
        return None


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Bound:
    """A function of the user's, called with what each of its parameters asks for.

    The parameters with a value are, in this order: one annotated ``Context``; the first ones, for
    the values that come first (a result, or what the step before returned); those with the name of
    an argument; a single other one, for all arguments; and ``**rest``.
    """

    function: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]
    names: tuple[str, ...]
    """The arguments of the tool."""

    def call(self, given: Mapping[str, Any], context: Any, *first: Any) -> Any:
        """Call the function; ``first`` go to its first parameters, as many as it has."""
        ahead = list(first)
        args: list[Any] = []
        named: dict[str, Any] = {}
        for one in self.parameters:
            if one.kind is one.VAR_KEYWORD:
                named |= {name: value for name, value in given.items() if name not in named}
                continue
            if is_context(one.annotation):
                value = context
            elif ahead and one.kind in POSITIONAL:
                value = ahead.pop(0)
            elif one.name not in self.names:
                value = Given(given)
            elif one.name in given or one.default is one.empty:
                value = given.get(one.name)
            else:
                continue
            if one.kind is one.POSITIONAL_ONLY:
                args.append(value)
            else:
                named[one.name] = value
        return self.function(*args, **named)

    def needs(self) -> tuple[str, ...]:
        """Return the arguments without which it cannot be called."""
        wanted = [one for one in self.parameters if one.default is one.empty]
        return tuple(one.name for one in wanted if one.name in self.names)


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
    kept: list[inspect.Parameter] = []
    others: list[str] = []
    for one in _parameters(function, first):
        other = one.name not in names and not is_context(one.annotation)
        if first > 0 and one.kind in POSITIONAL and not is_context(one.annotation):
            first -= 1
        elif one.kind is not one.VAR_KEYWORD and other:
            if one.default is not one.empty or one.kind is one.VAR_POSITIONAL:
                continue  # it keeps its default
            others.append(one.name)
        kept.append(one)
    if len(others) > 1 or (others and any(one.name in names for one in kept)):
        problem = f"a parameter {others[-1]}, which is no argument of the tool"
        raise DefinitionError(f"{what} has {problem}")
    return Bound(function, tuple(kept), names)


def _parameters(function: Callable[..., Any], first: int) -> list[inspect.Parameter]:
    """Return the parameters of a function, annotated with their types."""
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:  # a function in C without a signature
        return [inspect.Parameter("value", inspect.Parameter.POSITIONAL_ONLY)][:first]
    hints = hints_of(function)
    return [one.replace(annotation=hints.get(one.name, Any)) for one in found]


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
    rest = f"{text[: found.start()]}{text[end:]}".strip()
    return rest, _entries(text[found.end() : end])


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
