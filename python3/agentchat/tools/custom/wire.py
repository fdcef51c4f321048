"""The messages between the plugin and the process in which tools run.

Each is a list of msgpack: the number of the request it belongs to, its kind, and what that kind
has. What a user's function may hold (arguments, details) travels as a text of JSON inside.

To the process: ``import`` ``call`` ``check`` ``callback`` (requests), ``give_up``, ``answer``.
From it: ``done`` ``failed`` (the end of a request), ``heard`` ``over`` (a request that was given
up: the process knows, the function has ended), ``progress``, ``ask`` (what a context is asked).
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from typing import Any

import msgpack

from agentchat.core.errors import ToolError
from agentchat.core.messages import Image
from agentchat.core.tools.tool import ArgumentError, Result

MOST_BYTES = 256 * 1024 * 1024
"""Of what waits to be read; who sends more sends nonsense."""

CHUNK = 1024 * 1024

GONE = "What this needs is not there any more: its file was changed, or its process ended."


class Failed(Exception):
    """What a function raised, with a message that every reader can take."""


class Trace(Exception):
    """Where something was raised in another process, for the log."""


def packed(*message: Any) -> bytes:
    """Return a message as bytes; a lone surrogate in a text becomes a question mark."""
    data: bytes = msgpack.packb(message, unicode_errors="replace")
    return data


def unpacker() -> Any:
    """Return what takes bytes by ``feed`` and is iterated over for whole messages."""
    return msgpack.Unpacker(max_buffer_size=MOST_BYTES, unicode_errors="replace")


def result_told(result: Result) -> dict[str, Any]:
    """Return a result as it travels."""
    return {
        "text": result.text,
        "is_error": result.is_error,
        "details": None if result.details is None else json.dumps(result.details),
        "images": [[image.mime, image.data] for image in result.images],
        "shown": result.shown,
    }


def result_heard(told: Mapping[str, Any]) -> Result:
    """Return a result that travelled."""
    details = told["details"]
    return Result(
        str(told["text"]),
        is_error=bool(told["is_error"]),
        details=None if details is None else json.loads(details),
        images=tuple(Image(mime, data) for mime, data in told["images"]),
        shown=told["shown"],
    )


def error_told(error: BaseException) -> list[Any]:
    """Return an error as it travels."""
    if isinstance(error, ToolError):
        return ["tool", str(error)]
    if isinstance(error, ArgumentError):
        return ["arguments", error.problems]
    if isinstance(error, OSError):
        return ["os", error.errno, error.strerror, error.filename]
    return ["other", str(error), "".join(traceback.format_exception(error.__cause__ or error))]


def error_heard(told: list[Any]) -> Exception:
    """Return an error that travelled."""
    kind, *about = told
    if kind == "tool":
        return ToolError(*about)
    if kind == "arguments":
        return ArgumentError(tuple((name, reason) for name, reason in about[0]))
    if kind == "os":
        return OSError(*about)
    failed = Failed(about[0])
    failed.__cause__ = Trace(about[1])
    return failed
