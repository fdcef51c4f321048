"""The parts of a request that some servers refuse, and what is learned when one does."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.models.response.refusal import ServerRefusal

IsSent = Callable[[Mapping[str, Any]], bool]
"""Whether a body has a feature."""

REFUSING = frozenset({400, 404, 405, 422, 500, 501})
"""Statuses by which servers refuse a part of a request; some templates fail with 500."""

OPTIONAL = frozenset({"effort", "reasoning", "reasoning_effort"})
"""Features that are refused for a value that the user may change."""

VENDOR_DATA = "vendor data"
"""The feature of sending back what the server sent along with earlier answers."""

REASONING_REFUSED = (
    "The server refused the reasoning of earlier answers. It is sent without that reasoning now."
)
NO_IMAGES_NOTICE = "The model takes no images: they are left out of the request."


@frozen
class Feature:
    """A part of a request that some servers refuse.

    Args:
        refused: found in the message of a refusal.
        notice: for the user, where its loss is worth a line.
    """

    name: str
    refused: re.Pattern[str]
    is_sent: IsSent
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

    def give_up(self, name: str) -> None:
        """Send a feature no more."""
        self._refused.add(name)

    @property
    def lasting(self) -> frozenset[str]:
        """What is refused of those that the user neither sets nor is told about."""
        silent = (known.name for known in self._known if not known.notice)
        return frozenset(self._refused).intersection(silent) - OPTIONAL

    def allow(self, name: str) -> None:
        """Send a feature again."""
        self._refused.discard(name)


def feature(name: str, refused: str, sent: IsSent | None = None, notice: str = "") -> Feature:
    """Return a feature, sent where the body has a field of its name unless ``sent`` says it.

    Args:
        refused: a pattern, found in a message in any case.
    """
    return Feature(name, re.compile(refused, re.IGNORECASE), sent or has(name), notice)


def has(*path: str) -> IsSent:
    """Return the check whether a body has a value at a path."""

    def check(body: Mapping[str, Any]) -> bool:
        value: object = body
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value is not None

    return check


def holds(*keys: str) -> IsSent:
    """Return the check whether any object of a body, tools aside, has one of the keys."""
    return lambda body: any(key in item for item in _objects(body) for key in keys)


def holds_type(*types: str) -> IsSent:
    """Return the check whether any object of a body, tools aside, has one of the types."""
    return lambda body: any(item.get("type") in types for item in _objects(body))


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield all JSON objects in a value, but those that describe tools."""
    if isinstance(value, Mapping):
        yield value
        value = [inner for key, inner in value.items() if key != "tools"]
    if isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def vendor_data(refused: str, sent: IsSent) -> Feature:
    """Return the feature of the reasoning that goes back as it came."""
    return feature(VENDOR_DATA, refused, sent, REASONING_REFUSED)


def images(sent: IsSent) -> Feature:
    """Return the feature of images."""
    return feature("images", _NO_IMAGES, sent, NO_IMAGES_NOTICE)


def temperature(sent: IsSent | None = None) -> Feature:
    """Return the feature of a temperature."""
    return feature("temperature", "temperature", sent, "The model takes no temperature.")


_NO_IMAGES = (
    r"image_url|input_image|image input|vision|multimodal|not support\w* image"
    r"|\b0 image|content'? must be a string"
    r"|\bimages?\b.*\bnot (support|allow|enable|accept)"
)
