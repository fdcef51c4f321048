"""What commands list about a chat, as lines and items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from agentchat.core.permissions.grants import Scope
from agentchat.core.permissions.policy import mode_forbids
from agentchat.core.text import escape_hidden_characters
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.chat import Chat


def approvals(chat: Chat) -> list[dict[str, Any]]:
    """Return what the chat remembers: ``id``, ``text`` with the exact scope, ``uses``."""
    items = chat.policy.grants.items()
    return [{"id": scope_id(s), "text": s.description, "uses": uses} for s, uses in items]


def revoke(chat: Chat, wanted: str | None) -> None:
    """Forget one remembered answer by its id, or all of them."""
    if wanted is None:
        chat.policy.grants.clear()
        return
    for scope, _ in chat.policy.grants.items():
        if scope_id(scope) == wanted:
            chat.policy.grants.revoke(scope)


def scope_id(scope: Scope) -> str:
    """Return a short name of a scope that stays the same while it is remembered."""
    said = "\0".join((scope.tool, scope.definition, *scope.key))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def tools(chat: Chat) -> list[str]:
    """Return the tools and groups there are, and what this chat has of them."""
    toolbox, mode = chat.toolset, chat.policy.mode
    given, deferred = toolbox.tools(), toolbox.deferred()
    hidden = [tool for tool in given if mode_forbids(mode, tool)]
    away, known = _names([*hidden, *deferred]), _names(given)
    active = [tool for tool in given if tool.name not in away]
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
    return lines


def _names(tools: Iterable[Tool]) -> set[str]:
    return {tool.name for tool in tools}


def _section(title: str, tools: Iterable[Tool]) -> list[str]:
    """Return a headline and a line for each tool; nothing where there is none."""
    listed = list(tools)
    width = max((len(tool.name) for tool in listed), default=0)
    lines = [f"  {tool.name:<{width}}  {_about(tool)}".rstrip() for tool in listed]
    return [title, *lines, ""] if lines else []


def _about(tool: Tool) -> str:
    return escape_hidden_characters(tool.snippet or tool.description.split("\n", 1)[0])


def mentions(chat: Chat) -> list[dict[str, Any]]:
    """Return the names a mention can have: ``name``, ``kind``, ``about``, ``given``."""
    toolbox, given = chat.toolset, _names(chat.toolset.tools())
    return [
        *(_mention(t.name, "tool", t.snippet, t.name in given) for t in toolbox.all_tools()),
        *(
            _mention(group.name, "group", ", ".join(group.tools), toolbox.has_name(group.name))
            for group in toolbox.groups()
        ),
    ]


def _mention(name: str, kind: str, about: str, given: bool) -> dict[str, Any]:
    return {"name": name, "kind": kind, "about": about, "given": given}
