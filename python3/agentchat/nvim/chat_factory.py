"""Builds a chat: creates its parts and connects them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

import agentchat
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.jobs import BackgroundJobs
from agentchat.agent.permissions.rule_drafts import RuleDrafts
from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.agent.prompts.command_files import CommandFiles
from agentchat.agent.prompts.skills import Skills
from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.agent.session import Session
from agentchat.core.frozen import frozen
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Environment
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.journal.file import SecretMask
from agentchat.journal.ledger import UsageLedger
from agentchat.journal.writer import JournalWriter
from agentchat.models.learned import LearnedServers
from agentchat.models.select import ModelSelection, environment_keys
from agentchat.nvim.chat_commands import ChatCommands
from agentchat.nvim.custom_tools import CustomTools
from agentchat.nvim.frontend import NvimFrontend
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.open_chat import NvimTrust, OpenChat
from agentchat.nvim.settings import Settings, parse_tool_options, read_settings
from agentchat.nvim.view import NvimView
from agentchat.nvim.workspaces import OVERLAYS, open_overlay, open_workspace, project_folder
from agentchat.tools.builtin.catalogue import builtin_tools
from agentchat.tools.custom.registry import CustomRegistry

log = logging.getLogger(__name__)

AGENT_GROUP = "agent"
"""The tools that an agent of another program may call, whatever a chat has by default."""


class LogFormatter(logging.Formatter):
    """Formats a log entry, traceback included, without the secrets."""

    def __init__(self, secrets: SecretMask) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Return a masked entry."""
        text: str = self._secrets.mask(super().format(record))
        return text


@frozen
class State:
    """The folders of the plugin and of Neovim.

    Args:
        folder: where the plugin keeps its own files.
        runtime: the directories that Neovim loads code from.
        config: the folder of the user's Neovim configuration.
        secrets: values that never appear in the log.
        learned: what was learned of model servers.
    """

    folder: Path = Path()
    runtime: tuple[str, ...] = ()
    config: Path = Path()
    secrets: SecretMask = field(default_factory=SecretMask)
    learned: LearnedServers = field(default_factory=LearnedServers)

    @property
    def log_file(self) -> Path:
        """The log, with tracebacks."""
        return self.folder / "log"

    @property
    def trust_file(self) -> Path:
        """Neovim's trust database."""
        return self.folder.parent / "trust"

    def prepare(self) -> None:
        """Make the folder, readable by the user only, and start the log in it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = logging.FileHandler(self.log_file, encoding="utf-8", errors="backslashreplace")
        handler.setFormatter(LogFormatter(self.secrets))
        logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


class ChatFactory:
    """Builds the chats of this process."""

    def __init__(
        self, lua: LuaApi, state: State, custom_tools: CustomTools, background: BackgroundJobs
    ) -> None:
        self._lua = lua
        self._state = state
        self._custom_tools = custom_tools
        self._background = background

    async def open(self, payload: Mapping[str, Any], agent: str = "") -> OpenChat:
        """Build the chat of an ``open`` event: ``chat``, ``buf``, ``cwd``, ``settings``.

        ``place`` is the URL of a workspace on another machine.

        Args:
            agent: the name of the agent of another program that the chat is for.

        Raises:
            UserError: the URL is not valid, or the journal cannot be opened.
        """
        settings = read_settings(payload.get("settings") or {})
        if agent:
            settings = replace(settings, default_tools=(AGENT_GROUP,))
        workspace = open_workspace(payload, settings, self._guarded(settings), self._lua)
        keys = environment_keys(settings.model, os.environ)
        self._state.secrets.add(keys)
        folder, chat = self._state.folder, payload["chat"]
        journal = await asyncio.to_thread(JournalWriter.open, folder, chat, keys)
        try:
            return self._build(payload, settings, workspace, journal, agent)
        except BaseException:
            journal.close()
            raise

    def _guarded(self, settings: Settings) -> tuple[str, ...]:
        """Return the folders with code that Neovim or the plugin runs: their files always ask."""
        tool_paths = map(os.path.expanduser, settings.tool_paths)
        return (*self._state.runtime, str(self._state.folder), *tool_paths)

    def _hide(self, journal: JournalWriter, keys: Iterable[str]) -> None:
        """Mask keys in the journal and the log from now on."""
        keys = tuple(keys)
        journal.mask_secrets(keys)
        self._state.secrets.add(keys)

    def _build(
        self,
        payload: Mapping[str, Any],
        settings: Settings,
        workspace: Workspace,
        journal: JournalWriter,
        agent_name: str,
    ) -> OpenChat:
        uuid, root, lua, state = payload["chat"], workspace.root, self._lua, self._state
        place = payload.get("place") or root
        project = project_folder(workspace, place, state.folder)
        view = NvimView(lua, uuid, root)
        frontend = NvimFrontend(lua, uuid, root)
        models = ModelSelection(settings.model, partial(self._hide, journal), state.learned)
        agent = ExternalAgent(agent_name, models.current) if agent_name else None
        rule_store = RuleStore(project, state.config, state.trust_file)
        rule_store.settings = RuleReading(settings.rules, settings.rule_problems)
        registry = Registry(builtin_tools(settings.edits))
        registry.configure(parse_tool_options(settings.tool_options, frontend.decide_option))
        chat = make_chat(uuid, root, settings, registry)
        # A chat that is opened again continues where its journal ends.
        chat.history = journal.restored.history
        journal.record_chat_opened(uuid, place, agent_name, agentchat.__version__)
        session = Session(
            chat,
            workspace=workspace,
            view=view,
            journal=journal,
            results=ResultStore(state.folder / "results" / uuid),
            model=agent or models,
            max_parallel=settings.max_parallel,
            frontend=frontend,
            rule_store=rule_store,
            tool_files=self._custom_tools,
            ledger=UsageLedger(state.folder),
            turn_model=models,
            skills=Skills(
                None if workspace.host else Path(root),
                state.config,
                Path.home(),
                trust=state.trust_file,
                registry=registry,
            ),
            commands=SlashCommands(
                CommandFiles(None if workspace.host else Path(root), state.config),
                self._custom_tools.prompts(uuid),
            ),
            overlay=open_overlay(
                workspace, state.folder / OVERLAYS / uuid, settings, self._guarded(settings)
            ),
            agent=agent,
        )
        session.set_sandbox(settings.sandbox)
        session.restore()
        if not workspace.host:
            # Custom tools run on this machine: a chat on another one has none.
            tools = CustomRegistry(registry, chat.toolset, project, uuid)
            judge_again = session.approvals.judge_again
            self._custom_tools.join(uuid, tools, settings, session.tools, judge_again)
        return OpenChat(
            chat=chat,
            session=session,
            tools=session.tools,
            previews=session.preview_actions,
            approvals=session.approvals,
            lua=lua,
            view=view,
            workspace=workspace,
            place=place,
            state=state.folder,
            journal=journal,
            settings=settings,
            models=models,
            agent=agent,
            frontend=frontend,
            rule_store=rule_store,
            drafts=RuleDrafts(
                chat,
                workspace=workspace,
                rule_store=rule_store,
                approvals=session.approvals,
                trust_store=NvimTrust(lua),
            ),
            custom_tools=self._custom_tools,
            commands=ChatCommands(session.commands, lua, uuid),
            background=self._background,
        )


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
