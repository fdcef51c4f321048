"""The messages of a connection as bytes: JSON with bytes in it, each message with its length.

A frame is the length of the JSON and the length of the bytes (4 bytes each, most significant
first), the JSON, the bytes. Where the message holds bytes the JSON has ``{"\\0": [start, end]}``.
A mapping of the user's that has this very key is written as ``{"\\0": {"\\0": VALUE}}``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

_LENGTHS = struct.Struct(">II")
MAX_MESSAGE_BYTES = 1 << 30
"""The most bytes of one message."""

_MARK = "\0"
Message = dict[str, Any]


class BadFrame(Exception):
    """The bytes received are not a message."""


def pack(message: Mapping[str, Any]) -> bytes:
    """Return a message as a frame; it may hold what JSON can, and bytes."""
    data = bytearray()
    text = json.dumps(_plain(message, data)).encode()
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
            return {name: _with_bytes(value, data) for name, value in message.items()}
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFrame(str(error)) from error
    raise BadFrame("the message is not a mapping")


def _plain(value: Any, data: bytearray) -> Any:
    """Return a value as JSON takes it; bytes are appended to ``data``."""
    if isinstance(value, (bytes, bytearray)):
        start = len(data)
        data += value
        return {_MARK: [start, len(data)]}
    if isinstance(value, Mapping):
        if value.keys() == {_MARK}:
            return {_MARK: {_MARK: _plain(value[_MARK], data)}}
        return {name: _plain(item, data) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, data) for item in value]
    return value


def _with_bytes(value: Any, data: bytes) -> Any:
    if isinstance(value, list):
        return [_with_bytes(item, data) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {_MARK}:
        return {name: _with_bytes(item, data) for name, item in value.items()}
    marked = value[_MARK]
    if isinstance(marked, dict):
        return {_MARK: _with_bytes(marked[_MARK], data)}
    start, end = marked
    return data[start:end]
