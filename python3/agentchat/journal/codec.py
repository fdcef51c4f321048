"""Records to bytes and back: a stream of msgpack maps with plain names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

import msgpack

from agentchat.core.messages import (
    Image,
    Message,
    Note,
    Reply,
    Status,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from agentchat.journal import records as r

KINDS: dict[str, type[Any]] = {
    kind.kind: kind
    for kind in (
        r.Opened,
        r.Tools,
        r.TurnStarted,
        r.TurnFinished,
        r.Said,
        r.SoFar,
        r.Decided,
        r.CallStarted,
        r.CallFinished,
        r.Changing,
        r.Changed,
        r.Settled,
        r.Recovering,
        r.Staged,
        r.Resolving,
        r.Resolved,
        r.UndoNoted,
        r.Undone,
        r.Redone,
        r.Content,
    )
}
SPEAKERS: dict[str, type[Any]] = {
    "user": UserText,
    "note": Note,
    "reply": Reply,
    "result": ToolResult,
}
_NAMES = {speaker: name for name, speaker in SPEAKERS.items()}
_FIELDS = {
    of: tuple(field.name for field in fields(of))
    for of in (*KINDS.values(), *SPEAKERS.values(), r.FileBytes, ToolCall, Usage, Image)
}


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what takes the values of these fields; looking them up one by one is slow."""
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


_VALUES = {of: _values(names) for of, names in _FIELDS.items()}

Fields = dict[str, Any]

WITH_FILES = (r.Changing, r.Changed, r.Staged)

WITH_LISTS = (r.Changing, r.Tools)
"""Records with tuples, which msgpack gives back as lists."""

DEEPEST = 64
"""Nesting beyond this is left out."""


def pack(value: Fields) -> bytes:
    """Return fields as bytes; what msgpack cannot say becomes text."""
    try:
        return _pack(value)
    except (OverflowError, TypeError, ValueError):
        return _pack(mapped(value, _sayable))


def _pack(value: Fields) -> bytes:
    packed: bytes = _packer.pack(value)
    return packed


def _default(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


_packer = msgpack.Packer(unicode_errors="surrogatepass", default=_default)


def to_fields(record: r.Record) -> Fields:
    """Return a record as a plain map."""
    if isinstance(record, r.Foreign):
        return dict(record.fields)
    said = {"v": r.FORMAT, "kind": record.kind, **_plain(record)}
    if isinstance(record, r.Said):
        said["message"] = _message(record.message)
    elif isinstance(record, WITH_FILES):
        said["files"] = [_plain(file) for file in record.files]
    return said


def from_fields(said: Mapping[str, Any]) -> r.Record:
    """Return the record a map stands for; one that is not understood comes back as it is."""
    kind = KINDS.get(str(said.get("kind")))
    at = said.get("at")
    foreign = r.Foreign(dict(said), float(at) if isinstance(at, (int, float)) else 0.0)
    if kind is None:
        return foreign
    try:
        return _record(kind, said)
    except (KeyError, TypeError, ValueError):
        return foreign


def mapped(value: Any, change: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return nested maps and lists with every leaf changed."""
    if depth > DEEPEST:
        return "(nested too deeply)"
    if isinstance(value, Mapping):
        return {
            str(mapped(key, change, depth + 1)): mapped(item, change, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [mapped(item, change, depth + 1) for item in value]
    return change(value)


def _sayable(leaf: Any) -> Any:
    if isinstance(leaf, int) and not -(2**63) <= leaf < 2**64:
        return str(leaf)
    known = leaf is None or isinstance(leaf, (bool, int, float, str, bytes))
    return leaf if known else str(leaf)


def _message(message: Message) -> Fields:
    said: Fields = {"who": _NAMES[type(message)], **_plain(message)}
    if isinstance(message, Reply):
        said["calls"] = [_plain(call) for call in message.calls]
        said["usage"] = _plain(message.usage) if message.usage else None
    elif isinstance(message, ToolResult):
        said["status"] = message.status.value
    if isinstance(message, (UserText, ToolResult)):
        said["images"] = [_plain(image) for image in message.images]
    return said


def _plain(value: Any) -> Fields:
    of = type(value)
    return dict(zip(_FIELDS[of], _VALUES[of](value), strict=True))


def _record(kind: type[Any], said: Mapping[str, Any]) -> r.Record:
    given = _known(kind, said)
    if kind is r.Said:
        given["message"] = _spoken(said["message"])
    elif kind in WITH_FILES:
        files = said.get("files", ())
        given["files"] = tuple(map(_file, files))
    if kind in WITH_LISTS:
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    record: r.Record = kind(**given)
    return record


def _file(said: Mapping[str, Any]) -> r.FileBytes:
    given = _known(r.FileBytes, said)
    owner = given.get("owner")
    given["owner"] = tuple(owner) if owner is not None else None
    given["attributes"] = tuple((name, value) for name, value in given.get("attributes", ()))
    return r.FileBytes(**given)


def _spoken(said: Mapping[str, Any]) -> Message:
    speaker = SPEAKERS[said["who"]]
    given = _known(speaker, said)
    if speaker is Reply:
        given["calls"] = tuple(ToolCall(**_known(ToolCall, call)) for call in said["calls"])
        usage = said.get("usage")
        given["usage"] = Usage(**_known(Usage, usage)) if usage else None
    elif speaker is ToolResult:
        given["status"] = Status(said["status"])
    if speaker in (UserText, ToolResult):
        given["images"] = tuple(Image(**_known(Image, image)) for image in said["images"])
    message: Message = speaker(**given)
    return message


def _known(of: type[Any], said: Mapping[str, Any]) -> Fields:
    return {name: said[name] for name in _FIELDS[of] if name in said}
