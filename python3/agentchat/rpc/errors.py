"""Errors of a connection, and the encoding of errors that are sent over it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping
from typing import Any

from agentchat.core.errors import StalePreview, ToolError

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
