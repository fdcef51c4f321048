"""Builds a chat without an editor: the same session, rules, tools and journal as in Neovim."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import agentchat
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.agent.prompts.command_files import CommandFiles
from agentchat.agent.prompts.skills import Skills
from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.agent.session import Session
from agentchat.core.tools.registry import Registry
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View
from agentchat.journal.ledger import UsageLedger
from agentchat.journal.writer import JournalWriter
from agentchat.models.select import ModelSelection, environment_keys
from agentchat.nvim.chat_factory import State, make_chat
from agentchat.nvim.custom_tools import CustomTools
from agentchat.nvim.lua_api import LuaApi, LuaFunction
from agentchat.nvim.settings import Settings
from agentchat.nvim.workspaces import OVERLAYS, LocalLeftovers, open_overlay
from agentchat.tools.builtin.catalogue import builtin_tools
from agentchat.tools.custom.registry import CustomRegistry
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
    keys = environment_keys(settings.model, os.environ)
    state.secrets.add(keys)
    journal = await asyncio.to_thread(JournalWriter.open, state.folder, uuid, keys)
    try:
        return _build(uuid, cwd, settings, state, view, journal, agent)
    except BaseException:
        journal.close()
        raise


def _build(
    uuid: str,
    root: str,
    settings: Settings,
    state: State,
    view: View,
    journal: JournalWriter,
    agent_name: str,
) -> HeadlessChat:
    guarded = (
        *state.runtime,
        str(state.folder),
        *map(os.path.expanduser, settings.tool_paths),
    )
    workspace = LocalWorkspace(root, guarded)
    models = ModelSelection(settings.model, partial(_hide, journal, state), state.learned)
    rule_store = RuleStore(root, state.config, state.trust_file)
    rule_store.settings = RuleReading(settings.rules, settings.rule_problems)
    registry = Registry(builtin_tools(settings.edits))
    chat = make_chat(uuid, root, settings, registry)
    chat.policy.attended = False
    chat.history = journal.restored.history
    chosen = journal.restored.model
    if chosen is not None:
        models.restore(chosen.provider, chosen.name)
    agent = ExternalAgent(agent_name, models.current) if agent_name else None
    journal.record_chat_opened(uuid, root, agent_name, agentchat.__version__)
    custom_tools = CustomTools(NoEditor(view), state.config, state.trust_file)
    session = Session(
        chat,
        workspace=workspace,
        view=view,
        journal=journal,
        results=ResultStore(state.folder / "results" / uuid),
        model=agent or models,
        max_parallel=settings.max_parallel,
        rule_store=rule_store,
        tool_files=custom_tools,
        ledger=UsageLedger(state.folder),
        turn_model=models,
        commands=SlashCommands(CommandFiles(Path(root), state.config)),
        skills=Skills(
            Path(root), state.config, Path.home(), trust=state.trust_file, registry=registry
        ),
        overlay=open_overlay(workspace, state.folder / OVERLAYS / uuid, settings, guarded),
        agent=agent,
    )
    session.set_sandbox(settings.sandbox)
    session.restore()
    custom_tools.join(
        uuid,
        CustomRegistry(registry, chat.toolset, root, uuid),
        settings,
        session.tools,
        session.approvals.judge_again,
    )
    session.recover(LocalLeftovers())
    return HeadlessChat(
        chat=chat,
        session=session,
        journal=journal,
        models=models,
        agent=agent,
        workspace=workspace,
        custom_tools=custom_tools,
    )


def _hide(journal: JournalWriter, state: State, keys: Any) -> None:
    """Mask keys in the journal and the log from now on."""
    keys = tuple(keys)
    journal.mask_secrets(keys)
    state.secrets.add(keys)
