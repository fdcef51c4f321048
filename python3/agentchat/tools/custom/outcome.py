"""What a function of the user's returned, as a result that everything downstream can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from agentchat.core.errors import ToolError
from agentchat.core.tools import tool as core
from agentchat.tools.custom.context import Result

MOST_CHARACTERS = 16 * 1024 * 1024
"""A longer text is cut before anything else is done with it."""

NOTHING = "(no output)"


def result_of(value: Any, name: str) -> core.Result:
    """Return the result a value stands for.

    Raises:
        ToolError: it is neither text nor anything that JSON can say.
    """
    if isinstance(value, core.Result):
        return value
    if not isinstance(value, Result):
        return core.Result(text_of(value, name))
    return core.Result(
        text_of(value.text, name),
        is_error=bool(value.is_error),
        details=_details(value.details, name),
        shown=None if value.shown is None else text_of(value.shown, name),
    )


def text_of(value: Any, name: str) -> str:
    """Return text as it is and any other value as JSON, without what no screen can show."""
    if value is None:
        return NOTHING
    if isinstance(value, bytes):
        return _bounded(value[:MOST_CHARACTERS].decode("utf-8", "replace"))
    if isinstance(value, str):
        return _bounded(str(value))
    try:
        return _bounded(to_json(value, inf_nan_mode="constants").decode("utf-8"))
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise ToolError(_nonsense(value, name, error)) from error


def _bounded(text: str) -> str:
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n[... {len(text) - MOST_CHARACTERS} characters left out]"
    # A lone surrogate is no character: neither a server nor Neovim takes it.
    return text.encode("utf-8", "replace").decode("utf-8")


def _details(details: Any, name: str) -> Mapping[str, Any] | None:
    """Return details as the plain data that JSON has: numbers, text, lists, mappings."""
    if details is None:
        return None
    try:
        data = to_jsonable_python(details)
        plain = json.loads(json.dumps(data, allow_nan=False).encode("utf-8", "replace"))
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise ToolError(_nonsense(details, name, error)) from error
    if not isinstance(plain, dict):
        raise ToolError(f"{name} failed: details must be a mapping, not {type(details).__name__}.")
    return plain


def _nonsense(value: Any, name: str, error: Exception) -> str:
    kind, reason = type(value).__name__, str(error).split("\n", 1)[0]
    return f"{name} returned a value of type {kind} that is no text and no JSON: {reason}"
