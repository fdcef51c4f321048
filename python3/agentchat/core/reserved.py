"""Fields of a call that belong to the runtime, not the tool: asked for, checked, taken out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentchat.core.tool import Tool

CONFIDENCE = "_confidence"
REVERSE_THINKING = "_reverse_thinking"
THOUGHTS = ("hidden_assumptions", "failure_scenarios", "verdict")

_SCHEMAS: dict[str, dict[str, Any]] = {
    CONFIDENCE: {"type": "number", "minimum": 0, "maximum": 100},
    REVERSE_THINKING: {
        "type": "object",
        "properties": {
            "hidden_assumptions": {"type": "array", "items": {"type": "string"}},
            "failure_scenarios": {"type": "array", "items": {"type": "string"}},
            "verdict": {"type": "string", "enum": ["proceed", "reconsider"]},
            "verdict_reason": {"type": "string"},
        },
        "required": list(THOUGHTS),
    },
}


def wanted(tool: Tool) -> dict[str, str]:
    """Return the reserved fields a call of this tool must have, each with how to say so."""
    found: dict[str, str] = {}
    least = tool.capability.min_confidence
    if least > 0:
        found[CONFIDENCE] = f"requires {CONFIDENCE} (0-100) in input, min={least}"
    if tool.metadata.requires_reverse_thinking:
        found[REVERSE_THINKING] = f"requires {REVERSE_THINKING} ({', '.join(THOUGHTS)}) in input"
    return found


def offered_description(tool: Tool) -> str:
    """Return the description as the model reads it."""
    return " ".join([tool.description, *wanted(tool).values()])


def offered_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema as the model reads it; the tool's own is not changed."""
    schema = tool.arguments.schema()
    fields = wanted(tool)
    if not fields:
        return schema
    properties = {**(schema.get("properties") or {}), **{f: _SCHEMAS[f] for f in fields}}
    required = [*(schema.get("required") or ()), *fields]
    return {**schema, "properties": properties, "required": required}


def take(given: dict[str, Any]) -> dict[str, Any]:
    """Take the reserved fields out of a call's arguments and return them."""
    return {name: given.pop(name) for name in _SCHEMAS if name in given}


def problem(tool: Tool, reserved: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a call's reserved fields, if anything."""
    for name, text in wanted(tool).items():
        complete = _is_confidence if name == CONFIDENCE else _is_thought_over
        if not complete(reserved.get(name)):
            return text
    needed = tool.capability.min_confidence
    if needed > 0 and reserved[CONFIDENCE] < needed:
        return f"confidence {reserved[CONFIDENCE]:g} below required {needed}"
    return None


def _is_confidence(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 <= value <= 100


def _is_thought_over(value: Any) -> bool:
    return isinstance(value, Mapping) and all(value.get(name) for name in THOUGHTS)
