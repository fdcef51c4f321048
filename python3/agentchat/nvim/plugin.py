"""The remote plugin: takes Lua's events and hands them to the router."""

from __future__ import annotations

from typing import Any

import pynvim

from agentchat.nvim.lua_api import Bridge
from agentchat.nvim.router import Router


@pynvim.plugin
class AgentChat:
    """One per host process."""

    def __init__(self, nvim: pynvim.Nvim) -> None:
        self._router = Router(Bridge(nvim))

    @pynvim.function("AgentchatEvent", sync=False)
    def event(self, args: list[Any]) -> None:
        """Take one event: its name and its payload."""
        name, payload = args
        self._router.take(name, payload)
