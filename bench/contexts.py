"""The context of a call without session, screen and journal."""

from __future__ import annotations

from agentchat.core.tools.tool import ToolContext, refuse_staging
from agentchat.workspace.local import LocalWorkspace


def bare_context(folder: str) -> ToolContext:
    """Return the context of a call in a folder."""
    return ToolContext(
        workspace=LocalWorkspace(folder),
        cwd=folder,
        call_id="bench",
        progress=lambda text: None,
        stage=refuse_staging,
        store=lambda text: "",
        free_path=lambda: "",
    )
