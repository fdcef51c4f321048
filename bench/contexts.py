"""The context of a call that nothing is around: no session, no screen, no journal."""

from __future__ import annotations

from agentchat.core.tools.tool import ToolContext, no_store
from agentchat.workspace.local import LocalWorkspace


def bare_context(folder: str) -> ToolContext:
    """Return the context of a call in a folder."""
    return ToolContext(
        workspace=LocalWorkspace(folder),
        cwd=folder,
        call_id="bench",
        progress=lambda text: None,
        stage=no_store,
        store=lambda text: "",
        overflow="",
    )
