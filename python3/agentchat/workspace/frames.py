"""Messages between the two ends of a connection: JSON with bytes in it, each with its length.

A frame is the length of the JSON and of the bytes (4 bytes each, the highest first), the JSON, the
bytes. Bytes of the message stand in the JSON as ``{"\\0": [from, to]}``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

_LENGTHS = struct.Struct(">II")
HEADER = _LENGTHS.size
LARGEST = 1 << 30
"""Bytes of a message that is still taken."""

_MARK = "\0"
Message = dict[str, Any]


class BadFrame(Exception):
    """What came is no message."""


def pack(message: Mapping[str, Any]) -> bytes:
    """Return a message as a frame; it holds what JSON can, and bytes."""
    data = bytearray()
    text = json.dumps(_plain(message, data)).encode()
    return _LENGTHS.pack(len(text), len(data)) + text + data


def lengths(header: bytes) -> tuple[int, int]:
    """Return how many bytes of JSON, and of bytes, follow a header; raises BadFrame."""
    text, data = _LENGTHS.unpack(header)
    if text + data > LARGEST:
        raise BadFrame("it is too large")
    return text, data


def unpack(text: bytes, data: bytes) -> Message:
    """Return the message of a frame; raises BadFrame."""
    try:
        message = json.loads(text)
        if isinstance(message, dict):
            return {name: _whole(value, data) for name, value in message.items()}
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFrame(str(error)) from error
    raise BadFrame("it is no message")


def _plain(value: Any, data: bytearray) -> Any:
    """Return a value as JSON takes it; bytes go to ``data``."""
    if isinstance(value, (bytes, bytearray)):
        start = len(data)
        data += value
        return {_MARK: [start, len(data)]}
    if isinstance(value, Mapping):
        return {name: _plain(item, data) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, data) for item in value]
    return value


def _whole(value: Any, data: bytes) -> Any:
    if isinstance(value, list):
        return [_whole(item, data) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_MARK}:
        start, end = value[_MARK]
        return data[start:end]
    return {name: _whole(item, data) for name, item in value.items()}
