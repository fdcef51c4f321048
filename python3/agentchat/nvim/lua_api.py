"""Calls functions of Lua from the event loop: the only way from the host to Neovim."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pynvim import Nvim

LuaFunction = Literal[
    "approval.close",
    "approval.edit_proposal",
    "approval.show",
    "ask_user.ask",
    "ask_user.close",
    "buffers.refresh",
    "buffers.reload",
    "buffers.rename",
    "buffers.replace",
    "buffers.save",
    "buffers.snapshot",
    "buffers.snapshots",
    "buffers.undo",
    "chat.apply",
    "chat.discard",
    "chat.refuse",
    "code.answer",
    "diagnostics.list",
    "grants.list",
    "history.choose",
    "host.ready",
    "notify.error",
    "notify.info",
    "notify.warn",
    "page.show",
    "review.close",
    "review.show",
    "rules.show",
    "tool_options.decide",
    "trust.agreed",
    "trust.watch_tools",
]
"""The functions of ``host/rpc.lua``; a test compares the two tables."""

# Values travel as arguments, never inside Lua source.
_RPC = "local how = ...; return require('agentchat.host.rpc')[how](select(2, ...))"


class LuaApi:
    """Calls the functions that the Lua half offers."""

    def __init__(self, nvim: Nvim) -> None:
        self._nvim = nvim

    def call(self, name: LuaFunction, *args: Any) -> None:
        """Call a function soon, without waiting; Lua shows its errors to the user."""
        self._nvim.async_call(self._send, name, args)

    async def request(self, name: LuaFunction, *args: Any) -> Any:
        """Call a function and return its answer.

        Raises pynvim's NvimError if the Lua function does.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._nvim.async_call(self._ask, answer, name, args)
        return await answer

    def notify(self, level: str, text: str) -> None:
        """Show one line: level is ``info``, ``warn`` or ``error``."""
        if level == "error":
            self.call("notify.error", text)
        elif level == "warn":
            self.call("notify.warn", text)
        else:
            self.call("notify.info", text)

    def _send(self, name: LuaFunction, args: tuple[Any, ...]) -> None:
        self._nvim.exec_lua(_RPC, "call", name, *args, async_=True)

    def _ask(self, answer: asyncio.Future[Any], name: LuaFunction, args: tuple[Any, ...]) -> None:
        # ``async_call`` runs this in a greenlet, where a request can wait for its answer.
        try:
            value = self._nvim.exec_lua(_RPC, "request", name, *args)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        else:
            if not answer.done():
                answer.set_result(value)
