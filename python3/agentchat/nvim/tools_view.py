"""Shows in Neovim what becomes of the tools of files and MCP servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from agentchat.core.text import clip, escape_hidden_characters, has_hidden_characters
from agentchat.nvim.lua_api import LuaApi
from agentchat.tools.mcp.servers import McpServer

MOST_RESOURCES = 500
"""Resources of one server that are completed."""


class NvimToolsView:
    """The view of the tools of this Neovim."""

    def __init__(self, lua: LuaApi, on_servers: Callable[[Path], None] = lambda root: None) -> None:
        self._lua = lua
        self._on_servers = on_servers

    def notify(self, level: str, text: str) -> None:
        """Show one line."""
        self._lua.notify(level, text)

    def warn_once(self, text: str) -> None:
        """Show a warning, unless it was shown before."""
        self._lua.call("notify.warn_once", text)

    def watch_trust(self, folders: Sequence[str]) -> None:
        """Offer to trust files with tools in these folders when they are opened."""
        self._lua.call("trust.watch_tools", list(folders))

    def offer_servers(self, root: Path, servers: Collection[McpServer]) -> None:
        """Let Lua complete and describe a project's servers and their resources."""
        resources = [item for server in servers for item in _resources(server)]
        described = {
            server.name: {
                "state": server.state,
                "tools": len(server.tools),
                "problem": server.problem,
            }
            for server in servers
        }
        self._lua.call("context.offer", str(root), described, resources)
        self._on_servers(root)

    def show_login(self, server: str, url: str) -> None:
        """Show the address at which the user logs in; the browser is the user's to open."""
        host = urlsplit(url).hostname or ""
        lines = [
            f"Log in to the MCP server {escape_hidden_characters(server)}",
            "",
            f"at {escape_hidden_characters(host)}: open this in your browser, for example with gx",
            "",
            escape_hidden_characters(url),
        ]
        self._lua.call("page.show", "MCP login", lines)


def _resources(server: McpServer) -> Iterator[dict[str, str]]:
    """Yield the resources of a server that can be typed, for completion."""
    for resource in (server.about.get("resources") or ())[:MOST_RESOURCES]:
        uri = str(resource.get("uri") or "")
        if re.fullmatch(r"[^\s{}#]+", uri) and not has_hidden_characters(uri):
            about = clip(str(resource.get("description") or resource.get("name") or ""), 200)
            name = f"{server.name}:{uri}"
            yield {"name": name, "kind": "context", "about": escape_hidden_characters(about)}
