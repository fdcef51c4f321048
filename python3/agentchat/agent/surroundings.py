"""What a chat knows of where it works, looked up anew at each turn."""

from __future__ import annotations

import datetime

from agentchat.core.errors import ToolError
from agentchat.core.limits import KIB
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import Surroundings

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
RULE_BYTES = 32 * KIB


async def look_around(workspace: Workspace) -> Surroundings:
    """Return the directory, the date and the project's rules for agents."""
    rules = [text for name in RULE_FILES if (text := await _rules(workspace, name))]
    today = datetime.date.today().isoformat()
    return Surroundings(workspace.root, today, "\n\n".join(rules), workspace.host)


async def _rules(workspace: Workspace, name: str) -> str:
    try:
        target = await workspace.locate(name)
        data = await workspace.read(target.path, RULE_BYTES)
    except (OSError, ToolError):
        return ""
    return f"# {name}\n{data.decode('utf-8', 'replace').strip()}"
