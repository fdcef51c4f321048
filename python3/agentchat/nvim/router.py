"""Routes the events of Lua to the chats, each chat's in their order."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pynvim

import agentchat
from agentchat.agent.jobs import BackgroundJobs
from agentchat.agent.preview_actions import ResolveCommand, ShownPreview
from agentchat.agent.session import Session
from agentchat.core.errors import UserError
from agentchat.core.tools.mentions import CapturedContext
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.hunk_decisions import HunkDecision, ProposedText
from agentchat.journal.index import SavedChat, fork_chat, list_saved_chats
from agentchat.nvim.chat_factory import ChatFactory, OpenChat, State
from agentchat.nvim.custom_tools import CustomTools
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.render import listings
from agentchat.nvim.render.rules import explain

Payload = Mapping[str, Any]


log = logging.getLogger(__name__)


class Router:
    """Owns the chats of this process.

    A chat is opened and closed in the background. Its events wait meanwhile, and are routed in
    their order when that is done.
    """

    def __init__(self, bridge: LuaApi, state: State | None = None) -> None:
        self._bridge = bridge
        self._state = state or State()
        self._custom = CustomTools(bridge, Path(), Path())
        self._chats: dict[str, OpenChat] = {}
        self._changing: dict[str, list[tuple[str, Payload]]] = {}
        """The chats that are being opened or closed, with the events that wait."""
        self._background = BackgroundJobs(self)
        self._events: dict[str, Callable[[Payload], None]] = {
            "start": self._start,
            "open": lambda p: self._change(p["chat"], self._open(p), "opening the chat"),
            "closed": lambda p: self._change(p["chat"], self._close(p), "closing the chat"),
            "send": self._send,
            "stop": lambda p: self._session(p).stop(),
            "answer": lambda p: self._session(p).answer(p["prompt"], parse_response(p)),
            "answers": lambda p: self._chat(p).frontend.answer(p["id"], p["answers"]),
            "resolve": lambda p: self._session(p).resolving.resolve(parse_resolve_command(p)),
            "propose": lambda p: self._session(p).resolving.propose(p["subject"], p["path"]),
            "amend": self._amend,
            "undo": lambda p: self._session(p).undo(p.get("turn")),
            "redo": lambda p: self._session(p).redo(),
            "mode": lambda p: self._session(p).set_mode(p["mode"]),
            "attended": self._attended,
            "model": lambda p: self._chat(p).choose_model(p.get("name")),
            "approvals": self._approvals,
            "revoke": lambda p: listings.revoke(self._session(p).chat, p.get("id")),
            "explain": lambda p: self._start_job("explain", self._explain(p)),
            "rule": lambda p: self._start_job("the rule", self._chat(p).rules.propose(p)),
            "rule_revise": lambda p: self._chat(p).rules.revise(p),
            "rule_write": lambda p: self._start_job("the rule", self._chat(p).rules.write(p)),
            "tools": self._tools,
            "add_tool": lambda p: self._session(p).tools.add(p["name"]),
            "remove_tool": lambda p: self._session(p).tools.remove(p["name"]),
            "reload": lambda p: self._custom.reload(anew=bool(p["anew"])),
            "log": self._log,
            "history": lambda p: self._start_job("the history", self._history(p)),
            "failed": lambda p: log.error("Lua: %s", p["text"]),
        }

    def take(self, name: str, payload: Payload) -> None:
        """Route one event. Returns at once and never raises."""
        waiting = self._changing.get(payload.get("chat") or "")
        if waiting is not None:
            waiting.append((name, payload))
        elif name in self._events:
            self._route(name, payload)
        else:
            log.warning("an unknown event: %s", name)

    def notify(self, level: str, text: str) -> None:
        """Show one line to the user."""
        self._bridge.notify(level, text)

    def _route(self, name: str, payload: Payload) -> None:
        try:
            self._events[name](payload)
        except UserError as error:
            self.notify("warn", str(error))
            if name == "send":
                # What was typed goes back to the prompt.
                self._bridge.call("chat.refuse", payload["chat"])
        except Exception:
            # What escapes here would appear raw among the user's messages.
            log.exception("the event %s failed", name)
            self.notify("error", f"{name} failed; the reason is in {self._state.log_file}.")

    def _start_job(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._background.start(work, name)

    def _chat(self, payload: Payload) -> OpenChat:
        chat = self._chats.get(payload["chat"])
        if chat is None:
            raise UserError("This chat is closed; open another with :AgentChat.")
        return chat

    def _session(self, payload: Payload) -> Session:
        return self._chat(payload).session

    def _start(self, payload: Payload) -> None:
        config = Path(payload.get("config") or "")
        self._state = State(Path(payload["state"]), tuple(payload["runtime"]), config)
        self._state.prepare()
        self._custom = CustomTools(self._bridge, config, self._state.trust_file)
        detach_standard_streams()
        # Ends by the ordinary way out, so that what runs at exit (killing children) runs.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        about = {
            "version": agentchat.__version__,
            "python": platform.python_version(),
            "pynvim": str(pynvim.VERSION),
            "pid": os.getpid(),
        }
        self._bridge.call("host.ready", about)

    def _change(self, chat: str, work: Coroutine[Any, Any, None], name: str) -> None:
        """Open or close a chat; its events wait meanwhile."""
        self._changing[chat] = []
        self._start_job(name, self._finish_change(chat, work))

    async def _finish_change(self, chat: str, work: Awaitable[None]) -> None:
        try:
            await work
        finally:
            for name, payload in self._changing.pop(chat):
                self.take(name, payload)

    async def _open(self, payload: Payload) -> None:
        saved = payload.get("saved") or {}
        try:
            if saved.get("source"):
                await asyncio.to_thread(
                    fork_chat, self._state.folder, saved["source"], payload["chat"]
                )
            opened = await ChatFactory(self._bridge, self._state, self._custom).open(payload)
        except UserError:
            if saved:
                self._bridge.call("chat.discard", payload["chat"])
            raise
        self._chats[payload["chat"]] = opened
        opened.announce()
        if saved:
            opened.session.replay()
        opened.recover()
        if not opened.workspace.host:
            # The user's own tools run on this machine: no chat on another one has them.
            show = opened.session.tools.show
            self._custom.join(payload["chat"], opened.shelf, opened.settings.tool_paths, show)

    async def _close(self, payload: Payload) -> None:
        self._custom.leave(payload["chat"])
        chat = self._chats.pop(payload["chat"], None)
        if chat is not None:
            await chat.close()
            self._start_job("closing the workspace", chat.clean_up())

    def _send(self, payload: Payload) -> None:
        chat = self._chat(payload)
        chat.configure(payload.get("settings") or {}, payload.get("attended", True))
        captured = payload.get("captured") or {}
        chat.session.send(
            payload["text"], {name: CapturedContext(**found) for name, found in captured.items()}
        )

    def _amend(self, payload: Payload) -> None:
        text = ProposedText(payload["path"], payload["text"])
        self._session(payload).resolving.amend(payload["preview"], text)

    def _attended(self, payload: Payload) -> None:
        for chat in self._chats.values():
            chat.attend(payload["attended"])

    def _approvals(self, payload: Payload) -> None:
        items = listings.approvals(self._session(payload).chat)
        self._bridge.call("grants.list", payload["chat"], items)

    def _tools(self, payload: Payload) -> None:
        listed = listings.tools(self._session(payload).chat)
        self._page("Tools", [*listed, *self._custom.lines(payload["chat"])])

    def _log(self, payload: Payload) -> None:
        only = payload.get("only") or ""
        lines = self._chat(payload).journal_lines(only)
        self._page(only.capitalize() or "Journal", lines)

    async def _history(self, payload: Payload) -> None:
        found = await asyncio.to_thread(self._saved, payload["cwd"], payload.get("words") or "")
        items = [{"chat": one.chat, "title": one.title, "at": int(one.at)} for one in found]
        self._bridge.call("history.choose", items, dict(payload))

    def _saved(self, cwd: str, words: str) -> list[SavedChat]:
        place = cwd if "://" in cwd else os.path.realpath(cwd)
        return list_saved_chats(self._state.folder, place, words)

    async def _explain(self, payload: Payload) -> None:
        chat = self._chat(payload)
        await chat.session.judging.refresh()
        lines = await explain(chat.session.chat, chat.workspace, payload["text"])
        self._page("Explained", lines)

    def _page(self, title: str, lines: list[str]) -> None:
        self._bridge.call("page.show", title, lines)


def detach_standard_streams() -> None:
    """Let what tools and their programs read be empty, and what they print there be lost.

    The connection to Neovim is a copy of standard input made before the host started; standard
    output has been standard error ever since, which Neovim reads line by line.
    """
    if sys.__stdin__ is not None:
        sys.stdin = sys.__stdin__
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def parse_response(payload: Payload) -> ApprovalResponse:
    """Return the user's answer to an approval request."""
    return ApprovalResponse(
        choice=payload["choice"],
        reason=payload.get("reason") or "",
        arguments=payload.get("arguments"),
        hunks=_parse_hunks(payload),
        replaced=tuple(
            ProposedText(one["path"], one["text"]) for one in _list(payload, "replaced")
        ),
    )


def parse_resolve_command(payload: Payload) -> ResolveCommand:
    """Return what the user wants done with the newest preview."""
    seen = payload.get("preview")
    return ResolveCommand(
        action=payload["action"],
        reason=payload.get("reason") or "",
        hunks=_parse_hunks(payload),
        seen=ShownPreview(seen, payload.get("stamp") or "") if seen else None,
    )


def _parse_hunks(payload: Payload) -> tuple[HunkDecision, ...]:
    """Return what the user decided about single hunks."""
    return tuple(
        HunkDecision(
            one["path"],
            one["index"],
            bool(one["keep"]),
            one.get("comment") or "",
            one.get("part"),
        )
        for one in _list(payload, "hunks")
    )


def _list(payload: Payload, name: str) -> list[Payload]:
    found = payload.get(name)
    # An empty table of Lua comes as a mapping.
    return found if isinstance(found, list) else []
