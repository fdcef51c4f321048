"""Puts one chat together: its workspace, tools, journal, view and session."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import agentchat
from agentchat.agent.execution.result_store import Storage
from agentchat.agent.permissions.rule_drafts import MOST_CALLS, Ruling
from agentchat.agent.permissions.rule_store import Reading, Rulebook
from agentchat.agent.session import Session
from agentchat.core.approval import Grants, Policy
from agentchat.core.errors import UserError
from agentchat.core.tools.mentions import Captured
from agentchat.core.tools.model import Model
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
from agentchat.nvim.render import listings
from agentchat.nvim.rule_editor import RuleWriting, truster
from agentchat.nvim.settings import Settings, read_settings
from agentchat.nvim.view import View
from agentchat.nvim.workspaces import Site, choose_site
from agentchat.tools.builtin.catalogue import builtins
from agentchat.tools.custom.registry import CustomRegistry

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


class Opened:
    """One open chat and what was put together for it."""

    def __init__(
        self,
        session: Session,
        view: View,
        journal: Journal,
        settings: Settings,
        models: Models,
        frontend: NvimFrontend,
        shelf: CustomRegistry,
        site: Site,
        rulebook: Rulebook,
        rules: RuleWriting,
    ) -> None:
        self.session = session
        self.site = site
        self.rulebook = rulebook
        self.rules = rules
        self.shelf = shelf
        self.frontend = frontend
        self._view = view
        self._journal = journal
        self._settings = settings
        self._models = models

    def announce(self) -> None:
        """Tell Lua which mentions there are, the chat's state, and what is wrong in settings."""
        self.show_tools()
        self.session.refresh()
        self.session.reread_rules()
        self._models.warm_up()
        for problem in self._settings.problems:
            self._view.notify("warn", problem)
        self.site.warm_up(lambda problem: self._view.note("error", problem))

    def recover(self) -> None:
        """End the changes that a process which was killed left half made."""
        if self.session.cut_off or not self.site.workspace.host:
            refuse = partial(self._view.note, "error")
            self.site.when_ready(lambda: self.session.recover(self.site), refuse)

    def send(self, text: str, captured: Mapping[str, Mapping[str, str]]) -> None:
        """Take what the user typed; its mentions may give tools and attach context.

        Where the workspace cannot be reached, it goes back to the prompt.
        """

        def take() -> None:
            self.session.chat.policy.confined = self.site.confinement.describe()
            self.session.send(text, {name: Captured(**had) for name, had in captured.items()})
            self.show_tools()

        def refuse(problem: str) -> None:
            self._view.note("error", problem)
            self._view.give_back()

        self.site.when_ready(take, refuse)

    def stop(self) -> bool:
        """End what runs; return whether there is something to give back to the prompt."""
        self.session.stop()
        return self.site.stop_waiting()

    def give(self, name: str) -> None:
        """Give the chat a tool or group, by the user's command."""
        self.session.giving.add(name)
        self.show_tools()

    def take_back(self, name: str) -> None:
        """Take a tool or group from the chat, by the user's command."""
        self.session.giving.remove(name)
        self.show_tools()

    def show_tools(self) -> None:
        """Tell Lua which mentions there are now."""
        self._view.tools(listings.mentions(self.session.chat))

    @property
    def tool_paths(self) -> tuple[str, ...]:
        """Where the settings say there are tools of the user's own."""
        return self._settings.tool_paths

    def configure(self, given: Mapping[str, Any], attended: bool = True) -> None:
        """Take the settings as they are now; what the user chose in the chat stays.

        Args:
            attended: whether somebody sees the editor.
        """
        settings = read_settings(given)
        for problem in settings.problems:
            if problem not in self._settings.problems:
                self._view.notify("warn", problem)
        self._settings = settings
        self._models.settings = settings.model
        self.rulebook.settings = Reading(settings.rules, settings.rule_problems)
        self.site.confinement.wanted = settings.sandbox
        self.session.chat.policy.confined = self.site.confinement.describe()
        self.attend(attended)

    def attend(self, attended: bool) -> None:
        """Say whether somebody sees the editor, from now on."""
        self.session.chat.policy.attended = self.frontend.attended = attended

    def choose_model(self, name: str | None) -> None:
        """Take another model by name, or say which one is in use."""
        if name is not None:
            self._models.chosen = name
        self._view.notify("info", f"model: {self._models.current().name}")
        self.session.refresh()

    def journal_lines(self, only: str = "") -> list[str]:
        """Return the journal as readable text; ``only`` may be ``decisions``."""
        records = self._journal.records()
        return transcript(decisions(records) if only == "decisions" else records)

    async def close(self) -> None:
        """End what runs and close the journal."""
        self.site.stop_waiting()
        await self.session.close()
        await self.site.close()
        self._journal.close()


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


def open_chat(payload: Mapping[str, Any], bridge: Bridge, state: State) -> Opened:
    """Put together the chat that Lua announces: ``chat``, ``buf``, ``cwd``, ``settings``.

    ``place`` is the workspace on another machine, if it has one.

    Raises:
        UserError: the place is no workspace's.
    """
    settings = read_settings(payload.get("settings") or {})
    own = map(os.path.expanduser, settings.tool_paths)
    guarded = (*state.runtime, str(state.folder), *own)
    site = choose_site(payload, settings, guarded, bridge, state.folder)
    root = site.workspace.root
    origin = payload.get("place") or root
    view = View(bridge, payload["chat"], root)
    journal = Journal.open(state.folder, payload["chat"], secrets(settings.model, os.environ))
    models = Models(settings.model)
    frontend = NvimFrontend(bridge, payload["chat"], root)
    scribe = JournalScribe(journal)
    rulebook = Rulebook(site.project, state.config, state.trust_file)
    rulebook.settings = Reading(settings.rules, settings.rule_problems)
    registry = Registry(builtins(settings.edits))
    chat = _chat(payload["chat"], root, settings, registry)
    # After the host died the same chat is opened again, and goes on where its journal ends.
    chat.history = history(journal.records())
    scribe.opened(chat.uuid, origin, "", agentchat.__version__)
    session = Session(
        chat,
        workspace=site.workspace,
        screen=view,
        scribe=scribe,
        storage=Storage(state.folder / "results" / payload["chat"]),
        model=models.current,
        max_parallel=settings.max_parallel,
        frontend=frontend,
        rulebook=rulebook,
    )
    ruling = Ruling(
        chat,
        workspace=site.workspace,
        rulebook=rulebook,
        judging=session.judging,
        past=partial(past_calls, state.folder, origin, MOST_CALLS),
        trust=truster(bridge),
    )
    session.catch_up()
    shelf = CustomRegistry(registry, chat.toolbox, site.project)
    rules = RuleWriting(bridge, session, ruling)
    parts = (models, frontend, shelf, site, rulebook, rules)
    return Opened(session, view, journal, settings, *parts)


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
