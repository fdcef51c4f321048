"""Builds the chats of a Neovim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentchat.agent.jobs import BackgroundJobs
from agentchat.agent.permissions.rule_drafts import RuleDrafts
from agentchat.app.chat_builder import ChatBuilder
from agentchat.app.settings import read_settings
from agentchat.app.state import State
from agentchat.app.tool_sources import ToolSources
from agentchat.app.workspaces import open_workspace
from agentchat.nvim.buffers import NvimBuffers
from agentchat.nvim.chat_commands import ChatCommands
from agentchat.nvim.frontend import NvimFrontend
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.open_chat import NvimTrust, OpenChat
from agentchat.nvim.view import NvimView

AGENT_GROUP = "agent"
"""The tools that an agent of another program may call, whatever a chat has by default."""


class ChatFactory:
    """Builds the chats of this process."""

    def __init__(
        self, lua: LuaApi, state: State, tool_sources: ToolSources, background: BackgroundJobs
    ) -> None:
        self._lua = lua
        self._state = state
        self._tool_sources = tool_sources
        self._background = background

    async def open(self, payload: Mapping[str, Any], agent: str = "") -> OpenChat:
        """Build the chat of an ``open`` event: ``chat``, ``buf``, ``cwd``, ``settings``.

        ``place`` is the URL of a workspace on another machine.

        Args:
            agent: the name of the agent of another program that the chat is for.

        Raises:
            UserError: the URL is not valid, or the journal cannot be opened.
        """
        uuid, lua, settings = (
            payload["chat"],
            self._lua,
            read_settings(payload.get("settings") or {}),
        )
        if agent:
            settings = replace(settings, default_tools=(AGENT_GROUP,))
        workspace = open_workspace(
            payload["cwd"],
            payload.get("place") or "",
            settings,
            self._state.guarded(settings, payload["cwd"]),
            NvimBuffers(lua, settings.plain_save),
        )
        place = payload.get("place") or workspace.root
        view = NvimView(lua, uuid, workspace.root)
        frontend = NvimFrontend(lua, uuid, workspace.root)
        builder = ChatBuilder(
            uuid, settings, self._state, workspace=workspace, place=place, view=view
        )
        partner = payload.get("partner") or ""
        parts = await builder.build(self._tool_sources, agent, frontend, partner)
        session = parts.session
        return OpenChat(
            chat=parts.chat,
            session=session,
            tools=session.tools,
            previews=session.preview_actions,
            approvals=session.approvals,
            lua=lua,
            view=view,
            workspace=workspace,
            place=place,
            state=self._state.folder,
            journal=parts.journal,
            settings=settings,
            models=parts.models,
            agent=parts.agent,
            frontend=frontend,
            rule_store=parts.rule_store,
            drafts=RuleDrafts(
                parts.chat,
                workspace=workspace,
                rule_store=parts.rule_store,
                approvals=session.approvals,
                trust_store=NvimTrust(lua),
            ),
            tool_sources=self._tool_sources,
            commands=ChatCommands(session.commands, lua, uuid),
            background=self._background,
        )
