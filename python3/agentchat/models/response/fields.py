"""Fields of decoded JSON; those that are missing or of the wrong type count as empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentchat.models.response.refusal import one_line

MOST_TOKENS = 10**12
"""A larger count (JSON allows ``Infinity``) is not one."""


def string(value: object) -> str:
    """Return ``value`` if it is a string."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """Return ``value`` if it is a JSON object."""
    return value if isinstance(value, dict) else {}


def mappings(values: object) -> list[dict[str, Any]]:
    """Return the JSON objects in a list."""
    return [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []


def integer(value: object) -> int | None:
    """Return ``value`` if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(fields: Mapping[str, Any], key: str) -> int:
    """Return a number of tokens."""
    value = fields.get(key)
    return int(value) if isinstance(value, (int, float)) and 0 < value < MOST_TOKENS else 0


def error_in(event: Mapping[str, Any]) -> str | None:
    """Return the message of an event that reports an error, else None."""
    if event.get("error"):
        return error_message(event["error"])
    if event.get("object") == "error" or event.get("type") == "error":
        return error_message(event)
    return None


def error_message(error: object) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code")
    return one_line(str(error or "no reason given"))
