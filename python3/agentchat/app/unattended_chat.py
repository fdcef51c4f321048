"""Builds a chat without an editor: the same session, rules, tools and journal as in Neovim."""

from __future__ import annotations

from dataclasses import dataclass

from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.permissions.rule_store import FILE
from agentchat.agent.session import Session
from agentchat.app.chat_builder import ChatBuilder
from agentchat.app.settings import Settings
from agentchat.app.silent_view import SilentView
from agentchat.app.state import State
from agentchat.app.tool_sources import ToolSources
from agentchat.app.workspaces import LocalLeftovers
from agentchat.core.turn.chat import Chat
from agentchat.journal.writer import JournalWriter
from agentchat.models.select import ModelSelection
from agentchat.workspace.local import LocalWorkspace


@dataclass(slots=True)
class UnattendedChat:
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
    tool_sources: ToolSources

    async def close(self) -> None:
        """End what runs, and close the journal."""
        self.tool_sources.leave(self.chat.uuid)
        try:
            await self.session.close()
        finally:
            self.journal.close()
        await self.models.close()
        await self.workspace.close()


async def open_chat(
    uuid: str, cwd: str, settings: Settings, state: State, view: SilentView, agent: str = ""
) -> UnattendedChat:
    """Build a chat, or continue the one of this id.

    Args:
        cwd: the workspace, as an absolute and resolved path.
        agent: the name of the agent of another program that the chat is for.

    Raises:
        UserError: the journal cannot be opened.
    """
    workspace = LocalWorkspace(cwd, state.guarded(settings, cwd))
    tool_sources = ToolSources(view, state.config, state.trust_file)
    builder = ChatBuilder(uuid, settings, state, workspace=workspace, place=cwd, view=view)
    parts = await builder.build(tool_sources, agent)
    parts.chat.policy.attended = False
    parts.chat.policy.rules_file = str(state.config / FILE)
    parts.session.recover(LocalLeftovers())
    return UnattendedChat(
        chat=parts.chat,
        session=parts.session,
        journal=parts.journal,
        models=parts.models,
        agent=parts.agent,
        workspace=workspace,
        tool_sources=tool_sources,
    )
