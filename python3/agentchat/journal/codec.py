"""Encodes records as msgpack maps and decodes them.

The names on disk must not change, since journals exist: if a class or field of ``records`` is
renamed, its name here stays.
"""

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
    ReplyPart,
    Status,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from agentchat.journal import records as r

FORMAT = 1
"""Version of the format, in each record."""

KINDS: dict[str, type[Any]] = {
    "opened": r.ChatOpened,
    "model": r.ModelChosen,
    "agent": r.AgentStarted,
    "mode": r.ModeChanged,
    "tools": r.ToolsGiven,
    "turn_started": r.TurnStarted,
    "turn_finished": r.TurnFinished,
    "said": r.MessageRecorded,
    "so_far": r.ReplyProgress,
    "decided": r.DecisionMade,
    "call_started": r.CallStarted,
    "call_finished": r.CallFinished,
    "changing": r.ChangeStarted,
    "checkpoint": r.CheckpointCreated,
    "changed": r.ChangeApplied,
    "settled": r.ChangeSettled,
    "recovering": r.RecoveryStarted,
    "staged": r.PreviewStaged,
    "resolving": r.PreviewResolving,
    "resolved": r.PreviewResolved,
    "undo_noted": r.UndoOffered,
    "undone": r.UndoStarted,
    "redone": r.RedoStarted,
    "content": r.ContentStored,
    "compacted": r.ContextCompacted,
    "shortened": r.ResultsShortened,
    "counted": r.RequestCounted,
    "compaction_undone": r.CompactionUndone,
    "todo": r.TodoChanged,
}
AUTHORS: dict[str, type[Any]] = {
    "user": UserText,
    "note": Note,
    "reply": Reply,
    "result": ToolResult,
}
PARTS: dict[str, type[Any]] = {"text": TextPart, "thinking": ThinkingPart, "call": ToolCall}
STORED_NAMES: dict[tuple[type[Any], str], str] = {
    **{(cls, "time"): "at" for cls in KINDS.values()},
    (r.ToolsGiven, "removed"): "taken",
    (r.ChangeStarted, "reverts"): "takes",
    (r.UndoOffered, "arguments"): "given",
    (UserText, "display_text"): "shown",
    (ToolResult, "display_text"): "shown",
    (ToolResult, "full_text_path"): "stored",
}
"""Names on disk of fields that have another name in ``records`` and ``messages``."""

CONTENT_KIND = "content"
WITH_FILES = (
    r.ChangeStarted,
    r.ChangeApplied,
    r.ChangeSettled,
    r.CheckpointCreated,
    r.PreviewStaged,
)
WITH_LISTS = (r.ChangeStarted, r.PreviewStaged, r.ToolsGiven)
"""Records with fields that are tuples, which msgpack returns as lists."""

MAX_NESTING = 64
"""Deeper values are replaced by a note."""

Fields = dict[str, Any]

_KIND_NAMES = {cls: name for name, cls in KINDS.items()}
_PART_NAMES = {cls: name for name, cls in PARTS.items()}
_AUTHOR_NAMES = {cls: name for name, cls in AUTHORS.items()}
_FIELDS = {
    cls: tuple(
        (field.name, STORED_NAMES.get((cls, field.name), field.name)) for field in fields(cls)
    )
    for cls in (*KINDS.values(), *AUTHORS.values(), r.RecordedFile, *PARTS.values(), Usage, Image)
}


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gets these fields at once, which is faster than one by one."""
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


_STORED = {cls: tuple(stored for _, stored in pairs) for cls, pairs in _FIELDS.items()}
_GETTERS = {cls: _getter(tuple(name for name, _ in pairs)) for cls, pairs in _FIELDS.items()}


def pack(value: Fields) -> bytes:
    """Return fields as bytes; values that msgpack cannot encode become text."""
    try:
        return _pack(value)
    except (OverflowError, TypeError, ValueError):
        return _pack(map_leaves(value, _packable))


def _pack(value: Fields) -> bytes:
    packed: bytes = _packer.pack(value)
    return packed


def _default(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


_packer = msgpack.Packer(unicode_errors="surrogatepass", default=_default)


def kind_of(record: r.Record) -> str:
    """Return the name of a record's kind, as on disk."""
    if isinstance(record, r.UnknownRecord):
        return str(record.fields.get("kind", ""))
    return _KIND_NAMES[type(record)]


