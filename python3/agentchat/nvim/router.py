"""Routes the events of Lua to the chats, each chat's in their order.

Theory: threads and processes of the host
=========================================

Neovim starts one *host* process for all chats. Nothing that takes time runs in Neovim itself.

===========================  ======================================================================
runs                         what
===========================  ======================================================================
host, event loop             all state of the plugin: router, sessions, views, journal writers.
                             One thread, so no locks; every function on it returns soon
host, pynvim's greenlets     calls of Lua that wait for an answer (``lua_api``)
host, threads of the loop    files, search, journal reading, rules, diffs as the user sees them;
                             they get values and return values, and share no state
host, own threads            waiting for a child process; reading and writing of a connection
                             (``rpc.peer``). Daemons: they do not delay the end of the host
commands of ``bash``         one process group each (``workspace.process.run``)
ssh                          one client per chat on another machine (``workspace.remote.client``)
overlays of stage mode       one server per chat, for one turn (``workspace.overlay.workspace``)
custom tools                 worker processes (``tools.custom.process.pool``)
===========================  ======================================================================

From Lua to the host go *events*: notifications without an answer. ``Router.take`` handles one on
the event loop and returns immediately; what takes longer becomes a background task or a job of
the session. From the host to Lua go calls of the functions in ``LuaFunction``; most are
notifications, too. So neither side ever waits for the other while the user types.

Order: the events of a chat are handled in the order in which Lua sent them. A chat that is being
opened or closed is *changing*: its events wait, and are routed when that has ended. Within a chat
the session does one thing at a time (``agent.session``); different chats do not wait for each
other. What a chat draws leaves in its order, at most 30 times a second (``view``).

Errors: an error in a handler or a task is one line for the user and a traceback in the log; it
never ends the host. A message of the user that cannot be taken goes back to the prompt.

End: closing a chat stops its turn, waits for it (``CLOSE_SECONDS``), then closes the journal, so
that the chat can be opened again immediately; ssh and model connections are closed afterwards. If
Neovim ends, the connection ends and the host with it; SIGTERM takes the same way out, which kills
children. If the host is killed, a small shell that watches it kills the process groups it left
(``workspace.process.orphans``), workers and the far end of ssh end with their connection, and the
journal tells the next host what was unfinished (``agent.undo.recovery``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import pynvim

import agentchat
from agentchat.agent.external.acp.known_agents import list_states
from agentchat.agent.jobs import BackgroundJobs
from agentchat.app.settings import read_settings
from agentchat.app.state import State
from agentchat.app.tool_sources import ToolSources
from agentchat.app.workspaces import ISOLATED, OVERLAYS, is_remote
from agentchat.core.errors import UserError
from agentchat.core.permissions.sensitive_paths import SECRET_GLOBS
from agentchat.journal.export import write_lines
from agentchat.journal.file import journal_path
from agentchat.journal.index import (
    SavedChat,
    delete_chat,
    fork_chat,
    list_saved_chats,
    rename_chat,
)
from agentchat.journal.markdown import render_markdown
from agentchat.journal.reader import describe_chat, read_history, scan
from agentchat.journal.records import Record
from agentchat.models.learned import LearnedServers
from agentchat.nvim.agent_connections import AgentConnections
from agentchat.nvim.chat_factory import ChatFactory
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.lua_tools import LuaTools
from agentchat.nvim.mcp_commands import McpCommands
from agentchat.nvim.open_chat import EVENTS, OpenChat
from agentchat.nvim.render.diff_marks import CHANGE, diff_marks
from agentchat.nvim.render.syntax import code_marks
from agentchat.nvim.tools_view import NvimToolsView
from agentchat.workspace.overlay.folder import sweep

Payload = Mapping[str, Any]

log = logging.getLogger(__name__)

DESCRIBED_CHATS = 50
"""How many saved chats are read whole for their list: the newest."""


class Router:
    """Owns the chats of this process.

    A chat is opened and closed in the background. Its events wait meanwhile, and are routed in
    their order when that is done.
    """

    def __init__(self, lua: LuaApi, state: State | None = None) -> None:
        self._lua = lua
        self._state = state or State()
        self._lua_tools = LuaTools(lua)
        self._tool_sources = self._open_tool_sources(Path(), Path())
        self._agents = AgentConnections(self, Path())
        self._chats: dict[str, OpenChat] = {}
        self._closing: dict[str, asyncio.Event] = {}
        self._changing: dict[str, list[tuple[str, Payload]]] = {}
        """The chats that are being opened or closed, with the events that wait."""
        self._background = BackgroundJobs(self)
        self._events: dict[str, Callable[[Payload], None]] = {
            "start": self._start,
            "open": lambda p: self._change(p["chat"], self._open(p), "opening the chat"),
            "closed": lambda p: self._change(p["chat"], self._close(p), "closing the chat"),
            "attended": self._set_attended,
            "serve": self._serve,
            "reload": lambda p: self._tool_sources.reload(all_files=bool(p["anew"])),
            "lua_tools": self._declare_tools,
            "lua_tool_done": lambda p: self._lua_tools.finish(p),
            "lua_tool_progress": lambda p: self._lua_tools.show_progress(p),
            "agents": lambda p: self._start_job("the agents", self._offer_agents(p)),
            "mcp": lambda p: self._start_job("the MCP servers", self._run_mcp(p)),
            "history": lambda p: self._start_job("the history", self._show_history(p)),
            "preview_saved": lambda p: self._start_job("the preview", self._preview_saved(p)),
            "export_saved": lambda p: self._start_job("the export", self._export_saved(p)),
            "rename_saved": lambda p: self._start_job("renaming", self._rename_saved(p)),
            "delete_saved": lambda p: self._start_job("deleting", self._delete_saved(p)),
            "highlight": lambda p: self._start_job("highlighting", self._highlight(p)),
            "failed": lambda p: log.error("Lua: %s", p["text"]),
        }

    def take(self, name: str, payload: Payload) -> None:
        """Route one event. Returns immediately and never raises."""
        waiting = self._changing.get(payload.get("chat") or "")
        if waiting is not None:
            waiting.append((name, payload))
        elif name in self._events or name in EVENTS:
            self._route(name, payload)
        else:
            log.warning("an unknown event: %s", name)

    def notify(self, level: str, text: str) -> None:
        """Show one line to the user."""
        self._lua.notify(level, text)

    def open_chat(self, connection: int, name: str, cwd: str) -> None:
        """Open a chat for an agent of another program."""
        self._lua.call("chat.open_for_agent", {"agent": connection, "name": name, "cwd": cwd})

    async def places(self) -> Sequence[str]:
        """Return the directories that Neovim is in."""
        places: Sequence[str] = await self._lua.request("host.places")
        return places

    def _route(self, name: str, payload: Payload) -> None:
        try:
            if name in self._events:
                self._events[name](payload)
            else:
                self._find_chat(payload).take(name, payload)
        except UserError as error:
            self.notify("warn", str(error))
            if name == "send":
                # What was typed goes back to the prompt.
                self._lua.call("chat.refuse", payload["chat"])
        except Exception:
            # Neovim would show the traceback among the user's messages.
            log.exception("the event %s failed", name)
            self.notify("error", f"{name} failed; the reason is in {self._state.log_file}.")

    def _find_chat(self, payload: Payload) -> OpenChat:
        chat = self._chats.get(payload["chat"])
        if chat is None:
            raise UserError("This chat is closed; open another with :AgentChat.")
        return chat

    def _start_job(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._background.start(work, name)

    def _start(self, payload: Payload) -> None:
        config = Path(payload.get("config") or "")
        folder = Path(payload["state"])
        self._state = State(
            folder, tuple(payload["runtime"]), config, learned=LearnedServers(folder)
        )
        self._state.prepare()
        self._start_job("removing old overlays", asyncio.to_thread(sweep, folder / OVERLAYS))
        old = asyncio.to_thread(sweep, folder / ISOLATED, keeps_changes=False)
        self._start_job("removing old isolated runs", old)
        self._tool_sources = self._open_tool_sources(config, self._state.trust_file)
        detach_standard_streams()
        # The normal exit runs the exit handlers, which kill children.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        versions = {
            "version": agentchat.__version__,
            "python": platform.python_version(),
            "pynvim": str(pynvim.VERSION),
            "pid": os.getpid(),
            "secrets": list(SECRET_GLOBS),
        }
        self._lua.call("host.ready", versions)

    def _open_tool_sources(self, config: Path, trust: Path) -> ToolSources:
        view = NvimToolsView(self._lua, lambda root: self._mcp_commands.follow(root))
        sources = ToolSources(view, config, trust, self._lua_tools)
        self._mcp_commands = McpCommands(self._lua, sources.servers)
        return sources

    def _declare_tools(self, payload: Payload) -> None:
        """Replace the tools that Lua has registered, in every chat."""
        self._lua_tools.replace(payload["tools"])
        self._tool_sources.reload(all_files=False)

    async def _run_mcp(self, payload: Payload) -> None:
        await self._mcp_commands.run(payload)

    async def _offer_agents(self, payload: Payload) -> None:
        agents = read_settings(payload["settings"]).agents
        states = await asyncio.to_thread(list_states, agents, payload["cwd"])
        self._lua.call("agents.offer", [list(pair) for pair in states])

    def _serve(self, payload: Payload) -> None:
        self._agents = AgentConnections(self, self._state.agent_sockets)
        self._start_job("listening for agents", self._agents.listen(payload["cwd"]))

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
        uuid, saved = payload["chat"], payload.get("saved") or {}
        factory = ChatFactory(self._lua, self._state, self._tool_sources, self._background)
        connection = self._agents.find(payload.get("agent") or 0)
        try:
            if saved.get("source"):
                await asyncio.to_thread(
                    fork_chat, self._state.folder, saved["source"], uuid, saved.get("requests")
                )
            chat = await factory.open(payload, connection.name if connection else "")
        except UserError as error:
            if connection is not None:
                connection.fail(str(error))
            if saved:
                self._lua.call("chat.discard", uuid)
            raise
        self._chats[uuid] = chat
        chat.start(resumed=bool(saved))
        if connection is not None:
            chat.set_attended(payload["attended"])
            connection.take_chat(chat)

    async def _close(self, payload: Payload) -> None:
        id = payload["chat"]
        chat = self._chats.pop(id, None)
        if chat is None:
            return
        self._closing[id] = asyncio.Event()
        try:
            await chat.close()
        finally:
            self._closing.pop(id).set()

    def _set_attended(self, payload: Payload) -> None:
        for chat in self._chats.values():
            chat.set_attended(payload["attended"])

    async def _show_history(self, payload: Payload) -> None:
        words = payload.get("words") or ""
        chats = await asyncio.to_thread(self._list_saved, payload["cwd"], words)
        items = [
            {
                "chat": chat.chat,
                "title": chat.title,
                "at": int(chat.time),
                "source": chat.source,
            }
            for chat in chats
        ]
        is_list = payload.get("browse")
        self._lua.call("sessions.show" if is_list else "history.choose", items, dict(payload))
        if is_list:
            await self._describe_saved(chats)

    async def _describe_saved(self, chats: Sequence[SavedChat]) -> None:
        """Tell the list what each chat is about, once it is shown: this reads whole journals."""
        for chat in chats[:DESCRIBED_CHATS]:
            try:
                records = await asyncio.to_thread(self._read_saved, chat.chat)
            except UserError:  # deleted meanwhile
                continue
            self._lua.call("sessions.describe", chat.chat, describe_chat(records))

    async def _preview_saved(self, payload: Payload) -> None:
        records = await asyncio.to_thread(self._read_saved, payload["saved"])
        lines = await asyncio.to_thread(render_markdown, read_history(records))
        self._lua.call("sessions.preview", payload["saved"], lines, describe_chat(records))

    async def _export_saved(self, payload: Payload) -> None:
        path = Path(payload["path"])
        lines = await asyncio.to_thread(self._markdown, payload["saved"], payload["title"])
        try:
            await asyncio.to_thread(write_lines, lines, path, False)
        except FileExistsError as error:
            raise UserError(f"{path} exists. Choose another path.") from error
        self.notify("info", f"exported to {path}")

    async def _rename_saved(self, payload: Payload) -> None:
        chat = payload["saved"]
        title = await asyncio.to_thread(rename_chat, self._state.folder, chat, payload["title"])
        self._lua.call("sessions.renamed", chat, title)

    async def _delete_saved(self, payload: Payload) -> None:
        if closing := self._closing.get(payload["saved"]):
            await closing.wait()  # it has the journal until then
        await asyncio.to_thread(delete_chat, self._state.folder, payload["saved"])
        self._lua.call("sessions.deleted", payload["saved"])

    def _read_saved(self, chat: str) -> Sequence[Record]:
        try:
            return scan(journal_path(self._state.folder, chat)).records
        except OSError as error:
            raise UserError("This chat is not on disk any more.") from error

    def _markdown(self, chat: str, title: str) -> list[str]:
        return render_markdown(read_history(self._read_saved(chat)), title)

    async def _highlight(self, payload: Payload) -> None:
        lines, language = payload["lines"], payload["language"]
        if language == CHANGE:
            rows = await asyncio.to_thread(diff_marks, lines)
        else:
            rows = await asyncio.to_thread(code_marks, lines, language)
        self._lua.call("code.answer", payload["request"], rows)

    def _list_saved(self, cwd: str, words: str) -> list[SavedChat]:
        place = cwd if is_remote(cwd) else os.path.realpath(cwd)
        return list_saved_chats(self._state.folder, place, words)


def detach_standard_streams() -> None:
    """Detach the standard streams from Neovim: tools read nothing there and write nowhere.

    The connection to Neovim is a copy of standard input from before the host started. Standard
    output has been a copy of standard error since then, which Neovim reads line by line.
    """
    if sys.__stdin__ is not None:
        sys.stdin = sys.__stdin__
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)
