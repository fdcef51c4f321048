"""All chats of this host: what Lua says about one goes to its session."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pynvim

import agentchat
from agentchat.core.diff.hunk_decisions import Replacement
from agentchat.core.errors import UserError
from agentchat.journal.saved import Saved, fork, saved_chats
from agentchat.nvim import payloads, streams
from agentchat.nvim.chat_factory import Opened, State, open_chat
from agentchat.nvim.custom_tools import CustomTools
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.render import listings
from agentchat.nvim.render.explain import explain

log = logging.getLogger(__name__)

Payload = Mapping[str, Any]


class Desk:
    """Owns the sessions of this process."""

    def __init__(self, bridge: LuaApi) -> None:
        self._bridge = bridge
        self._state = State()
        self._custom = CustomTools(bridge, Path(), Path())
        self._chats: dict[str, Opened] = {}
        self._tasks: set[asyncio.Future[Any]] = set()
        self._events: dict[str, Callable[[Payload], None]] = {
            "start": self._start,
            "open": self._open,
            "send": self._send,
            "stop": self._stop,
            "answer": self._answer,
            "answers": lambda p: self._chat(p).frontend.take(p["id"], p["answers"]),
            "resolve": self._resolve,
            "propose": self._propose,
            "amend": self._amend,
            "undo": lambda p: self._chat(p).session.undo(p.get("turn")),
            "redo": lambda p: self._chat(p).session.redo(),
            "mode": self._mode,
            "attended": self._attended,
            "model": self._model,
            "approvals": self._approvals,
            "revoke": self._revoke,
            "explain": lambda p: self._later(self._told(self._explain(p))),
            "rule": lambda p: self._later(self._told(self._chat(p).rules.propose(p))),
            "rule_revise": lambda p: self._chat(p).rules.revise(p),
            "rule_write": lambda p: self._later(self._told(self._chat(p).rules.write(p))),
            "tools": self._tools,
            "add_tool": lambda p: self._chat(p).give(p["name"]),
            "remove_tool": lambda p: self._chat(p).take_back(p["name"]),
            "reload": lambda p: self._custom.reload(anew=bool(p["anew"])),
            "log": self._log,
            "history": lambda p: self._later(self._history(p)),
            "closed": self._closed,
            "failed": lambda p: log.error("Lua: %s", p["text"]),
        }

    def take(self, name: str, payload: Payload) -> None:
        """Take one event; what the user can mend becomes one line."""
        handler = self._events.get(name)
        if handler is None:
            log.warning("an unknown event: %s", name)
            return
        try:
            handler(payload)
        except UserError as error:
            self._tell(str(error))
            if name == "send":
                # What was typed goes back to the prompt.
                self._bridge.call("chat.refuse", payload["chat"])

    def apologise(self, name: str) -> None:
        """Say that something went wrong that should not have."""
        self._tell(f"{name} failed; the reason is in {self._state.log_file}.", "error")

    def _chat(self, payload: Payload) -> Opened:
        chat = self._chats.get(payload["chat"])
        if chat is None:
            raise UserError("This chat is closed; open another with :AgentChat.")
        return chat

    def _tell(self, text: str, level: str = "warn") -> None:
        self._bridge.notify(level, text)

    def _start(self, payload: Payload) -> None:
        config = Path(payload.get("config") or "")
        self._state = State(Path(payload["state"]), tuple(payload["runtime"]), config)
        self._state.prepare()
        self._custom = CustomTools(self._bridge, config, self._state.trust_file)
        streams.part()
        # Ends by the ordinary way out, so that what runs at exit (killing children) runs.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        about = {
            "version": agentchat.__version__,
            "python": platform.python_version(),
            "pynvim": str(pynvim.VERSION),
            "pid": os.getpid(),
        }
        self._bridge.call("host.ready", about)

    def _open(self, payload: Payload) -> None:
        saved = payload.get("saved") or {}
        try:
            if saved.get("source"):
                fork(self._state.folder, saved["source"], payload["chat"])
            opened = open_chat(payload, self._bridge, self._state)
        except UserError:
            if saved:
                self._bridge.call("chat.discard", payload["chat"])
            raise
        self._chats[payload["chat"]] = opened
        opened.announce()
        if saved:
            opened.session.replay()
        opened.recover()
        if not opened.site.workspace.host:
            # The user's own tools run on this machine: no chat on another one has them.
            self._custom.join(payload["chat"], opened.shelf, opened.tool_paths, opened.show_tools)

    def _send(self, payload: Payload) -> None:
        chat = self._chat(payload)
        chat.configure(payload.get("settings") or {}, payload.get("attended", True))
        text, captured = payload["text"], payload.get("captured") or {}
        self._custom.when_read(payload["chat"], lambda: chat.send(text, captured))

    def _stop(self, payload: Payload) -> None:
        waiting = self._chat(payload).stop()
        if self._custom.drop_held(payload["chat"]) or waiting:
            self._bridge.call("chat.refuse", payload["chat"])

    def _answer(self, payload: Payload) -> None:
        self._chat(payload).session.answer(payload["prompt"], payloads.answer(payload))

    def _resolve(self, payload: Payload) -> None:
        self._chat(payload).session.resolving.resolve(payloads.order(payload))

    def _propose(self, payload: Payload) -> None:
        self._chat(payload).session.resolving.propose(payload["subject"], payload["path"])

    def _amend(self, payload: Payload) -> None:
        text = Replacement(payload["path"], payload["text"])
        self._chat(payload).session.resolving.amend(payload["preview"], text)

    def _attended(self, payload: Payload) -> None:
        for chat in self._chats.values():
            chat.attend(payload["attended"])

    def _mode(self, payload: Payload) -> None:
        self._chat(payload).session.set_mode(payload["mode"])

    def _model(self, payload: Payload) -> None:
        self._chat(payload).choose_model(payload.get("name"))

    def _approvals(self, payload: Payload) -> None:
        items = listings.approvals(self._chat(payload).session.chat)
        self._bridge.call("grants.list", payload["chat"], items)

    def _revoke(self, payload: Payload) -> None:
        listings.revoke(self._chat(payload).session.chat, payload.get("id"))

    def _tools(self, payload: Payload) -> None:
        listed = listings.tools(self._chat(payload).session.chat)
        self._page("Tools", [*listed, *self._custom.lines(payload["chat"])])

    def _log(self, payload: Payload) -> None:
        only = payload.get("only") or ""
        lines = self._chat(payload).journal_lines(only)
        self._page(only.capitalize() or "Journal", lines)

    async def _history(self, payload: Payload) -> None:
        found = await asyncio.to_thread(self._saved, payload["cwd"], payload.get("words") or "")
        items = [{"chat": one.chat, "title": one.title, "at": int(one.at)} for one in found]
        self._bridge.call("history.choose", items, dict(payload))

    def _saved(self, cwd: str, words: str) -> list[Saved]:
        place = cwd if "://" in cwd else os.path.realpath(cwd)
        return saved_chats(self._state.folder, place, words)

    async def _explain(self, payload: Payload) -> None:
        chat = self._chat(payload)
        await chat.session.judging.refresh()
        lines = await explain(chat.session.chat, chat.site.workspace, payload["text"])
        self._page("Explained", lines)

    async def _told(self, work: Awaitable[None]) -> None:
        """Wait for work; what the user can mend becomes one line."""
        try:
            await work
        except UserError as error:
            self._tell(str(error))

    def _page(self, title: str, lines: list[str]) -> None:
        self._bridge.call("page.show", title, lines)

    def _closed(self, payload: Payload) -> None:
        self._custom.leave(payload["chat"])
        chat = self._chats.pop(payload["chat"], None)
        if chat is not None:
            self._later(chat.close())

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
