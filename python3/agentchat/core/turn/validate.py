"""From what the model sent to a call that can be judged, or the error that says why not.

Beside the tool's own arguments a call may have reserved fields, which belong to the plugin: they
are asked for in the schema, checked here, and taken out before the tool sees the arguments.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.messages import ToolCall
from agentchat.core.text import clip
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import ArgumentError, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.effects import Parse, Plan, do

CONFIDENCE = "_confidence"
REVERSE_THINKING = "_reverse_thinking"
THOUGHTS = ("hidden_assumptions", "failure_scenarios", "verdict")
LISTED_PROBLEMS = 20
"""Problems of one call's arguments that are listed; the model rarely needs more."""

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


class InvalidCall(ToolError):
    """A call that cannot be judged; the message tells the model why."""


def validate(call: ToolCall, toolbox: Toolset) -> Plan[ValidCall]:
    """Return the call ready to be judged.

    Raises:
        InvalidCall: names the first broken rule of: known, complete, JSON, schema, confidence.
    """
    tool = toolbox.find(call.name)
    if tool is None:
        raise InvalidCall(toolbox.unknown_tool_message(clip(call.name)))
    if call.cut_off:
        raise InvalidCall(cut_off(call.name))
    given = parse_object(call)
    reserved = {name: given.pop(name) for name in _SCHEMAS if name in given}
    arguments = yield from _arguments(tool, given)
    wrong = reserved_problem(tool, reserved)
    if wrong is not None:
        raise InvalidCall(wrong)
    return ValidCall(call, tool, given, arguments, reserved=reserved)


def without_reserved(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the tool itself takes."""
    return {name: value for name, value in given.items() if name not in _SCHEMAS}


def cut_off(name: str) -> str:
    """Return the answer to a call whose stream ended before it was complete."""
    ended = "was cut off before it was complete; it was not run"
    return f'The call to "{clip(name)}" {ended}. Send it again.'


def _arguments(tool: Tool, given: Mapping[str, Any]) -> Plan[Any]:
    try:
        return (yield from do(Parse(tool, given)))
    except ArgumentError as error:
        lines = [f"  - {clip(name)}: {clip(reason)}" for name, reason in error.problems]
        more = len(lines) - LISTED_PROBLEMS
        lines[LISTED_PROBLEMS:] = [f"  - and {more} more"] if more > 0 else []
        head = f'Validation failed for tool "{tool.name}":'
        raise InvalidCall("\n".join([head, *lines])) from error
    except ToolError as error:
        raise InvalidCall(str(error)) from error


def parse_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as one JSON object; no text at all means an empty one.

    Raises:
        InvalidCall: the text is not JSON, or not an object.
    """
    text = call.arguments.strip()
    try:
        value = json.loads(
            text or "{}",
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError) as error:
        raise _not_json(call.name, clip(str(error)) or "nested too deep") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = "a string" if isinstance(value, str) else f"a JSON {type(value).__name__}"
        raise _not_json(call.name, f"expected an object, got {kind}")
    return value


def _not_json(name: str, reason: str) -> InvalidCall:
    text = f'Arguments for "{name}" are not valid JSON: {reason}. Send one JSON object.'
    return InvalidCall(text)


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            # A preview and a tool that read different ones would show one thing and do another.
            raise ValueError(f"the key {clip(name)!r} is there twice")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {clip(digits)} is too large")
    return number


# --- reserved fields ------------------------------------------------------------------------


def required_fields(tool: Tool) -> dict[str, str]:
    """Return the reserved fields a call of this tool must have, each with how to ask for it."""
    found: dict[str, str] = {}
    least = tool.capability.min_confidence
    if least > 0:
        found[CONFIDENCE] = f"requires {CONFIDENCE} (0-100) in input, min={least}"
    if tool.metadata.requires_reverse_thinking:
        found[REVERSE_THINKING] = f"requires {REVERSE_THINKING} ({', '.join(THOUGHTS)}) in input"
    return found


def offered_description(tool: Tool) -> str:
    """Return the description as the model reads it."""
    return " ".join([tool.description, *required_fields(tool).values()])


def offered_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema as the model reads it; the tool's own is not changed."""
    schema = tool.arguments.schema()
    fields = required_fields(tool)
    if not fields:
        return schema
    properties = {**(schema.get("properties") or {}), **{f: _SCHEMAS[f] for f in fields}}
    required = [*(schema.get("required") or ()), *fields]
    return {**schema, "properties": properties, "required": required}


def reserved_problem(tool: Tool, reserved: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a call's reserved fields, if anything."""
    for name, text in required_fields(tool).items():
        is_complete = _is_confidence if name == CONFIDENCE else _is_thought_over
        if not is_complete(reserved.get(name)):
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
