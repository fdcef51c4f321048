"""``:AgentMcp``: lists the MCP servers of a project, and starts, stops and explains them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentchat.app.settings import read_settings
from agentchat.core.errors import ToolError, UserError
from agentchat.core.text import clip, escape_line
from agentchat.nvim.lua_api import LuaApi
from agentchat.rpc.background import BackgroundTasks
from agentchat.tools.format import count_summary
from agentchat.tools.mcp.config import ConfigError
from agentchat.tools.mcp.registry import ProjectServers, ServerRegistry
from agentchat.tools.mcp.servers import McpServer

LIST = "MCP servers"
LIST_SECONDS = 0.3
"""How long the list waits for the last lines of the servers; they join it later."""
SHOWN_LINES = 3
"""Lines of standard error in the list."""
NONE = (
    "No MCP servers here. Add one to g:agentchat.mcp.servers or to mcp.json; see :help "
    "agentchat-mcp."
)


class McpCommands:
    """Carries out the command for one process."""

    def __init__(self, lua: LuaApi, servers: ServerRegistry) -> None:
        self._lua = lua
        self._servers = servers
        self._listed: Path | None = None
        """The project whose list was shown last."""
        self._logs: dict[str, list[str]] = {}
        """The last lines on standard error, by the key of the server."""
        self._updates = BackgroundTasks()
        self._actions: dict[str, Callable[[McpServer], Awaitable[None]]] = {
            "start": self._start,
            "stop": self._stop,
            "restart": self._restart,
            "login": self._login,
            "logout": self._logout,
        }

    async def run(self, payload: Mapping[str, Any]) -> None:
        """Carry out one command: ``action``, ``server``, ``cwd`` and ``settings``.

        Raises:
            UserError: there is no such server, or it cannot be started.
        """
        project = self._update(payload)
        action, name = payload.get("action") or "", payload.get("server") or ""
        servers = [self._find(project, name)] if name else list(project.servers.values())
        if not action:
            await self._show_list(project, payload.get("win"))
        elif action == "log":
            self._show("MCP log", [line for s in servers for line in await self._log(s)])
        else:
            for server in servers:
                await self._actions[action](server)

    def _update(self, payload: Mapping[str, Any]) -> ProjectServers:
        settings = read_settings(payload.get("settings") or {})
        root = Path(os.path.realpath(payload["cwd"]))
        return self._servers.update(root, settings.mcp_servers)

    def _find(self, project: ProjectServers, name: str) -> McpServer:
        server = project.servers.get(name)
        if server is None:
            known = ", ".join(sorted(project.servers)) or "none"
            raise UserError(f'There is no MCP server "{name}" here; known are: {known}.')
        return server

    async def _start(self, server: McpServer) -> None:
        if server.state == "running":
            self._lua.notify("info", f"MCP server {server.name} runs already.")
        else:
            await self._restart(server)

    async def _restart(self, server: McpServer) -> None:
        try:
            await server.restart()
        except ToolError as error:
            raise UserError(str(error)) from error
        tools = count_summary(len(server.tools), "tool")
        self._lua.notify("info", f"MCP server {server.name} runs: {tools}.")

    async def _login(self, server: McpServer) -> None:
        if not server.config.url:
            raise UserError(f"MCP server {server.name} is a program: it has no login.")
        try:
            await server.login()
        except ToolError as error:
            raise UserError(str(error)) from error
        self._lua.notify("info", f"MCP server {server.name}: logged in.")

    async def _logout(self, server: McpServer) -> None:
        try:
            existed = await server.logout()
        except ConfigError as error:
            raise UserError(f"MCP server {server.name}: {error}") from error
        text = "logged out" if existed else "there was no login"
        self._lua.notify("info", f"MCP server {server.name}: {text}.")

    async def _stop(self, server: McpServer) -> None:
        await server.stop()
        self._lua.notify("info", f"MCP server {server.name} is stopped; a call starts it again.")

    async def _log(self, server: McpServer) -> list[str]:
        lines = [escape_line(line) for line in await server.log()]
        return [f"{server.name} ({server.state})", "", *(lines or ["(no output)"]), ""]

    async def _show_list(self, project: ProjectServers, win: int | None) -> None:
        """Show the servers; the list follows their changes until the user closes it."""
        self._listed = project.root
        with contextlib.suppress(TimeoutError):  # a server that is starting may answer late
            async with asyncio.timeout(LIST_SECONDS):
                await self._read_logs(project)
        self._lua.call("page.show", LIST, self._lines(project), win)
        self._updates.start(self._update_list(project))

    def follow(self, root: Path) -> None:
        """Update the list of a project whose servers changed, if it was shown last."""
        project = self._servers.project(root)
        if project is not None and root == self._listed:
            self._lua.call("page.update", LIST, self._lines(project))
            self._updates.start(self._update_list(project))

    async def _update_list(self, project: ProjectServers) -> None:
        await self._read_logs(project)
        if project.root == self._listed:
            self._lua.call("page.update", LIST, self._lines(project))

    async def _read_logs(self, project: ProjectServers) -> None:
        for server in project.servers.values():
            with contextlib.suppress(ToolError):
                self._logs[server.key] = (await server.log())[-SHOWN_LINES:]

    def _lines(self, project: ProjectServers) -> list[str]:
        lines: list[str] = []
        for server in project.servers.values():
            log = (f"  stderr: {escape_line(line)}" for line in self._logs.get(server.key, ()))
            lines += [*_describe(server), *log, ""]
        lines += _problem_lines(project)
        return lines or [NONE]

    def _show(self, title: str, lines: list[str]) -> None:
        self._lua.call("page.show", title, lines)


def _describe(server: McpServer) -> Iterator[str]:
    config, about = server.config, server.about
    tools = count_summary(len(server.tools), "tool")
    state = "disabled" if config.disabled and server.state == "stopped" else server.state
    yield f"{server.name}: {state}, {tools}" if about else f"{server.name}: {state}"
    if about:
        who = clip(about.get("server") or "unnamed", 80)
        yield f"  version: {escape_line(who)}, protocol {about['protocol']}"
    yield f"  {'url' if config.url else 'command'}: {escape_line(config.identity)}"
    yield f"  from: {config.place}"
    if server.tools:
        yield f"  tools: {', '.join(tool.name for tool in server.tools)}"
    if server.problem:
        yield f"  problem: {escape_line(server.problem)}"
    yield from (f"  problem: {escape_line(problem)}" for problem in server.problems)


def _problem_lines(project: ProjectServers) -> list[str]:
    lines = [f"problem: {escape_line(str(problem))}" for problem in project.problems]
    lines += [
        f"not trusted, so not used: {path}. Run :AgentMcp trust" for path in project.untrusted
    ]
    return lines
