"""Calls a function of the user's with what its parameters ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentchat.tools.custom.errors import DefinitionError
from agentchat.tools.custom.parameters import Given, hints_of, is_context

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
    except ValueError:  # one of C's that does not tell
        return Bound(function, (Slot("", "first", by_position=True),) if first else ())
    hints = hints_of(function)
    slots: list[Slot] = []
    for parameter in parameters:
        slot = _slot(parameter, hints.get(parameter.name), names, first)
        if slot is None:
            continue
        first -= slot.kind == "first"
        slots.append(slot)
    _refuse_strangers(slots, what)
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


def _refuse_strangers(slots: list[Slot], what: str) -> None:
    strangers = [slot.name for slot in slots if slot.kind == "all"]
    if len(strangers) > 1 or (strangers and any(slot.kind == "named" for slot in slots)):
        raise DefinitionError(f"{what} has a parameter {strangers[-1]}, which the tool has not")
