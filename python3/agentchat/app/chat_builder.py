"""Builds a chat: creates its parts and connects them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import agentchat
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.external.acp.calls import described_tools
from agentchat.agent.external.acp.known_agents import find_agent
from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.agent.prompts.command_files import CommandFiles
from agentchat.agent.prompts.skills import Skills
from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.agent.session import Session
from agentchat.agent.session_parts import SessionParts
from agentchat.app.settings import Settings, parse_tool_options
from agentchat.app.state import State
from agentchat.app.tool_sources import ToolSources
from agentchat.app.workspaces import (
    ISOLATED,
    OVERLAYS,
    open_isolation,
    open_overlay,
    project_folder,
)
from agentchat.core.errors import ToolError, UserError
from agentchat.core.frontend import Frontend
from agentchat.core.frozen import frozen
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy
from agentchat.core.text import mask_values
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import Environment
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View
from agentchat.core.workspace import Workspace
from agentchat.journal import records as r
from agentchat.journal.ledger import UsageLedger
from agentchat.journal.writer import JournalWriter
from agentchat.models.select import ModelSelection, environment_keys
from agentchat.tools.builtin.catalogue import builtin_tools
from agentchat.tools.custom.registry import CustomRegistry
from agentchat.workspace.overlay.client import Limits
from agentchat.workspace.overlay.isolation import Isolation
from agentchat.workspace.overlay.workspace import OverlayWorkspace

HERE_ONLY = "Agents run on this machine only."
PARTNER_GROUP = "agent"


class ChatFrontend(Frontend, Protocol):
    """The editor of a chat, which also knows the functions in the user's settings."""

    async def decide_option(self, tool: str, option: str, arguments: Mapping[str, Any]) -> bool:
        """Return what a function in ``tools.opts`` says about a call; raises its error."""


@frozen
class ChatParts:
    """The parts of a chat that are the same with and without an editor.

    Args:
        agent: the agent of another program whose calls the chat runs, if it is such a chat.
    """

    _: KW_ONLY

    chat: Chat
    session: Session
    journal: JournalWriter
    models: ModelSelection
    agent: ExternalAgent | None
    registry: Registry
    rule_store: RuleStore


