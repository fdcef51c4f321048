"""Builds a chat: its workspace, tools, journal, view and session, all wired in one place."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import agentchat
from agentchat.agent.chat_tools import ToolFiles
from agentchat.agent.execution.tool_runner import ResultStore
from agentchat.agent.permissions.rule_drafts import MOST_CALLS, RuleDrafts
from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.agent.session import Session
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Environment
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.journal.file import SecretMask
from agentchat.journal.index import list_past_calls
from agentchat.journal.log_text import only_decisions, render_log
from agentchat.journal.writer import JournalWriter
from agentchat.models.select import ModelSelection, environment_keys
from agentchat.nvim.frontend import NvimFrontend
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.rule_editor import RuleEditor, truster
from agentchat.nvim.settings import Settings, read_settings
from agentchat.nvim.view import NvimView
from agentchat.nvim.workspaces import leftovers_of, open_workspace, project_folder
from agentchat.tools.builtin.catalogue import builtin_tools
from agentchat.tools.custom.registry import CustomRegistry

log = logging.getLogger(__name__)


class LogFormatter(logging.Formatter):
    """Formats a log entry, traceback included, without the secrets."""

    def __init__(self, secrets: SecretMask) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of an entry."""
        text: str = self._secrets.mask(super().format(record))
        return text


@dataclass(frozen=True, slots=True)
class State:
    """Where the plugin keeps its own files, and which directories Neovim loads code from.

    ``config`` is Neovim's folder of the user's configuration; ``secrets`` are kept out of the log.
    """

    folder: Path = Path()
    runtime: tuple[str, ...] = ()
    config: Path = Path()
    secrets: SecretMask = field(default_factory=SecretMask)

    @property
    def log_file(self) -> Path:
        """Where tracebacks go."""
        return self.folder / "log"

    @property
    def trust_file(self) -> Path:
        """Where Neovim keeps what the user trusts."""
        return self.folder.parent / "trust"

    def prepare(self) -> None:
        """Make the folder, readable by the user only, and log into it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = logging.FileHandler(self.log_file, encoding="utf-8", errors="backslashreplace")
        handler.setFormatter(LogFormatter(self.secrets))
        logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


@dataclass(slots=True)
class OpenChat:
    """One open chat: the session that runs it, and what only the user's commands need."""

    session: Session
    view: NvimView
    workspace: Workspace
    journal: JournalWriter
    settings: Settings
    models: ModelSelection
    frontend: NvimFrontend
    shelf: CustomRegistry
    rulebook: RuleStore
    rules: RuleEditor

    def announce(self) -> None:
        """Show the chat's state and its tools, and what is wrong in the settings."""
        self.session.tools.show()
        self.session.refresh()
        self.session.warm_up()
        self.models.warm_up()
        for problem in self.settings.problems:
            self.view.notify("warn", problem)

    def recover(self) -> None:
        """End the changes that a process which was killed left half made."""
        self.session.recover(leftovers_of(self.workspace))

    def configure(self, given: Mapping[str, Any], attended: bool = True) -> None:
        """Take the settings as they are now; what the user chose in the chat stays.

        Args:
            attended: whether somebody sees the editor.
        """
        settings = read_settings(given)
        for problem in settings.problems:
            if problem not in self.settings.problems:
                self.view.notify("warn", problem)
        self.settings = settings
        self.models.settings = settings.model
        self.rulebook.settings = RuleReading(settings.rules, settings.rule_problems)
        self.session.set_sandbox(settings.sandbox)
        self.session.chat.max_rounds = settings.max_rounds
        self.attend(attended)

    def attend(self, attended: bool) -> None:
        """Take whether somebody sees the editor, from now on."""
        self.session.chat.policy.attended = self.frontend.attended = attended

    def choose_model(self, name: str | None) -> None:
        """Take another model by name, or show which one is in use."""
        if name is not None:
            self.models.chosen = name
        self.view.notify("info", f"model: {self.models.current().name}")
        self.session.refresh()

    def journal_lines(self, only: str = "") -> list[str]:
        """Return the journal as readable text; ``only`` may be ``decisions``."""
        records = self.journal.records()
        return render_log(only_decisions(records) if only == "decisions" else records)

    async def close(self) -> None:
        """End what runs and close the journal: the chat may be opened again then."""
        try:
            await self.session.close()
        finally:
            self.journal.close()

    async def clean_up(self) -> None:
        """Close the model's client and the workspace, which may take a while."""
        await self.models.close()
        await self.workspace.close()


