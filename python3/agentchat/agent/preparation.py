"""Prepares a turn: workspace, sandbox, custom tools, the project's instructions."""

from __future__ import annotations

import asyncio
import datetime

from agentchat.agent.chat_tools import ChatTools
from agentchat.agent.prompts.rules_files import RulesFiles
from agentchat.agent.prompts.skills import Skills
from agentchat.core.errors import Unreachable, UserError
from agentchat.core.tools.tool import Environment
from agentchat.core.turn.chat import Chat
from agentchat.core.workspace import SandboxSetting, Workspace


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
        rules: RulesFiles,
        skills: Skills | None,
    ) -> None:
        self._chat = chat
        self._workspace = workspace
        self._tools = tools
        self._rules = rules
        self._skills = skills
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
        except Unreachable as error:
            raise UserError(str(error)) from error
        await self._tools.ready()
        rules, today = await self._rules.begin_turn(), datetime.date.today().isoformat()
        workspace, skills = self._workspace, await self._offer_skills()
        self._chat.environment = Environment(
            workspace.root, today, rules, host=workspace.host, skills=skills
        )

    async def refresh(self) -> None:
        """Update sandbox and tools for a message that joins a running turn."""
        if self.sandbox not in (None, self._workspace.confinement.setting):
            await self._probe_sandbox()
        await self._tools.ready()

    async def _offer_skills(self) -> tuple[tuple[str, str], ...]:
        if self._skills is None:
            return ()
        await asyncio.to_thread(self._skills.refresh)
        return self._skills.offer()

    async def _probe_sandbox(self) -> None:
        confinement = self._workspace.confinement
        if self.sandbox is not None:
            confinement.setting = self.sandbox
        await confinement.probe()
        self._chat.policy.confinement = confinement.describe()
