"""``:AgentMcp``: lists the MCP servers of a project, and starts, stops and explains them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentchat.app.settings import read_settings
from agentchat.core.errors import ToolError, UserError
from agentchat.core.text import clip, escape_hidden_characters
from agentchat.nvim.lua_api import LuaApi
from agentchat.tools.format import count_summary
from agentchat.tools.mcp.registry import ProjectServers, ServerRegistry
from agentchat.tools.mcp.servers import McpServer

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
            self._show("MCP servers", await self._list(project))
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
        existed = await server.logout()
        text = "logged out" if existed else "there was no login"
        self._lua.notify("info", f"MCP server {server.name}: {text}.")

    async def _stop(self, server: McpServer) -> None:
        await server.stop()
        self._lua.notify("info", f"MCP server {server.name} is stopped; a call starts it again.")

    async def _log(self, server: McpServer) -> list[str]:
        lines = [escape_hidden_characters(line) for line in await server.log()]
        return [f"{server.name} ({server.state})", "", *(lines or ["(no output)"]), ""]

    async def _list(self, project: ProjectServers) -> list[str]:
        lines: list[str] = []
        for server in project.servers.values():
            lines += [*_describe(server), *await self._last_lines(server), ""]
        lines += _problem_lines(project)
        return lines or [NONE]

    async def _last_lines(self, server: McpServer) -> list[str]:
        lines = await server.log()
        return [f"  stderr: {escape_hidden_characters(line)}" for line in lines[-SHOWN_LINES:]]

    def _show(self, title: str, lines: list[str]) -> None:
        self._lua.call("page.show", title, lines)


def _describe(server: McpServer) -> Iterator[str]:
    config, about = server.config, server.about
    tools = count_summary(len(server.tools), "tool")
    state = "disabled" if config.disabled and server.state == "stopped" else server.state
    yield f"{server.name}: {state}, {tools}" if about else f"{server.name}: {state}"
    if about:
        who = clip(about.get("server") or "unnamed", 80)
        yield f"  version: {escape_hidden_characters(who)}, protocol {about['protocol']}"
    yield f"  {'url' if config.url else 'command'}: {escape_hidden_characters(config.identity)}"
    yield f"  from: {config.place}"
    if server.tools:
        yield f"  tools: {', '.join(tool.name for tool in server.tools)}"
    if server.problem:
        yield f"  problem: {escape_hidden_characters(server.problem)}"
    yield from (f"  problem: {problem}" for problem in server.problems)


def _problem_lines(project: ProjectServers) -> list[str]:
    lines = [f"problem: {problem}" for problem in project.problems]
    lines += [
        f"not trusted, so not used: {path}. Run :AgentMcp trust" for path in project.untrusted
    ]
    return lines
