"""Checks a value against the types that an official client declares for a request."""

from __future__ import annotations

import collections.abc
import types
from typing import Any, Literal, Union, get_args, get_origin

from typing_extensions import NotRequired, Required, get_type_hints, is_typeddict

WRAPPERS = (Required, NotRequired)
LISTS = (list, collections.abc.Iterable, collections.abc.Sequence)


def problems(value: Any, wanted: Any, path: str = "body") -> list[str]:
    """Return what of a value does not fit, a line each; a field that is not declared counts."""
    origin = get_origin(wanted)
    if wanted in (Any, object):
        return []
    if origin in WRAPPERS or hasattr(wanted, "__metadata__"):
        return problems(value, get_args(wanted)[0], path)
    if origin in (Union, types.UnionType):
        return _union(value, get_args(wanted), path)
    if is_typeddict(wanted):
        return _typed_dict(value, wanted, path)
    if origin is Literal:
        return [] if value in get_args(wanted) else [f"{path}: {value!r} is not in {wanted}"]
    if origin in LISTS:
        if not isinstance(value, list):
            return [f"{path}: no list"]
        inner = get_args(wanted)[0]
        return [p for i, item in enumerate(value) for p in problems(item, inner, f"{path}[{i}]")]
    if origin in (dict, collections.abc.Mapping):
        return [] if isinstance(value, dict) else [f"{path}: no object"]
    expected = (int, float) if wanted is float else (wanted or type(None))
    if isinstance(expected, type | tuple) and isinstance(value, expected):
        return []
    return [f"{path}: {value!r} is no {wanted}"]


def _union(value: Any, choices: tuple[Any, ...], path: str) -> list[str]:
    found = [problems(value, choice, path) for choice in choices]
    return min(found, key=lambda lines: (len(lines), -max((len(x) for x in lines), default=0)))


def _typed_dict(value: Any, wanted: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    hints = get_type_hints(wanted, include_extras=True)
    found = [f"{path}.{key}: not declared" for key in value if key not in hints]
    for key, hint in hints.items():
        if key in value:
            found += problems(value[key], hint, f"{path}.{key}")
        elif key in wanted.__required_keys__:
            found.append(f"{path}.{key}: missing")
    return found
