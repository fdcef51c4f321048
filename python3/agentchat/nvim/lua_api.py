"""The one way to Neovim: calls Lua from anywhere on the event loop, never from Lua's path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pynvim import Nvim

CALL = "local module, name = ...; return require(module)[name](select(3, ...))"
"""Values travel as arguments, never inside Lua source."""

RUN = "require('agentchat.host.rpc').run(...)"
"""For calls nobody waits for: what goes wrong in Lua must not reach the user as a traceback."""


class Bridge:
    """Runs Lua functions of the plugin in Neovim."""

    def __init__(self, nvim: Nvim) -> None:
        self._nvim = nvim

    def call(self, module: str, name: str, *args: Any) -> None:
        """Run ``require(module)[name](...)`` soon; return at once, forget the answer."""
        self._nvim.async_call(self._send, module, name, args)

    async def request(self, module: str, name: str, *args: Any) -> Any:
        """Run ``require(module)[name](...)`` and return its answer.

        Raises pynvim's NvimError if the Lua function does.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._nvim.async_call(self._ask, answer, module, name, args)
        return await answer

    def _send(self, module: str, name: str, args: tuple[Any, ...]) -> None:
        self._nvim.exec_lua(RUN, module, name, *args, async_=True)

    def _ask(
        self, answer: asyncio.Future[Any], module: str, name: str, args: tuple[Any, ...]
    ) -> None:
        # async_call runs this in a greenlet, where a request may wait for its answer.
        try:
            value = self._nvim.exec_lua(CALL, module, name, *args)
        except Exception as error:
            settle(answer, answer.set_exception, error)
        else:
            settle(answer, answer.set_result, value)


def settle(answer: asyncio.Future[Any], how: Callable[[Any], None], value: Any) -> None:
    """Give a future its answer unless whoever waited has gone."""
    if not answer.done():
        how(value)
