"""What a server turned out to refuse: it is left out of later requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentchat.models.response.refusal import ServerRefusal

Body = dict[str, Any]

REFUSING = frozenset({400, 404, 405, 422, 500, 501})
"""Statuses by which servers refuse a part of a request; some templates fail with 500."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A part of a request that some servers refuse.

    Args:
        refused: found in the message of a refusal.
        is_sent: whether a body has it.
        notice: for the user, where its loss is worth a line.
    """

    name: str
    refused: re.Pattern[str]
    is_sent: Callable[[Mapping[str, Any]], bool]
    notice: str = ""


class Features:
    """The features that one server takes."""

    def __init__(self, known: Iterable[Feature], refused: Collection[str] = ()) -> None:
        self._known = tuple(known)
        self._refused = set(refused)

    def __contains__(self, name: str) -> bool:
        return name not in self._refused

    def learn(self, refusal: ServerRefusal, body: Mapping[str, Any]) -> Feature | None:
        """Return the feature that the refusal is about; it is not sent any more."""
        if refusal.status not in REFUSING:
            return None
        for feature in self._known:
            is_new = feature.name in self and feature.is_sent(body)
            if is_new and feature.refused.search(refusal.message):
                self._refused.add(feature.name)
                return feature
        return None

    def allow(self, name: str) -> None:
        """Send a feature again."""
        self._refused.discard(name)


def feature(name: str, refused: str, *path: str, notice: str = "") -> Feature:
    """Return a feature that is sent where the body has a value at ``path`` (default: its name)."""
    keys = path or (name,)
    pattern = re.compile(refused, re.IGNORECASE)
    return Feature(name, pattern, lambda body: _at(body, keys) is not None, notice)


def merge(body: Body, params: Mapping[str, Any]) -> Body:
    """Return the body with the parameters put in; tables within tables are merged."""
    merged = dict(body)
    for key, value in params.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _at(body: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    value: object = body
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
