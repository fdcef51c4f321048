"""The frames of a connection: messages of JSON and bytes, each with its length.

A frame is the length of the JSON and the length of the bytes (4 bytes each, most significant
first), the JSON, the bytes. A value of bytes is ``{"\\0": [start, end]}`` in the JSON. A mapping
with this single key is escaped as ``{"\\0": {"\\0": VALUE}}``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

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
