"""Builds a chat: its workspace, tools, journal, view and session, all wired in one place."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import agentchat
from agentchat.agent.chat_tools import ToolFiles
from agentchat.agent.execution.result_store import Storage
from agentchat.agent.permissions.rule_drafts import MOST_CALLS, Ruling
from agentchat.agent.permissions.rule_store import Reading, Rulebook
from agentchat.agent.session import Session
from agentchat.core.approval import Grants, Policy
from agentchat.core.errors import UserError
from agentchat.core.tools.model import Model
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Surroundings
from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.chat import Chat
from agentchat.journal.calls import past_calls
from agentchat.journal.journal import Journal
from agentchat.journal.reading import history
from agentchat.journal.scribe import JournalScribe
from agentchat.journal.transcript import decisions, transcript
from agentchat.models.choice import choose, secrets
from agentchat.nvim.frontend import NvimFrontend
from agentchat.nvim.lua_api import Bridge
from agentchat.nvim.rule_editor import RuleWriting, truster
from agentchat.nvim.settings import Settings, read_settings
from agentchat.nvim.view import NvimView
from agentchat.nvim.workspaces import leftovers_of, open_workspace, project_folder
from agentchat.tools.builtin.catalogue import builtins
from agentchat.tools.custom.shelf import Shelf

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class State:
    """Where the plugin keeps its own files, and which directories Neovim loads code from.

    ``config`` is Neovim's folder of the user's configuration.
    """

    folder: Path = Path()
    runtime: tuple[str, ...] = ()
    config: Path = Path()

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
        form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        logging.basicConfig(
            filename=self.log_file,
            encoding="utf-8",
            errors="backslashreplace",
            level=logging.INFO,
            format=form,
            force=True,
        )


class Models:
    """The model a chat asks now: from settings or environment, or as chosen by name."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.chosen: str | None = None
        self._key: object = None
        self._model: Model | None = None

    def current(self) -> Model:
        """Return the model; the same one as long as nothing about it changes."""
        wanted = dict(self.settings)
        if self.chosen is not None:
            wanted["name"] = self.chosen
        key = (repr(sorted(wanted.items())), secrets(wanted, os.environ))
        if self._model is None or key != self._key:
            self._model, self._key = choose(wanted, os.environ), key
        return self._model

    def warm_up(self) -> None:
        """Load what the model needs, in the background: not while the user waits for it."""
        with contextlib.suppress(UserError):
            warm_up = getattr(self.current(), "warm_up", None)
            if warm_up is not None:
                warm_up()


@dataclass(slots=True)
class OpenChat:
    """One open chat: the session that runs it, and what only the user's commands need."""

    session: Session
    view: NvimView
    workspace: Workspace
    journal: Journal
    settings: Settings
    models: Models
    frontend: NvimFrontend
    shelf: Shelf
    rulebook: Rulebook
    rules: RuleWriting

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
        self.rulebook.settings = Reading(settings.rules, settings.rule_problems)
        self.session.set_sandbox(settings.sandbox)
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
        return transcript(decisions(records) if only == "decisions" else records)

    async def close(self) -> None:
        """End what runs and close the journal: the chat may be opened again then."""
        try:
            await self.session.close()
        finally:
            self.journal.close()

    async def clean_up(self) -> None:
        """Let go of the rest, which may take a while."""
        await self.workspace.close()


class ChatFactory:
    """Builds the chats of this process.

    Args:
        tool_files: where the user's own tools come from.
    """

    def __init__(self, bridge: Bridge, state: State, tool_files: ToolFiles) -> None:
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
        known = secrets(settings.model, os.environ)
        folder, chat = self._state.folder, payload["chat"]
        journal = await asyncio.to_thread(Journal.open, folder, chat, known)
        try:
            return self._build(payload, settings, workspace, journal)
        except BaseException:
            journal.close()
            raise

    def _guarded(self, settings: Settings) -> tuple[str, ...]:
        """Return the folders whose files ask in every mode: code that Neovim or the plugin runs."""
        own = map(os.path.expanduser, settings.tool_paths)
        return (*self._state.runtime, str(self._state.folder), *own)

    def _build(
        self,
        payload: Mapping[str, Any],
        settings: Settings,
        workspace: Workspace,
        journal: Journal,
    ) -> OpenChat:
        name, root = payload["chat"], workspace.root
        place = payload.get("place") or root
        bridge, state = self._bridge, self._state
        project = project_folder(workspace, place, state.folder)
        view = NvimView(bridge, name, root)
        models = Models(settings.model)
        frontend = NvimFrontend(bridge, name, root)
        scribe = JournalScribe(journal)
        rulebook = Rulebook(project, state.config, state.trust_file)
        rulebook.settings = Reading(settings.rules, settings.rule_problems)
        registry = Registry(builtins(settings.edits))
        chat = _chat(name, root, settings, registry)
        # After the host died the same chat is opened again, and goes on where its journal ends.
        chat.history = history(journal.records())
        scribe.opened(name, place, "", agentchat.__version__)
        session = Session(
            chat,
            workspace=workspace,
            screen=view,
            scribe=scribe,
            storage=Storage(state.folder / "results" / name),
            model=models.current,
            max_parallel=settings.max_parallel,
            frontend=frontend,
            rulebook=rulebook,
            tool_files=self._tool_files,
        )
        session.set_sandbox(settings.sandbox)
        session.catch_up()
        ruling = Ruling(
            chat,
            workspace=workspace,
            rulebook=rulebook,
            judging=session.judging,
            past=partial(past_calls, state.folder, place, MOST_CALLS),
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
            shelf=Shelf(registry, chat.toolbox, project),
            rulebook=rulebook,
            rules=RuleWriting(bridge, session, ruling),
        )


def _chat(uuid: str, root: str, settings: Settings, registry: Registry) -> Chat:
    toolbox = Toolbox(
        registry,
        settings.groups,
        settings.default_tools,
        always_load=settings.always_load,
        deferred_threshold=settings.deferred_threshold,
    )
    policy = Policy(Grants(), settings.mode, settings.rules, settings.rule_problems)
    return Chat(uuid, toolbox, Surroundings(root), policy)
