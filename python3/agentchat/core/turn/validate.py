"""From what the model sent to a call that can be judged, or to the answer that says why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentchat.core.messages import Status, ToolCall, ToolResult
from agentchat.core.tools.call import Call
from agentchat.core.tools.tool import ArgumentError, Tool
from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.effects import Parse, Plan, do

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


@dataclass(frozen=True)
class Refusal(Exception):
    """Why a call cannot be judged, as the model is told."""

    text: str


def check(call: ToolCall, toolbox: Toolbox) -> Plan[Call | ToolResult]:
    """Return the call ready to be judged, or the result that answers it.

    The first broken rule of: known, complete, JSON, schema, confidence.
    """
    try:
        tool = toolbox.find(call.name)
        if tool is None:
            raise Refusal(toolbox.unknown(call.name))
        if call.cut_off:
            raise Refusal(cut_off(call.name))
        return (yield from _parsed(call, tool))
    except Refusal as refusal:
        return ToolResult(call.id, call.name, refusal.text, Status.ERROR)


def cut_off(name: str) -> str:
    """Return what is said of a call whose stream ended before it was complete."""
    ended = "was cut off before it was complete; it was not run"
    return f'The call to "{name}" {ended}. Send it again.'


def _parsed(call: ToolCall, tool: Tool) -> Plan[Call]:
    given = parse_object(call)
    reserved = take(given)
    arguments = yield from do(Parse(tool, given), object)
    if isinstance(arguments, ArgumentError):
        lines = [f"  - {name}: {reason}" for name, reason in arguments.problems]
        head = f'Validation failed for tool "{tool.name}":'
        raise Refusal("\n".join([head, *lines]))
    wrong = problem(tool, reserved)
    if wrong is not None:
        raise Refusal(wrong)
    return Call(call, tool, given, arguments, reserved=reserved)


def parse_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as one JSON object; nothing sent at all means an empty one."""
    text = call.arguments.strip()
    try:
        value = json.loads(text or "{}", object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(_not_json(call.name, str(error) or "nested too deep")) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = "a string" if isinstance(value, str) else f"a JSON {type(value).__name__}"
        raise Refusal(_not_json(call.name, f"expected an object, got {kind}"))
    return value


def _not_json(name: str, reason: str) -> str:
    return f'Arguments for "{name}" are not valid JSON: {reason}. Send one JSON object.'


def _unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            # A preview and a tool that read different ones would show one thing and do another.
            raise ValueError(f"the key {name!r} is there twice")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
