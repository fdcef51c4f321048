"""Value classes: ``@frozen`` instead of ``@dataclass(frozen=True, slots=True)``.

That compiles six methods for each class as it is defined, which for all our classes is a third of
the time in which the host starts. The methods of ``@frozen`` are closures, and only ``__init__``
is compiled: when the first value is made, which most classes have none of before the first prompt
is sent. ``fields``, ``replace`` and ``asdict`` of ``dataclasses``, ``copy`` and ``pickle`` work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, Never, TypeVar, dataclass_transform

T = TypeVar("T")

_MADE = object()
"""The value of a parameter whose default is made for each value."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class whose values are compared by their fields and cannot be changed.

    A method that the class defines itself is kept. For fields that are given by name only, put
    ``_: KW_ONLY`` before them.
    """
    own = {name for name, value in vars(cls).items() if value is not None}
    made = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    for name, method in {**_SHARED, **_comparison(made), "__init__": _first_init(made)}.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _first_init(cls: type[Any]) -> Callable[..., None]:
    """Return an ``__init__`` that replaces itself by a compiled one."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = _compile_init(cls)
        cls.__init__(self, *args, **kwargs)

    return init


def _compile_init(cls: type[Any]) -> Callable[..., None]:
    """Return an ``__init__`` that sets the slots; setting an attribute is refused."""
    scope: dict[str, Any] = {"MADE": _MADE}
    for item in fields(cls):
        scope[f"set_{item.name}"] = getattr(cls, item.name).__set__
        scope[f"make_{item.name}"] = item.default_factory
        scope[f"default_{item.name}"] = _MADE if item.default is MISSING else item.default
    parameters = ["self", *(_parameter(item) for item in fields(cls) if not item.kw_only)]
    by_name = [_parameter(item) for item in fields(cls) if item.kw_only]
    head = ", ".join([*parameters, *(["*", *by_name] if by_name else [])])
    body = "; ".join(_assignment(item) for item in fields(cls))
    exec(f"def __init__({head}): {body or 'pass'}", scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _parameter(item: Field[Any]) -> str:
    is_required = item.default is MISSING and item.default_factory is MISSING
    return item.name if is_required else f"{item.name}=default_{item.name}"


def _assignment(item: Field[Any]) -> str:
    name, value = item.name, item.name
    if item.default_factory is not MISSING:
        value = f"make_{name}() if {name} is MADE else {name}"
    return f"set_{name}(self, {value})"


def _comparison(cls: type[Any]) -> Mapping[str, Callable[..., Any]]:
    """Return the methods that compare and hash the fields."""
    compared = [item for item in fields(cls) if item.compare]
    key = _values([item.name for item in compared])
    hash_key = _values([item.name for item in compared if item.hash is not False])

    def eq(self: Any, other: object) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": eq, "__hash__": lambda self: hash(hash_key(self))}


def _values(names: list[str]) -> Callable[[object], object]:
    """Return a function that gives the values of some attributes."""
    return attrgetter(*names) if names else lambda self: ()


def _repr(self: Any) -> str:
    shown = (f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, value: object = None) -> Never:
    raise FrozenInstanceError(f"cannot change field {name!r}")


def _set_state(self: object, state: tuple[None, Mapping[str, Any]]) -> None:
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


_SHARED: Mapping[str, Callable[..., Any]] = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__setstate__": _set_state,
}
