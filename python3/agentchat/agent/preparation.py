"""Prepares a turn: workspace, sandbox, custom tools, the project's instructions."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable

from agentchat.agent.chat_tools import ChatTools
from agentchat.core.errors import ToolError, Unreachable, UserError
from agentchat.core.limits import KIB
from agentchat.core.tools.ports import SandboxSetting, Workspace
from agentchat.core.tools.tool import Environment
from agentchat.core.turn.chat import Chat

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
INSTRUCTION_BYTES = 32 * KIB


class Preparation:
    """Prepares the turns of one chat.

    ``sandbox`` is the mode from the settings (``off``, ``auto``, ``required``). It takes effect
    with the next message of the user, so that a command runs as it was approved.
    """

    def __init__(
        self,
        chat: Chat,
        workspace: Workspace,
        tools: ChatTools,
        begin_stage: Callable[[], Awaitable[None]],
    ) -> None:
        self._chat = chat
        self._workspace = workspace
        self._tools = tools
        self._begin_stage = begin_stage
        self.sandbox: SandboxSetting | None = None

    async def connect(self) -> None:
        """Connect to the workspace and probe its sandbox; raises Unreachable."""
        await self._workspace.ready()
        await self._probe_sandbox()

    async def prepare(self) -> None:
        """Wait until workspace, sandbox and tools are ready; read the project's instructions.

        Raises:
            UserError: the workspace cannot be reached.
        """
        try:
            await self.connect()
            await self._begin_stage()
        except Unreachable as error:
            raise UserError(str(error)) from error
        await self._tools.ready()
        self._chat.environment = await read_environment(self._workspace)

    async def refresh(self) -> None:
        """Update sandbox and tools for a message that joins a running turn."""
        if self.sandbox not in (None, self._workspace.confinement.setting):
            await self._probe_sandbox()
        await self._tools.ready()

    async def _probe_sandbox(self) -> None:
        confinement = self._workspace.confinement
        if self.sandbox is not None:
            confinement.setting = self.sandbox
        await confinement.probe()
        self._chat.policy.confinement = confinement.describe()


async def read_environment(workspace: Workspace) -> Environment:
    """Return the directory, the date and the project's instructions for agents."""
    files = (_read_file(workspace, name) for name in INSTRUCTION_FILES)
    texts = filter(None, await asyncio.gather(*files))
    today = datetime.date.today().isoformat()
    return Environment(workspace.root, today, "\n\n".join(texts), workspace.host)


async def _read_file(workspace: Workspace, name: str) -> str:
    try:
        target = await workspace.locate(name)
        if not target.exists:
            return ""
        data = await workspace.read(target.path, INSTRUCTION_BYTES)
    except (OSError, ToolError):
        return ""
    return f"# {name}\n{data.decode('utf-8', 'replace').strip()}"
