"""The tools of a chat with all that they declare, as data for Lua and for the user's functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import Toolset

INACTIVE = "inactive"
"""The state of a tool that the chat was not given."""


def describe_tools(toolset: Toolset, is_hidden: Callable[[Tool], bool]) -> list[dict[str, Any]]:
    """Return every tool that can be mentioned, with its state and groups, as JSON data.

    Args:
        is_hidden: whether the mode keeps a tool from the model.
    """
    given, deferred = _names(toolset.tools()), _names(toolset.deferred())
    groups = {group.name: _names(toolset.named(group.name)) for group in toolset.groups()}

    def state(tool: Tool) -> str:
        if tool.name not in given:
            return INACTIVE
        if is_hidden(tool):
            return "hidden"
        return "deferred" if tool.name in deferred else "active"

    return [
        _describe(tool, state(tool), [name for name, names in groups.items() if tool.name in names])
        for tool in toolset.all_tools()
    ]


def _describe(tool: Tool, state: str, groups: list[str]) -> dict[str, Any]:
    metadata, capability = tool.metadata, tool.capability
    resources = tool.affected_resources
    return {
        "name": tool.name,
        "label": tool.label or tool.name,
        "description": tool.description,
        "state": state,
        "groups": groups,
        "metadata": {
            **{field.name: getattr(metadata, field.name) for field in fields(metadata)},
            "aliases": list(metadata.aliases),
        },
        "capability": {
            **{field.name: getattr(capability, field.name) for field in fields(capability)},
            "safety_level": capability.safety_level,
            "affected_resources": list(resources) if isinstance(resources, tuple) else [],
        },
    }


def _names(tools: Iterable[Tool]) -> set[str]:
    return {tool.name for tool in tools}
