"""Validate the calls of a reply.

Beside the tool's own arguments a call may have reserved fields, which belong to the plugin: the
schema asks for them, this module checks them, and the tool never sees them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.messages import ToolCall
from agentchat.core.text import clip
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import ArgumentError, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.effects import Parse, Plan, do
from agentchat.core.turn.reverse_thinking import REVERSE_THINKING, SCHEMA, thinking_problems

CONFIDENCE = "_confidence"
LISTED_PROBLEMS = 20
"""Problems of one call's arguments that are listed."""

_SCHEMAS: dict[str, dict[str, Any]] = {
    CONFIDENCE: {"type": "number", "minimum": 0, "maximum": 100},
    REVERSE_THINKING: SCHEMA,
}


class InvalidCall(ToolError):
    """A call that breaks a rule below; the message tells the model which."""


def validate(call: ToolCall, toolset: Toolset) -> Plan[ValidCall]:
    """Return the call with its tool and parsed arguments.

    Raises:
        InvalidCall: names the first broken rule of: known, complete, JSON, schema, confidence.
    """
    tool = toolset.find(call.name)
    if tool is None:
        raise InvalidCall(toolset.unknown_tool_message(clip(call.name)))
    return (yield from validate_for(call, tool))


def validate_for(call: ToolCall, tool: Tool) -> Plan[ValidCall]:
    """Return the call with this tool and parsed arguments; raises InvalidCall."""
    if call.cut_off:
        raise InvalidCall(cut_off_message(call.name))
    raw_arguments = parse_object(call)
    reserved = {name: raw_arguments.pop(name) for name in _SCHEMAS if name in raw_arguments}
    arguments = yield from _parse_arguments(tool, raw_arguments)
    problem = reserved_problem(tool, reserved)
    if problem is not None:
        raise InvalidCall(problem)
    return ValidCall(
        call=call, tool=tool, raw_arguments=raw_arguments, arguments=arguments, reserved=reserved
    )


def without_reserved(raw_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the tool itself."""
    return {name: value for name, value in raw_arguments.items() if name not in _SCHEMAS}


def cut_off_message(name: str) -> str:
    """Return the answer to a call whose stream ended before it was complete."""
    problem = "was cut off before it was complete; it was not run"
    return f'The call to "{clip(name)}" {problem}. Send it again.'


def _parse_arguments(tool: Tool, raw_arguments: Mapping[str, Any]) -> Plan[Any]:
    try:
        return (yield from do(Parse(tool, raw_arguments)))
    except ArgumentError as error:
        raise InvalidCall(_validation_message(tool, error.problems)) from error
    except ToolError as error:
        raise InvalidCall(str(error)) from error


def _validation_message(tool: Tool, problems: Sequence[tuple[str, str]]) -> str:
    """Return the message that names each field (with its reason) of a call that does not fit."""
    lines = [f"  - {clip(name)}: {clip(reason)}" for name, reason in problems]
    more = len(lines) - LISTED_PROBLEMS
    lines[LISTED_PROBLEMS:] = [f"  - and {more} more"] if more > 0 else []
    return "\n".join([f'Validation failed for tool "{tool.name}":', *lines])


def parse_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as one JSON object; no text at all means an empty one.

    Raises:
        InvalidCall: the text is not JSON, or not an object.
    """
    text = call.arguments.strip()
    try:
        value = json.loads(
            text or "{}",
            object_pairs_hook=_object_without_repeats,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
        )
    except (ValueError, RecursionError) as error:
        raise _not_json_error(call.name, clip(str(error)) or "nested too deep") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = "a string" if isinstance(value, str) else f"a JSON {type(value).__name__}"
        raise _not_json_error(call.name, f"expected an object, got {kind}")
    return value


def _not_json_error(name: str, reason: str) -> InvalidCall:
    text = f'Arguments for "{name}" are not valid JSON: {reason}. Send one JSON object.'
    return InvalidCall(text)


def _object_without_repeats(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            # If the preview and the tool read different ones, the user would approve the wrong one.
            raise ValueError(f"the key {clip(name)!r} is there twice")
        values[name] = value
    return values


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {clip(digits)} is too large")
    return number


# --- reserved fields ------------------------------------------------------------------------


def required_fields(tool: Tool) -> dict[str, str]:
    """Return the reserved fields that a call of this tool needs, each with its description."""
    fields: dict[str, str] = {}
    minimum = tool.capability.min_confidence
    if minimum > 0:
        fields[CONFIDENCE] = f"requires {CONFIDENCE} (0-100) in input, min={minimum}"
    if tool.metadata.requires_reverse_thinking:
        names = ", ".join(SCHEMA["required"])
        fields[REVERSE_THINKING] = f"requires {REVERSE_THINKING} ({names}) in input"
    return fields


def model_description(tool: Tool) -> str:
    """Return the description for the model, with the reserved fields."""
    return " ".join([tool.description, *required_fields(tool).values()])


def model_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema for the model, with the reserved fields."""
    schema = tool.arguments.schema()
    fields = required_fields(tool)
    if not fields:
        return schema
    properties = {**(schema.get("properties") or {}), **{f: _SCHEMAS[f] for f in fields}}
    required = [*(schema.get("required") or ()), *fields]
    return {**schema, "properties": properties, "required": required}


def reserved_problem(tool: Tool, reserved: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a call's reserved fields, if anything."""
    minimum = tool.capability.min_confidence
    if minimum > 0 and not _is_confidence(reserved.get(CONFIDENCE)):
        return required_fields(tool)[CONFIDENCE]
    if minimum > 0 and reserved[CONFIDENCE] < minimum:
        return f"confidence {reserved[CONFIDENCE]:g} below required {minimum}"
    if not tool.metadata.requires_reverse_thinking:
        return None
    problems = thinking_problems(reserved.get(REVERSE_THINKING))
    return _validation_message(tool, problems) if problems else None


def _is_confidence(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 <= value <= 100
