"""The built-in tools, one file each."""

from __future__ import annotations

from agentchat.core.tool import Tool
from agentchat.tools import ast_edit, bash, delete, edit, find, grep, ls, read, resolve, write

BUILTINS: tuple[Tool, ...] = (
    read.TOOL,
    grep.TOOL,
    find.TOOL,
    ls.TOOL,
    edit.TOOL,
    write.TOOL,
    delete.TOOL,
    bash.TOOL,
    ast_edit.TOOL,
    resolve.TOOL,
)
"""In the order in which they are listed."""
