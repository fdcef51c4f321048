"""An agent in a terminal, as far as our MCP server can tell: the SDK's client over stdio."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, types

from .launch import CHECKOUT, environment

SECONDS = 40.0


class McpClient:
    """Starts ``python -m agentchat mcp`` and calls its tools, from a thread of its own."""

    def __init__(
        self, python: str, home: Path, cwd: Path, *more: str, mode: str = "auto", **environ: str
    ) -> None:
        """Start the server for the user whose folders are below ``home``."""
        env = environment(home, {"PYTHONPATH": str(CHECKOUT / "python3"), **environ})
        server = StdioServerParameters(
            command=python, args=["-m", "agentchat", "mcp", *more], env=env, cwd=cwd
        )
        info = types.Implementation(name="Terminal Agent", version="2.1")
        self._client = Client(server, client_info=info, mode=mode)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._over: asyncio.Event
        ready: Future[None] = Future()
        self._running = asyncio.run_coroutine_threadsafe(self._run(ready), self._loop)
        ready.result(SECONDS)

    async def _run(self, ready: Future[None]) -> None:
        self._over = asyncio.Event()
        try:
            async with self._client:
                ready.set_result(None)
                await self._over.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    def tools(self) -> dict[str, types.Tool]:
        """Return the tools by name."""
        listed = asyncio.run_coroutine_threadsafe(self._client.list_tools(), self._loop)
        return {tool.name: tool for tool in listed.result(SECONDS).tools}

    def start(self, tool: str, arguments: Mapping[str, Any]) -> Future[types.CallToolResult]:
        """Make a call; cancelling the future cancels the call."""
        call = self._client.call_tool(tool, dict(arguments))
        return asyncio.run_coroutine_threadsafe(call, self._loop)

    def call(self, tool: str, **arguments: Any) -> str:
        """Make a call and return the text of its result."""
        return text_of(self.start(tool, arguments).result(SECONDS))

    def close(self) -> None:
        """Leave the server, which ends it."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._running.result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()


def text_of(result: types.CallToolResult) -> str:
    """Return the text of a result."""
    return "\n".join(part.text for part in result.content if isinstance(part, types.TextContent))
