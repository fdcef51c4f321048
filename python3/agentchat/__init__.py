"""agentchat.nvim: an AI coding agent that lives in a Neovim buffer and asks before it acts.

Files with tools of your own import ``tool``, ``Context``, ``Result``, ``DryRun``, ``ToolError``,
``Irreversible``, ``Group``, ``checkpoint`` and ``result_processor`` from here: see
``:help agentchat-custom-tools``. Files with operations import the protocols of these: see
``:help agentchat-operations``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentchat.core.errors import Irreversible, ToolError
    from agentchat.core.tools.registry import Group
    from agentchat.tools.custom.declaration.checkpoint import checkpoint
    from agentchat.tools.custom.declaration.context import Context, DryRun, Result
    from agentchat.tools.custom.declaration.definition import tool
    from agentchat.tools.custom.declaration.processor import result_processor
    from agentchat.tools.custom.declaration.registration import (
        register_tool,
        registry,
        unregister_tool,
    )
    from agentchat.workspace.operations.port import BashOperations, EditOperations, ReadOperations

__version__ = "0.1.0"
__all__ = [
    "BashOperations",
    "Context",
    "DryRun",
    "EditOperations",
    "Group",
    "Irreversible",
    "ReadOperations",
    "Result",
    "ToolError",
    "__version__",
    "checkpoint",
    "register_tool",
    "registry",
    "result_processor",
    "tool",
    "unregister_tool",
]

_HOMES = {
    "BashOperations": "agentchat.workspace.operations.port",
    "Context": "agentchat.tools.custom.declaration.context",
    "DryRun": "agentchat.tools.custom.declaration.context",
    "EditOperations": "agentchat.workspace.operations.port",
    "Group": "agentchat.core.tools.registry",
    "Irreversible": "agentchat.core.errors",
    "ReadOperations": "agentchat.workspace.operations.port",
    "Result": "agentchat.tools.custom.declaration.context",
    "ToolError": "agentchat.core.errors",
    "checkpoint": "agentchat.tools.custom.declaration.checkpoint",
    "register_tool": "agentchat.tools.custom.declaration.registration",
    "registry": "agentchat.tools.custom.declaration.registration",
    "result_processor": "agentchat.tools.custom.declaration.processor",
    "tool": "agentchat.tools.custom.declaration.definition",
    "unregister_tool": "agentchat.tools.custom.declaration.registration",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: every room of the package imports this module first."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