class ChatBuilder:
    """Builds one chat; it continues where the journal of this id ends.

    Args:
        place: the directory of the chat, or its URL on another machine.
    """

    def __init__(
        self,
        uuid: str,
        settings: Settings,
        state: State,
        *,
        workspace: Workspace,
        place: str,
        view: View,
    ) -> None:
        self._uuid = uuid
        self._settings = settings
        self._state = state
        self._workspace = workspace
        self._place = place
        self._project = project_folder(workspace, place, state.folder)
        self._view = view

    async def build(
        self,
        tool_sources: ToolSources,
        agent: str = "",
        frontend: ChatFrontend | None = None,
        partner: str = "",
    ) -> ChatParts:
        """Create the parts of the chat and connect them.

        Args:
            agent: the name of the agent of another program that the chat is for.
            partner: the name of the agent that the chat is with, instead of a model.
            frontend: the editor, if there is one.

        Raises:
            UserError: the journal cannot be opened.
        """
        keys = environment_keys(self._settings.model, os.environ)
        self._state.secrets.add(keys)
        folder = self._state.folder
        journal = await asyncio.to_thread(JournalWriter.open, folder, self._uuid, keys)
        try:
            journal.add(
                r.ChatOpened(
                    chat=self._uuid, cwd=self._place, model=agent, version=agentchat.__version__
                )
            )
            partner = journal.restored.agent or partner
            parts = self._connect(journal, tool_sources, agent, frontend, partner)
            parts.session.set_sandbox(self._settings.sandbox)
            parts.session.restore()
            self._restore_model(parts)
            if not (self._workspace.host or partner):
                # Custom tools run on this machine: a chat on another one has none. Nor has one
                # with an agent, which has tools of its own.
                self._join(parts, tool_sources)
            return parts
        except BaseException:
            journal.close()
            raise

    def _connect(
        self,
        journal: JournalWriter,
        tool_sources: ToolSources,
        agent_name: str,
        frontend: ChatFrontend | None,
        partner: str,
    ) -> ChatParts:
        settings, state, root = self._settings, self._state, self._workspace.root
        models = ModelSelection(settings.model, partial(self._hide, journal), state.learned)
        agent = ExternalAgent(agent_name, models.current) if agent_name else None
        rule_store = RuleStore(self._project, state.config, state.trust_file)
        rule_store.settings = RuleReading(settings.rules, settings.rule_problems)
        registry = Registry(described_tools(partner) if partner else builtin_tools(settings.edits))
        if partner:
            settings = _for_partner(settings, registry, self._workspace)
        decide = frontend.decide_option if frontend is not None else _decide_without_editor
        registry.configure(parse_tool_options(settings.tool_options, decide))
        chat = make_chat(self._uuid, root, settings, registry)
        chat.history = journal.restored.history
        local_root = None if self._workspace.host else Path(root)
        session = Session(
            SessionParts(
                chat=chat,
                workspace=self._workspace,
                view=self._view,
                journal=journal,
                results=ResultStore(state.folder / "results" / self._uuid),
                model=agent or models,
                max_parallel=settings.max_parallel,
                frontend=frontend,
                rule_store=rule_store,
                tool_files=tool_sources,
                ledger=UsageLedger(state.folder),
                turn_model=models,
                skills=Skills(
                    local_root, state.config, Path.home(), trust=state.trust_file, registry=registry
                ),
                commands=SlashCommands(
                    CommandFiles(local_root, state.config), tool_sources.prompts(self._uuid)
                ),
                overlay=None if partner else self._open_overlay(OVERLAYS),
                isolation=None if partner else self._open_isolation(),
                agent=agent,
                partner=find_agent(settings.agents, partner) if partner else None,
            )
        )
        return ChatParts(
            chat=chat,
            session=session,
            journal=journal,
            models=models,
            agent=agent,
            registry=registry,
            rule_store=rule_store,
        )

    def _open_overlay(self, kind: str) -> OverlayWorkspace | None:
        folder = self._state.folder / kind / self._uuid
        guarded = self._state.guarded(self._settings, self._workspace.root)
        return open_overlay(self._workspace, folder, self._settings, guarded)

    def _open_isolation(self) -> Isolation | None:
        settings = self._settings
        folder = self._state.folder / ISOLATED / self._uuid
        limits = Limits(settings.command_processes, settings.command_memory_mb)
        return open_isolation(self._workspace, folder, settings, limits)

    def _restore_model(self, parts: ChatParts) -> None:
        """Ask the model that the user chose for this chat earlier."""
        chosen = parts.journal.restored.model
        if chosen is None:
            return
        try:
            parts.models.restore(chosen.provider, chosen.name)
        except UserError as error:
            self._view.notify("warn", f"The model of this chat cannot be used: {error}")

    def _join(self, parts: ChatParts, tool_sources: ToolSources) -> None:
        """Give the chat the tools of the user's files and servers."""
        session = parts.session
        tools = CustomRegistry(parts.registry, parts.chat.toolset, self._project, self._uuid)
        judge_again = session.approvals.judge_again
        tool_sources.join(self._uuid, tools, self._settings, session.tools, judge_again)

    def _hide(self, journal: JournalWriter, keys: Iterable[str]) -> None:
        """Mask keys in results, the journal and the log from now on."""
        keys = tuple(keys)
        mask_values(keys)
        journal.mask_secrets(keys)
        self._state.secrets.add(keys)


def _for_partner(settings: Settings, registry: Registry, workspace: Workspace) -> Settings:
    """Return the settings of a chat with an agent of another program.

    Every call of it asks that no rule decides; what our policy knows of isolated runs is about
    programs that we run. Raises UserError where no agent can work.
    """
    if workspace.host:
        raise UserError(HERE_ONLY)
    group = Group(name=PARTNER_GROUP, tools=tuple(tool.name for tool in registry.all()))
    return replace(
        settings, mode="ask", unasked="none", groups=(group,), default_tools=(PARTNER_GROUP,)
    )


async def _decide_without_editor(tool: str, option: str, arguments: Mapping[str, Any]) -> bool:
    """Raise ToolError: a function in the settings is one of Lua."""
    raise ToolError(f"{option} of {tool} is a function: it needs Neovim.")


def make_chat(uuid: str, root: str, settings: Settings, registry: Registry) -> Chat:
    """Return the state of a new chat."""
    toolbox = Toolset(
        registry,
        settings.groups,
        settings.default_tools,
        always_load=settings.always_load,
        deferred_threshold=settings.deferred_threshold,
    )
    policy = Policy(
        Grants(),
        settings.mode,
        settings.rules,
        settings.rule_problems,
        stage_network=settings.stage_network,
        stage_ignored=settings.stage_ignored,
        unasked=settings.unasked,
    )
    return Chat(
        uuid,
        toolbox,
        Environment(root),
        policy,
        max_rounds=settings.max_rounds,
        budget=settings.budget,
        compact=settings.compact,
    )
