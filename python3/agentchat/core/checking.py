"""From what the model sent to a call that can be judged, or to the answer that says why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentchat.core.calls import Call
from agentchat.core.effects import Parse, Plan, do
from agentchat.core.messages import Status, ToolCall, ToolResult
from agentchat.core.reserved import problem, take
from agentchat.core.tool import ArgumentError, Tool
from agentchat.core.toolbox import Toolbox


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
