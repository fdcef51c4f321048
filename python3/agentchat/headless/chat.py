"""Builds a chat without an editor: the same session, rules, tools and journal as in Neovim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.session import Session
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View
from agentchat.journal.writer import JournalWriter
from agentchat.models.select import ModelSelection
from agentchat.nvim.chat_factory import ChatBuilder, State
from agentchat.nvim.custom_tools import CustomTools
from agentchat.nvim.lua_api import LuaApi, LuaFunction
from agentchat.nvim.settings import Settings
from agentchat.nvim.workspaces import LocalLeftovers
from agentchat.workspace.local import LocalWorkspace


class NoEditor(LuaApi):
    """Stands in for Neovim where files with tools are loaded: it only passes on lines."""

    def __init__(self, view: View) -> None:
        self._view = view

    def call(self, name: LuaFunction, *args: Any) -> None:
        """Do nothing: there is nothing to show."""

    async def request(self, name: LuaFunction, *args: Any) -> Any:
        """Raise: there is nobody to answer."""
        raise RuntimeError(f"{name} needs Neovim")

    def notify(self, level: str, text: str) -> None:
        """Show one line."""
        self._view.notify(level, text)


@dataclass(slots=True)
class HeadlessChat:
    """One chat that nobody watches: what would ask is denied.

    Args:
        agent: the agent of another program whose calls the chat runs, if it is such a chat.
    """

    chat: Chat
    session: Session
    journal: JournalWriter
    models: ModelSelection
    agent: ExternalAgent | None
    workspace: LocalWorkspace
    custom_tools: CustomTools

    async def close(self) -> None:
        """End what runs, and close the journal."""
        self.custom_tools.leave(self.chat.uuid)
        try:
            await self.session.close()
        finally:
            self.journal.close()
        await self.models.close()
        await self.workspace.close()


def find_state(environ: Mapping[str, str]) -> State:
    """Return the folders that the plugin has in a Neovim with this environment."""
    name = environ.get("NVIM_APPNAME") or "nvim"
    home = Path(environ.get("HOME") or Path.home())
    state = Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / name
    return State(state / name / "agentchat", runtime=(str(config),), config=config)


async def open_chat(
    uuid: str, cwd: str, settings: Settings, state: State, view: View, agent: str = ""
) -> HeadlessChat:
    """Build a chat, or continue the one of this id.

    Args:
        cwd: the workspace, as an absolute and resolved path.
        agent: the name of the agent of another program that the chat is for.

    Raises:
        UserError: the journal cannot be opened.
    """
    workspace = LocalWorkspace(cwd, state.guarded(settings))
    custom_tools = CustomTools(NoEditor(view), state.config, state.trust_file)
    builder = ChatBuilder(uuid, settings, state, workspace=workspace, place=cwd, view=view)
    parts = await builder.build(custom_tools, agent)
    parts.chat.policy.attended = False
    parts.session.recover(LocalLeftovers())
    return HeadlessChat(
        chat=parts.chat,
        session=parts.session,
        journal=parts.journal,
        models=parts.models,
        agent=parts.agent,
        workspace=workspace,
        custom_tools=custom_tools,
    )
