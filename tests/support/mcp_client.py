"""Agents in a terminal: the SDK's client over stdio, and one that talks to Neovim directly."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters, types

from agentchat.app.state import State
from agentchat.mcp_server.runners import ToolRunners

from .launch import CHECKOUT, environment

SECONDS = 40.0

T = TypeVar("T")


class Agent:
    """An agent with a thread of its own, in which ``_connect`` and ``_call`` run."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._over: asyncio.Event
        ready: Future[None] = Future()
        self._running = asyncio.run_coroutine_threadsafe(self._run(ready), self._loop)
        ready.result(SECONDS)

    def start(self, tool: str, arguments: Mapping[str, Any]) -> Future[str]:
        """Make a call, whose result is its text; cancelling the future cancels the call."""
        return self.do(self._call(tool, dict(arguments)))

    def call(self, tool: str, **arguments: Any) -> str:
        """Make a call and return the text of its result."""
        return self.start(tool, arguments).result(SECONDS)

    def do(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run something in the agent's thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Leave; a second time does nothing."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._over.set)
        self._running.result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    async def _run(self, ready: Future[None]) -> None:
        self._over = asyncio.Event()
        try:
            async with self._connection():
                ready.set_result(None)
                await self._over.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    def _connection(self) -> AbstractAsyncContextManager[Any]:
        raise NotImplementedError

    async def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        raise NotImplementedError


class McpClient(Agent):
    """Starts ``python -m agentchat mcp``, as the user whose folders are below ``home``."""

    def __init__(self, home: Path, cwd: Path, *more: str, mode: str = "auto") -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "agentchat", "mcp", *more],
            env=environment(home, {"PYTHONPATH": str(CHECKOUT / "python3")}),
            cwd=cwd,
        )
        info = types.Implementation(name="Terminal Agent", version="2.1")
        self._client = Client(server, client_info=info, mode=mode)
        super().__init__()

    def tools(self) -> dict[str, types.Tool]:
        """Return the tools by name."""
        return {
            tool.name: tool for tool in self.do(self._client.list_tools()).result(SECONDS).tools
        }

    def _connection(self) -> AbstractAsyncContextManager[Any]:
        return self._client

    async def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        result = await self._client.call_tool(tool, arguments)
        return "\n".join(part.text for part in result.content if part.type == "text")


class SocketAgent(Agent):
    """What the server does for an agent, without a process for it."""

    def __init__(self, home: Path, cwd: Path) -> None:
        folder = home / "state" / "nvim" / "agentchat"
        self._runners = ToolRunners(State(folder, config=home / "config" / "nvim"), str(cwd))
        super().__init__()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._runners.close()

    async def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        return (await self._runners.call("Terminal Agent 2.1", tool, arguments)).text
