"""Builds a chat: creates its parts and connects them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import agentchat
from agentchat.agent.execution.isolated_runs import IsolatedRuns
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.jobs import BackgroundJobs
from agentchat.agent.permissions.rule_drafts import RuleDrafts
from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.agent.prompts.command_files import CommandFiles
from agentchat.agent.prompts.skills import Skills
from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.agent.session import Session
from agentchat.core.errors import ToolError, UserError
from agentchat.core.frozen import frozen
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Environment
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View
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
from agentchat.nvim.workspaces import (
    ISOLATED,
    OVERLAYS,
    open_overlay,
    open_workspace,
    project_folder,
)
from agentchat.tools.builtin.catalogue import builtin_tools
from agentchat.tools.custom.registry import CustomRegistry
from agentchat.workspace.overlay.workspace import OverlayWorkspace

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

    def guarded(self, settings: Settings) -> tuple[str, ...]:
        """Return the folders with code that Neovim or the plugin runs: their files always ask."""
        tool_paths = map(os.path.expanduser, settings.tool_paths)
        return (*self.runtime, str(self.folder), *tool_paths)

    @property
    def log_file(self) -> Path:
        """The log, with tracebacks."""
        return self.folder / "log"

    @property
    def trust_file(self) -> Path:
        """Neovim's trust database."""
        return self.folder.parent / "trust"

    def prepare(self) -> None:
        """Make the folder, readable by the user only, and start the log in it.

        Raises:
            UserError: nothing can be written there.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handler = logging.FileHandler(
                self.log_file, encoding="utf-8", errors="backslashreplace"
            )
        except OSError as error:
            problem = f"{error.strerror}: {error.filename}"
            raise UserError(
                f"Chats cannot be saved ({problem}). Make the folder writable, "
                "or set $XDG_STATE_HOME to one that is."
            ) from error
        handler.setFormatter(LogFormatter(self.secrets))
        logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


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
        uuid, lua, settings = (
            payload["chat"],
            self._lua,
            read_settings(payload.get("settings") or {}),
        )
        if agent:
            settings = replace(settings, default_tools=(AGENT_GROUP,))
        workspace = open_workspace(payload, settings, self._state.guarded(settings), lua)
        place = payload.get("place") or workspace.root
        view = NvimView(lua, uuid, workspace.root)
        frontend = NvimFrontend(lua, uuid, workspace.root)
        builder = ChatBuilder(
            uuid, settings, self._state, workspace=workspace, place=place, view=view
        )
        parts = await builder.build(self._custom_tools, agent, frontend)
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
            custom_tools=self._custom_tools,
            commands=ChatCommands(session.commands, lua, uuid),
            background=self._background,
        )


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
        self, custom_tools: CustomTools, agent: str = "", frontend: NvimFrontend | None = None
    ) -> ChatParts:
        """Create the parts of the chat and connect them.

        Args:
            agent: the name of the agent of another program that the chat is for.
            frontend: the editor, if there is one.

        Raises:
            UserError: the journal cannot be opened.
        """
        keys = environment_keys(self._settings.model, os.environ)
        self._state.secrets.add(keys)
        folder = self._state.folder
        journal = await asyncio.to_thread(JournalWriter.open, folder, self._uuid, keys)
        try:
            journal.record_chat_opened(self._uuid, self._place, agent, agentchat.__version__)
            parts = self._connect(journal, custom_tools, agent, frontend)
            parts.session.set_sandbox(self._settings.sandbox)
            parts.session.restore()
            self._restore_model(parts)
            if not self._workspace.host:
                # Custom tools run on this machine: a chat on another one has none.
                self._join(parts, custom_tools)
            return parts
        except BaseException:
            journal.close()
            raise

    def _connect(
        self,
        journal: JournalWriter,
        custom_tools: CustomTools,
        agent_name: str,
        frontend: NvimFrontend | None,
    ) -> ChatParts:
        settings, state, root = self._settings, self._state, self._workspace.root
        models = ModelSelection(settings.model, partial(self._hide, journal), state.learned)
        agent = ExternalAgent(agent_name, models.current) if agent_name else None
        rule_store = RuleStore(self._project, state.config, state.trust_file)
        rule_store.settings = RuleReading(settings.rules, settings.rule_problems)
        registry = Registry(builtin_tools(settings.edits))
        decide = frontend.decide_option if frontend is not None else _decide_without_editor
        registry.configure(parse_tool_options(settings.tool_options, decide))
        chat = make_chat(self._uuid, root, settings, registry)
        chat.history = journal.restored.history
        local_root = None if self._workspace.host else Path(root)
        session = Session(
            chat,
            workspace=self._workspace,
            view=self._view,
            journal=journal,
            results=ResultStore(state.folder / "results" / self._uuid),
            model=agent or models,
            max_parallel=settings.max_parallel,
            frontend=frontend,
            rule_store=rule_store,
            tool_files=custom_tools,
            ledger=UsageLedger(state.folder),
            turn_model=models,
            skills=Skills(
                local_root, state.config, Path.home(), trust=state.trust_file, registry=registry
            ),
            commands=SlashCommands(
                CommandFiles(local_root, state.config), custom_tools.prompts(self._uuid)
            ),
            overlay=self._open_overlay(OVERLAYS),
            isolated=IsolatedRuns(self._open_overlay(ISOLATED)),
            agent=agent,
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
        guarded = self._state.guarded(self._settings)
        return open_overlay(self._workspace, folder, self._settings, guarded)

    def _restore_model(self, parts: ChatParts) -> None:
        """Ask the model that the user chose for this chat earlier."""
        chosen = parts.journal.restored.model
        if chosen is None:
            return
        try:
            parts.models.restore(chosen.provider, chosen.name)
        except UserError as error:
            self._view.notify("warn", f"The model of this chat cannot be used: {error}")

    def _join(self, parts: ChatParts, custom_tools: CustomTools) -> None:
        """Give the chat the tools of the user's files and servers."""
        session = parts.session
        tools = CustomRegistry(parts.registry, parts.chat.toolset, self._project, self._uuid)
        judge_again = session.approvals.judge_again
        custom_tools.join(self._uuid, tools, self._settings, session.tools, judge_again)

    def _hide(self, journal: JournalWriter, keys: Iterable[str]) -> None:
        """Mask keys in the journal and the log from now on."""
        keys = tuple(keys)
        journal.mask_secrets(keys)
        self._state.secrets.add(keys)


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
