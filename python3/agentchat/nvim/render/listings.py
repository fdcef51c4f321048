"""Lists of a chat for commands: remembered answers, tools, mentions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from agentchat.core.permissions.grants import Scope
from agentchat.core.text import escape_hidden_characters, escape_line
from agentchat.core.tools.description import INACTIVE, describe_tools
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.chat import Chat


def approvals(chat: Chat) -> list[dict[str, Any]]:
    """Return the remembered answers: ``id``, ``text`` with the exact scope, ``uses``."""
    items = chat.policy.grants.items()
    return [{"id": scope_id(s), "text": s.description, "uses": uses} for s, uses in items]


def revoke(chat: Chat, id: str | None) -> None:
    """Forget one remembered answer by its id, or all of them."""
    if id is None:
        chat.policy.grants.clear()
        return
    for scope, _ in chat.policy.grants.items():
        if scope_id(scope) == id:
            chat.policy.grants.revoke(scope)


def scope_id(scope: Scope) -> str:
    """Return a short id of a scope, the same as long as it is remembered."""
    text = "\0".join((scope.tool, scope.definition, *scope.key))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def tools(chat: Chat) -> list[str]:
    """Return all tools and groups, with those of this chat first."""
    toolbox, mode = chat.toolset, chat.policy.mode
    held, deferred = toolbox.tools(), toolbox.deferred()
    hidden = [tool for tool in held if chat.policy.forbids(tool)]
    inactive, known = _names([*hidden, *deferred]), _names(held)
    active = [tool for tool in held if tool.name not in inactive]
    others = [tool for tool in toolbox.all_tools() if tool.name not in known]
    lines = [
        *_section("Active", active),
        *_section("Deferred: the model finds them with tool_search", deferred),
        *_section(f"Hidden in {mode} mode", hidden),
        *_section("Not in this chat: :AgentTools add NAME, or @NAME in the prompt", others),
        "Groups (* given to this chat)",
    ]
    for group in toolbox.groups():
        mark = "*" if toolbox.has_name(group.name) else " "
        lines.append(f"{mark} {group.name}: {', '.join(group.tools)}")
    unknown = toolbox.unknown_names()
    return [*lines, "", *unknown] if unknown else lines


def rules_files(names: Iterable[str]) -> list[str]:
    """Return the rules files that count in a chat, if there are some."""
    lines = [f"  {escape_hidden_characters(name)}" for name in names]
    return ["", "Rules files", "", *lines] if lines else []


def _names(tools: Iterable[Tool]) -> set[str]:
    return {tool.name for tool in tools}


def _section(title: str, tools: Iterable[Tool]) -> list[str]:
    """Return a headline and a line for each tool; nothing if there is none."""
    tools = list(tools)
    width = max((len(tool.name) for tool in tools), default=0)
    lines = [f"  {tool.name:<{width}}  {_summary(tool)}".rstrip() for tool in tools]
    return [title, *lines, ""] if lines else []


def _summary(tool: Tool) -> str:
    summary = escape_hidden_characters(tool.snippet or tool.description.split("\n", 1)[0])
    nature = describe_nature(tool)
    return f"{summary} [{nature}]" if nature else summary


def describe_nature(tool: Tool) -> str:
    """Return what a tool declares of its safety, like ``dry run, undo``; empty if nothing."""
    metadata, capability = tool.metadata, tool.capability
    resources = tool.affected_resources
    affects = ", ".join(resources) if isinstance(resources, tuple) else "what a call says"
    natures = {
        "reads": metadata.read_only,
        "destructive": metadata.destructive,
        "dry run": capability.dry_run,
        f"undo {capability.undo_text}".strip(): capability.reversible or capability.undo_method,
        "checkpoint": metadata.requires_checkpoint,
        "reverse thinking": metadata.requires_reverse_thinking,
        f"confidence {capability.min_confidence}": capability.min_confidence > 0,
        f"affects {affects}": bool(resources),
    }
    return escape_line(", ".join(name for name, is_declared in natures.items() if is_declared))


def mentions(chat: Chat) -> list[dict[str, Any]]:
    """Return the names that a prompt can mention: ``name``, ``kind``, ``about``, ``given``.

    That of a tool has all that the tool declares as ``tool``.
    """
    toolbox = chat.toolset
    snippets = {tool.name: tool.snippet for tool in toolbox.all_tools()}

    def described(table: dict[str, Any]) -> dict[str, Any]:
        given = table["state"] != INACTIVE
        name = table["name"]
        return {**_mention(name, "tool", snippets[name], given), "tool": table}

    return [
        *map(described, describe_tools(toolbox, chat.policy.forbids)),
        *(
            _mention(group.name, "group", ", ".join(group.tools), toolbox.has_name(group.name))
            for group in toolbox.groups()
        ),
    ]


def _mention(name: str, kind: str, about: str, given: bool) -> dict[str, Any]:
    return {"name": name, "kind": kind, "about": about, "given": given}
