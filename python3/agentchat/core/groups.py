"""Named sets of tools that are given to a chat together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """Tools by name; ``prompt`` stands for the group's mention, ``system_prompt`` joins in.

    ``replace_system_prompt`` puts the group's own system prompt in place of the default one;
    ``ignore_tool_prompts`` leaves out what its tools would add to it; ``collapse`` shows the
    group as one context line instead of one per tool.
    """

    name: str
    tools: tuple[str, ...]
    prompt: str = ""
    system_prompt: str = ""
    replace_system_prompt: bool = False
    collapse: bool = True
    ignore_tool_prompts: bool = False


FILES = ("read", "grep", "find", "ls", "edit", "write", "delete")
READONLY = ("read", "grep", "find", "ls", "diagnostics")
AGENT = (*READONLY, "edit", "write", "delete", "bash", "ast_edit", "ask")

BUILTIN_GROUPS = (Group("agent", AGENT), Group("files", FILES), Group("readonly", READONLY))


def parse_groups(given: Mapping[str, Mapping[str, Any]]) -> tuple[Group, ...]:
    """Return the built-in groups and the user's, whose same names replace the built-in ones."""
    groups = {group.name: group for group in BUILTIN_GROUPS}
    for name, spec in given.items():
        groups[name] = Group(
            name=name,
            tools=tuple(spec.get("tools") or ()),
            prompt=spec.get("prompt") or "",
            system_prompt=spec.get("system_prompt") or "",
            replace_system_prompt=bool(spec.get("replace_system_prompt", False)),
            collapse=bool(spec.get("collapse", True)),
            ignore_tool_prompts=bool(spec.get("ignore_tool_prompts", False)),
        )
    return tuple(groups.values())
