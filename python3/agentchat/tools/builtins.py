"""The tools that the plugin brings, together."""

from __future__ import annotations

from agentchat.core.tools.tool import Tool
from agentchat.tools import (
    ask,
    ast_edit,
    bash,
    delete,
    diagnostics,
    edit,
    find,
    grep,
    ls,
    read,
    resolve,
    tool_search,
    write,
)
from agentchat.tools.collecting import collecting

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
    resolve.TOOL,
    tool_search.TOOL,
)
"""In the order in which they are listed."""

CHANGING = frozenset({edit.TOOL.name, write.TOOL.name, delete.TOOL.name})


def builtins(edits: str = "ask") -> tuple[Tool, ...]:
    """Return the tools; those that change files ``ask`` before each call, or ``stage`` it."""
    if edits != "stage":
        return BUILTINS
    return tuple(collecting(tool) if tool.name in CHANGING else tool for tool in BUILTINS)
