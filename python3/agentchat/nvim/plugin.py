"""The remote plugin: takes Lua's events and hands them to the desk."""

from __future__ import annotations

import logging
from typing import Any

import pynvim

from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.router import Desk

log = logging.getLogger(__name__)


@pynvim.plugin
class AgentChat:
    """One per host process."""

    def __init__(self, nvim: pynvim.Nvim) -> None:
        self._desk = Desk(LuaApi(nvim))

    @pynvim.function("AgentchatEvent", sync=False)
    def event(self, args: list[Any]) -> None:
        """Take one event: its name and its payload. Returns at once and never raises."""
        name, payload = args
        try:
            self._desk.take(name, payload)
        except Exception:
            # What escapes here lands raw among the user's messages.
            log.exception("the event %s failed", name)
            self._desk.apologise(name)
