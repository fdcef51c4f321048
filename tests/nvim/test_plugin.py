"""What the host loads as it starts, which the user's first prompt waits for."""

from __future__ import annotations

import subprocess
import sys

LATE = (
    "acp", "anyio", "bs4", "genai_prices", "httpx2", "markdownify", "mcp", "openai", "pathspec",
    "PIL", "pydantic", "pydantic_core", "pygments", "yaml",
    "agentchat.headless", "agentchat.mcp_server", "agentchat.nvim.health",
    "agentchat.app.silent_view", "agentchat.app.unattended_chat",
    "agentchat.tools.custom.declaration.definition", "agentchat.tools.custom.process.server",
    "agentchat.tools.mcp.connection", "agentchat.agent.external.acp.worker",
)  # fmt: skip
"""Libraries, rooms and modules of worker processes."""

LIST = f"import agentchat.nvim.plugin, sys; print(*sorted(sys.modules.keys() & set({LATE})))"


def test_the_plugin_loads_nothing_that_only_later_steps_need() -> None:
    command = [sys.executable, "-c", LIST]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": "python3"})  # fmt: skip
    assert done.stdout.split() == []
