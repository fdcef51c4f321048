"""The built-in tools, and their groups."""

from __future__ import annotations

from agentchat.core.tools.registry import Group
from agentchat.core.tools.system_prompt import SKILL
from agentchat.core.tools.tool import Tool
from agentchat.tools.builtin import (
    ask,
    ast_edit,
    bash,
    delete,
    diagnostics,
    edit,
    fetch,
    find,
    grep,
    ls,
    read,
    resolve,
    todo,
    tool_search,
    write,
)
from agentchat.tools.staging import make_staging

FILES = ("read", "grep", "find", "ls", "edit", "write", "delete")
READONLY = ("read", "grep", "find", "ls", "diagnostics", SKILL)
AGENT = (*READONLY, "edit", "write", "delete", "bash", "ast_edit", "ask", "todo")

WEB = ("fetch",)

BUILTIN_GROUPS = (
    Group("agent", AGENT),
    Group("files", FILES),
    Group("readonly", READONLY),
    Group("web", WEB),
)

BUILTINS: tuple[Tool, ...] = (
    read.TOOL,
    grep.TOOL,
    find.TOOL,
    ls.TOOL,
    diagnostics.TOOL,
    edit.TOOL,
    write.TOOL,
    delete.TOOL,
    bash.TOOL,
    ast_edit.TOOL,
    ask.TOOL,
    todo.TOOL,
    fetch.TOOL,
    resolve.TOOL,
    tool_search.TOOL,
)
"""In the order of lists."""

CHANGING = frozenset({edit.TOOL.name, write.TOOL.name, delete.TOOL.name})


def builtin_tools(edits: str = "ask") -> tuple[Tool, ...]:
    """Return the tools; those that change files ``ask`` before each call, or ``stage`` it."""
    if edits != "stage":
        return BUILTINS
    return tuple(make_staging(tool) if tool.name in CHANGING else tool for tool in BUILTINS)
