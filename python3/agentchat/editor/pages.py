"""What commands list about a chat, as lines and items."""

from __future__ import annotations

import hashlib
from typing import Any

from agentchat.core.approval import Scope
from agentchat.core.chat import Chat
from agentchat.core.tool import Tool


def approvals(chat: Chat) -> list[dict[str, Any]]:
    """Return what the chat remembers: ``id``, ``text`` with the exact scope, ``uses``."""
    items = chat.policy.grants.items()
    return [{"id": scope_id(s), "text": s.shown, "uses": uses} for s, uses in items]


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
    """Return the tools and groups there are, and which this chat has."""
    active = {tool.name for tool in chat.toolbox.tools()}
    known = chat.toolbox.everything()
    width = max((len(tool.name) for tool in known), default=0)
    lines = ["Tools (* active in this chat)", ""]
    lines += [_tool_line(tool, tool.name in active, width) for tool in known]
    lines += ["", "Groups", ""]
    lines += [f"  {group.name}: {', '.join(group.tools)}" for group in chat.toolbox.groups()]
    return lines


def _tool_line(tool: Tool, active: bool, width: int) -> str:
    mark = "*" if active else " "
    about = tool.snippet or tool.description.split("\n", 1)[0]
    return f"{mark} {tool.name:<{width}}  {about}".rstrip()


def mentions(chat: Chat) -> list[dict[str, str]]:
    """Return the names a mention can have: ``name``, ``kind``, ``about``."""
    found = [
        {"name": tool.name, "kind": "tool", "about": tool.snippet}
        for tool in chat.toolbox.everything()
    ]
    found += [
        {"name": group.name, "kind": "group", "about": ", ".join(group.tools)}
        for group in chat.toolbox.groups()
    ]
    return found
