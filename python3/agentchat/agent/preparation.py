"""What a turn needs before its first request: workspace, sandbox, tools, the project's rules."""

from __future__ import annotations

import datetime

from agentchat.agent.chat_tools import ChatTools
from agentchat.core.errors import ToolError, Unreachable, UserError
from agentchat.core.limits import KIB
from agentchat.core.tools.ports import SandboxSetting, Workspace
from agentchat.core.tools.tool import Environment
from agentchat.core.turn.chat import Chat

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
RULE_BYTES = 32 * KIB


class Preparation:
    """Gets one chat ready for a turn. Nothing else holds a message of the user back.

    ``sandbox`` is what the settings want, if they were given. It takes effect with the next message
    of the user, so that a command runs as it was approved.
    """

    def __init__(self, chat: Chat, workspace: Workspace, tools: ChatTools) -> None:
        self._chat = chat
        self._workspace = workspace
        self._tools = tools
        self.sandbox: SandboxSetting | None = None

    async def connect(self) -> None:
        """Reach the workspace, and find out how commands are confined; raises Unreachable."""
        await self._workspace.ready()
        await self._find_sandbox()

    async def prepare(self) -> None:
        """Wait until workspace, sandbox and tools are ready; look at the project again.

        Raises:
            UserError: the workspace cannot be reached.
        """
        try:
            await self.connect()
        except Unreachable as error:
            raise UserError(str(error)) from error
        await self._tools.ready()
        self._chat.surroundings = await look_around(self._workspace)

    async def refresh(self) -> None:
        """Take sandbox and tools as they are now, for a message that joins a turn."""
        if self.sandbox not in (None, self._workspace.confinement.setting):
            await self._find_sandbox()
        await self._tools.ready()

    async def _find_sandbox(self) -> None:
        confinement = self._workspace.confinement
        if self.sandbox is not None:
            confinement.setting = self.sandbox
        await confinement.probe()
        self._chat.policy.confined = confinement.describe()


async def look_around(workspace: Workspace) -> Environment:
    """Return the directory, the date and the project's rules for agents."""
    rules = [text for name in RULE_FILES if (text := await _rules(workspace, name))]
    today = datetime.date.today().isoformat()
    return Environment(workspace.root, today, "\n\n".join(rules), workspace.host)


async def _rules(workspace: Workspace, name: str) -> str:
    try:
        target = await workspace.locate(name)
        data = await workspace.read(target.path, RULE_BYTES)
    except (OSError, ToolError):
        return ""
    return f"# {name}\n{data.decode('utf-8', 'replace').strip()}"