class ChatFactory:
    """Builds the chats of this process.

    Args:
        tool_files: where the user's own tools come from.
    """

    def __init__(self, bridge: LuaApi, state: State, tool_files: ToolFiles) -> None:
        self._bridge = bridge
        self._state = state
        self._tool_files = tool_files

    async def open(self, payload: Mapping[str, Any]) -> OpenChat:
        """Build the chat that Lua announces: ``chat``, ``buf``, ``cwd``, ``settings``.

        ``place`` is the workspace on another machine, if it has one.

        Raises:
            UserError: the place is no workspace's, or the journal cannot be opened.
        """
        settings = read_settings(payload.get("settings") or {})
        workspace = open_workspace(payload, settings, self._guarded(settings), self._bridge)
        keys = environment_keys(settings.model, os.environ)
        self._state.secrets.add(keys)
        folder, chat = self._state.folder, payload["chat"]
        journal = await asyncio.to_thread(JournalWriter.open, folder, chat, keys)
        try:
            return self._build(payload, settings, workspace, journal)
        except BaseException:
            journal.close()
            raise

    def _guarded(self, settings: Settings) -> tuple[str, ...]:
        """Return the folders whose files ask in every mode: code that Neovim or the plugin runs."""
        own = map(os.path.expanduser, settings.tool_paths)
        return (*self._state.runtime, str(self._state.folder), *own)

    def _hide(self, journal: JournalWriter, keys: Iterable[str]) -> None:
        """Keep keys that became known out of the journal and the log."""
        keys = tuple(keys)
        journal.hide(keys)
        self._state.secrets.add(keys)

    def _build(
        self,
        payload: Mapping[str, Any],
        settings: Settings,
        workspace: Workspace,
        journal: JournalWriter,
    ) -> OpenChat:
        name, root = payload["chat"], workspace.root
        place = payload.get("place") or root
        bridge, state = self._bridge, self._state
        project = project_folder(workspace, place, state.folder)
        view = NvimView(bridge, name, root)
        models = ModelSelection(settings.model, partial(self._hide, journal))
        frontend = NvimFrontend(bridge, name, root)
        rulebook = RuleStore(project, state.config, state.trust_file)
        rulebook.settings = RuleReading(settings.rules, settings.rule_problems)
        registry = Registry(builtin_tools(settings.edits))
        chat = _chat(name, root, settings, registry)
        # After the host died the same chat is opened again, and goes on where its journal ends.
        chat.history = journal.restored.history
        journal.record_chat_opened(name, place, "", agentchat.__version__)
        session = Session(
            chat,
            workspace=workspace,
            view=view,
            journal=journal,
            storage=ResultStore(state.folder / "results" / name),
            model=models.current,
            max_parallel=settings.max_parallel,
            frontend=frontend,
            rulebook=rulebook,
            tool_files=self._tool_files,
        )
        session.set_sandbox(settings.sandbox)
        session.catch_up()
        ruling = RuleDrafts(
            chat,
            workspace=workspace,
            rulebook=rulebook,
            judging=session.judging,
            past=partial(list_past_calls, state.folder, place, MOST_CALLS),
            trust=truster(bridge),
        )
        return OpenChat(
            session=session,
            view=view,
            workspace=workspace,
            journal=journal,
            settings=settings,
            models=models,
            frontend=frontend,
            shelf=CustomRegistry(registry, chat.toolbox, project),
            rulebook=rulebook,
            rules=RuleEditor(bridge, session, ruling),
        )


def _chat(uuid: str, root: str, settings: Settings, registry: Registry) -> Chat:
    toolbox = Toolset(
        registry,
        settings.groups,
        settings.default_tools,
        always_load=settings.always_load,
        deferred_threshold=settings.deferred_threshold,
    )
    policy = Policy(Grants(), settings.mode, settings.rules, settings.rule_problems)
    return Chat(uuid, toolbox, Environment(root), policy, max_rounds=settings.max_rounds)
