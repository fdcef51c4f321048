"""Calls functions of Lua from the event loop: the only way from the host to Neovim."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pynvim import Nvim

log = logging.getLogger(__name__)

LuaFunction = Literal[
    "agents.offer",
    "approval.close",
    "approval.edit_proposal",
    "approval.show",
    "ask_user.ask",
    "ask_user.close",
    "buffers.look",
    "buffers.refresh",
    "buffers.reload",
    "buffers.rename",
    "buffers.replace",
    "buffers.save",
    "buffers.undo",
    "buffers.unsaved",
    "changes.show",
    "chat.apply",
    "chat.discard",
    "chat.open_for_agent",
    "chat.prepend",
    "chat.refuse",
    "code.answer",
    "context.offer",
    "diagnostics.list",
    "grants.list",
    "history.choose",
    "host.places",
    "host.ready",
    "list.add",
    "models.offer",
    "notify.error",
    "notify.info",
    "notify.warn",
    "notify.warn_of_settings",
    "notify.warn_once",
    "page.show",
    "page.update",
    "prompt.set_commands",
    "review.close",
    "review.show",
    "rules.show",
    "sessions.deleted",
    "sessions.describe",
    "sessions.preview",
    "sessions.renamed",
    "sessions.show",
    "tool_options.decide",
    "tools.asks",
    "tools.cancel",
    "tools.hook",
    "tools.run",
    "trust.agreed",
    "trust.watch_tools",
]
"""The functions of ``host/rpc.lua``; a test compares the two tables."""

# Values travel as arguments, never inside Lua source.
_RPC = "local how = ...; return require('agentchat.host.rpc')[how](select(2, ...))"


class LuaApi:
    """Calls the functions that the Lua half offers.

    It uses the session below pynvim's API: ``Nvim.async_call`` formats the stack at each call, and
    ``Nvim.request`` looks for remote objects in all arguments.
    """

    def __init__(self, nvim: Nvim) -> None:
        self._session = nvim._session

    def call(self, name: LuaFunction, *args: Any) -> None:
        """Call a function soon, without waiting; Lua shows its errors to the user."""
        self._session.threadsafe_call(self._send, name, args)

    async def request(self, name: LuaFunction, *args: Any) -> Any:
        """Call a function and return its answer.

        Raises pynvim's NvimError if the Lua function does.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._session.threadsafe_call(self._ask, answer, name, args)
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
        try:
            self._session.request("nvim_exec_lua", _RPC, ("call", name, *args), async_=True)
        except Exception:
            log.exception("%s was not called", name)

    def _ask(self, answer: asyncio.Future[Any], name: LuaFunction, args: tuple[Any, ...]) -> None:
        # ``threadsafe_call`` runs this in a greenlet, where a request can wait for its answer.
        try:
            value = self._session.request("nvim_exec_lua", _RPC, ("request", name, *args))
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        else:
            if not answer.done():
                answer.set_result(value)
