"""The frames of a connection: messages of JSON and bytes, each with its length; errors as data.

A frame is the length of the JSON and the length of the bytes (4 bytes each, most significant
first), the JSON, the bytes. A value of bytes is ``{"\\0": [start, end]}`` in the JSON. A mapping
with this single key is escaped as ``{"\\0": {"\\0": VALUE}}``.
"""

from __future__ import annotations

import asyncio
import json
import struct
import traceback
from collections.abc import Mapping
from typing import IO, Any

from agentchat.core.errors import Irreversible, StalePreview, ToolError

MAX_MESSAGE_CHARACTERS = 10_000
"""A longer message of an error is cut off."""


class Disconnected(Exception):
    """The connection ended before the answer came; the message is the reason, if known."""


class RequestCancelled(Exception):
    """The request was cancelled by the end that sent it."""


class RemoteError(Exception):
    """The other end raised another exception; the message is the same."""


class RemoteTraceback(Exception):
    """The traceback of the other end, for the log."""


def encode_error(error: BaseException) -> dict[str, Any]:
    """Return an error as data."""
    if isinstance(error, StalePreview):
        return {"kind": "stale", "path": error.path}
    if isinstance(error, Irreversible):
        return {"kind": "irreversible", "guide": error_text(error) * bool(error.manual_guide)}
    if isinstance(error, ToolError):
        return {"kind": "tool", "text": error_text(error)}
    if isinstance(error, (asyncio.CancelledError, RequestCancelled)):
        return {"kind": "cancelled"}
    if isinstance(error, OSError) and error.errno is not None:
        name = error.filename if isinstance(error.filename, str) else None
        return {"kind": "os", "errno": error.errno, "text": error.strerror, "path": name}
    lines = traceback.format_exception(error.__cause__ or error)
    return {"kind": "other", "text": error_text(error), "traceback": "".join(lines)}


def decode_error(data: Mapping[str, Any]) -> Exception:
    """Return an error to raise at this end."""
    kind = data.get("kind")
    if kind == "stale":
        return StalePreview(str(data["path"]))
    if kind == "irreversible":
        return Irreversible(str(data["guide"]))
    if kind == "tool":
        return ToolError(str(data["text"]))
    if kind == "cancelled":
        return RequestCancelled("The request was cancelled.")
    if kind == "os":
        return OSError(int(data["errno"]), str(data["text"]), data.get("path"))
    error = RemoteError(str(data.get("text")))
    error.__cause__ = RemoteTraceback(str(data.get("traceback")))
    return error


def error_text(error: BaseException) -> str:
    """Return the message of an error, or its type if it has none, as valid Unicode."""
    try:
        text = str(error).encode("utf-8", "replace").decode("utf-8")
    except Exception:  # __str__ of a user's exception may fail
        text = ""
    return text[:MAX_MESSAGE_CHARACTERS] or type(error).__name__


_LENGTHS = struct.Struct(">II")
MAX_MESSAGE_BYTES = 1 << 30
"""A larger message is rejected."""

_MARK = "\0"
Message = dict[str, Any]


class BadFrame(Exception):
    """The bytes received are not a message."""


def pack(message: Mapping[str, Any]) -> bytes:
    """Return a message of JSON values and bytes as a frame."""
    data = bytearray()
    text = json.dumps(_to_json(message, data)).encode()
    return _LENGTHS.pack(len(text), len(data)) + text + data


def read_message(stream: IO[bytes]) -> Message | None:
    """Return the next message of a blocking stream, ``None`` at its end; raises BadFrame."""
    header = stream.read(_LENGTHS.size)
    if len(header) < _LENGTHS.size:
        return None
    text_length, data_length = _LENGTHS.unpack(header)
    if text_length + data_length > MAX_MESSAGE_BYTES:
        raise BadFrame("the message is too large")
    text, data = stream.read(text_length), stream.read(data_length)
    if len(text) < text_length or len(data) < data_length:
        return None
    return _parse(text, data)


def _parse(text: bytes, data: bytes) -> Message:
    try:
        message = json.loads(text)
        if isinstance(message, dict):
            return {name: _from_json(value, data) for name, value in message.items()}
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFrame(str(error)) from error
    raise BadFrame("the message is not a mapping")


def _to_json(value: Any, data: bytearray) -> Any:
    """Return a value for JSON; bytes in it are appended to ``data``."""
    if isinstance(value, (bytes, bytearray)):
        start = len(data)
        data += value
        return {_MARK: [start, len(data)]}
    if isinstance(value, Mapping):
        if value.keys() == {_MARK}:
            return {_MARK: {_MARK: _to_json(value[_MARK], data)}}
        return {name: _to_json(item, data) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item, data) for item in value]
    return value


def _from_json(value: Any, data: bytes) -> Any:
    if isinstance(value, list):
        return [_from_json(item, data) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {_MARK}:
        return {name: _from_json(item, data) for name, item in value.items()}
    marked = value[_MARK]
    if isinstance(marked, dict):
        return {_MARK: _from_json(marked[_MARK], data)}
    start, end = marked
    return data[start:end]