def to_fields(record: r.Record) -> Fields:
    """Return a record as a plain map."""
    if isinstance(record, r.UnknownRecord):
        return dict(record.fields)
    plain = {"v": FORMAT, "kind": kind_of(record), **_encode(record)}
    if isinstance(record, r.MessageRecorded):
        plain["message"] = _encode_message(record.message)
    elif isinstance(record, WITH_FILES):
        plain["files"] = [_encode(file) for file in record.files]
    return plain


def from_fields(plain: Mapping[str, Any]) -> r.Record:
    """Return the record of a map; an UnknownRecord if the kind or its fields are unknown."""
    cls = KINDS.get(str(plain.get("kind")))
    try:
        return _decode_record(cls, plain) if cls is not None else _unknown(plain)
    except (KeyError, TypeError, ValueError):
        return _unknown(plain)


def _unknown(plain: Mapping[str, Any]) -> r.UnknownRecord:
    time = plain.get("at")
    return r.UnknownRecord(dict(plain), time=float(time) if isinstance(time, (int, float)) else 0.0)


def map_leaves(value: Any, change: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return nested maps and lists with every leaf changed."""
    if depth > MAX_NESTING:
        return "(nested too deeply)"
    if isinstance(value, Mapping):
        return {
            str(map_leaves(key, change, depth + 1)): map_leaves(item, change, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [map_leaves(item, change, depth + 1) for item in value]
    return change(value)


def _packable(leaf: Any) -> Any:
    if isinstance(leaf, int) and not -(2**63) <= leaf < 2**64:
        return str(leaf)
    known = leaf is None or isinstance(leaf, (bool, int, float, str, bytes))
    return leaf if known else str(leaf)


def _encode_message(message: Message) -> Fields:
    plain: Fields = {"who": _AUTHOR_NAMES[type(message)], **_encode(message)}
    if isinstance(message, Reply):
        plain["parts"] = [{"part": _PART_NAMES[type(p)], **_encode(p)} for p in message.parts]
        plain["usage"] = _encode(message.usage) if message.usage else None
    elif isinstance(message, ToolResult):
        plain["status"] = message.status.value
    if isinstance(message, (UserText, ToolResult)):
        plain["images"] = [_encode(image) for image in message.images]
    return plain


def _encode(value: Any) -> Fields:
    cls = type(value)
    return dict(zip(_STORED[cls], _GETTERS[cls](value), strict=True))


def _decode_record(cls: type[Any], plain: Mapping[str, Any]) -> r.Record:
    values = _decode(cls, plain)
    if cls is r.MessageRecorded:
        values["message"] = _decode_message(plain["message"])
    elif cls in WITH_FILES:
        values["files"] = tuple(map(_decode_file, plain.get("files", ())))
    if cls in WITH_LISTS:
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    record: r.Record = cls(**values)
    return record


def _decode_file(plain: Mapping[str, Any]) -> r.RecordedFile:
    values = _decode(r.RecordedFile, plain)
    owner = values.get("owner")
    values["owner"] = tuple(owner) if owner is not None else None
    values["attributes"] = tuple((name, value) for name, value in values.get("attributes", ()))
    return r.RecordedFile(**values)


def _decode_message(plain: Mapping[str, Any]) -> Message:
    cls = AUTHORS[plain["who"]]
    values = _decode(cls, plain)
    if cls is Reply:
        values["parts"] = _decode_parts(plain)
        usage = plain.get("usage")
        values["usage"] = Usage(**_decode(Usage, usage)) if usage else None
    elif cls is ToolResult:
        values["status"] = Status(plain["status"])
    if cls in (UserText, ToolResult):
        values["images"] = tuple(Image(**_decode(Image, image)) for image in plain["images"])
    message: Message = cls(**values)
    return message


def _decode_parts(plain: Mapping[str, Any]) -> tuple[ReplyPart, ...]:
    """Return the parts of a reply; older journals have text, reasoning and calls instead."""
    if "parts" in plain:
        return tuple(_decode_part(part) for part in plain["parts"] if part["part"] in PARTS)
    calls = tuple(ToolCall(**_decode(ToolCall, call)) for call in plain["calls"])
    return Reply(plain.get("text", ""), calls, plain.get("reasoning", "")).parts


def _decode_part(plain: Mapping[str, Any]) -> ReplyPart:
    cls = PARTS[plain["part"]]
    values = _decode(cls, plain)
    if not isinstance(values.get("opaque"), Mapping):
        values["opaque"] = {}
    part: ReplyPart = cls(**values)
    return part


def _decode(cls: type[Any], plain: Mapping[str, Any]) -> Fields:
    return {name: plain[stored] for name, stored in _FIELDS[cls] if stored in plain}
