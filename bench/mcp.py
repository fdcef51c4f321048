"""MCP servers: what calls, failures and sixty tools cost, and Neovim's answers during a flood.

Calls and changes are compared with the official SDK's client at the same server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import Any

from mcp import Client, StdioServerParameters
from tests.support.chat import Chat
from tests.support.mcp_client import McpClient

from agentchat.core.errors import ToolError
from agentchat.tools.builtin.catalogue import BUILTINS
from agentchat.tools.mcp.registry import ServerRegistry
from agentchat.tools.mcp.servers import McpServer
from agentchat.tools.mcp.tool import ServerTools
from agentchat.workspace.process.run import WATCHDOG
from bench.editors import bench_editor
from bench.figures import Row, compare, spread
from bench.pinging import line, module, pinged
from bench.tools import chat_with, request_text

CALLS = 200
RUNS = 9
TOOLS = 60
FLOODS = (("log", 1_000), ("progress", 20), ("list", 20))
"""Kinds of notifications, and megabytes of them; of what the worker reads, fewer get through."""
FLOOD_SECONDS = 4.0
IDLE = 3.0

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
SAMPLE = [sys.executable, str(SUPPORT / "mcp_server.py")]
RAW = [sys.executable, str(SUPPORT / "raw_mcp_server.py")]
SDK = [sys.executable, "-c", "import mcp.client.client"]

COMPARED = {
    "call": "a call / the SDK alone",
    "grow": "a new tool is known / SDK alone",
    "kill": "kill -9 in a call: error / wait()",
    "start": "start of the worker / import SDK",
}

Series = list[float]


def measure() -> list[Row]:
    """Measure the client, our server, a request and a flood."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        direct, ours = asyncio.run(_sdk()), asyncio.run(_ours(place))
        rows = [compare("MCP", what, direct[key], ours[key]) for key, what in COMPARED.items()]
        rows.append(compare("MCP", "our server: read / SDK: add", direct["call"], _reads(place)))
        rows.append(_request_row(place))
    return [*rows, *_flood_rows()]


# --- the client ----------------------------------------------------------------------------------


async def _sdk() -> dict[str, Series]:
    """Return the seconds of what the SDK and the operating system need alone."""
    changed = asyncio.Event()

    async def note(message: Any) -> None:
        if getattr(message, "method", "").endswith("list_changed"):
            changed.set()

    parameters = StdioServerParameters(command=SAMPLE[0], args=SAMPLE[1:])
    async with Client(parameters, mode="legacy", message_handler=note) as client:

        async def grow(number: int) -> None:
            changed.clear()
            await client.call_tool("grow", {"name": f"n{number}", "description": "new"})
            await changed.wait()
            await client.list_tools()

        return {
            "call": await _times(CALLS, lambda _: client.call_tool("add", {"a": 1, "b": 2})),
            "grow": await _times(RUNS, grow),
            "kill": [await _kill_child() for _ in range(RUNS)],
            "start": await _times(RUNS, lambda _: asyncio.to_thread(subprocess.run, SDK)),
        }


async def _ours(place: Path) -> dict[str, Series]:
    """Return the seconds of the same through our worker."""
    changed = asyncio.Event()
    registry = _registry(place, changed.set)
    server = _server(registry, place, SAMPLE)

    async def grow(number: int) -> None:
        await _call(server, "grow", name=f"n{number}", description="new")
        while not any(tool.tool == f"n{number}" for tool in server.tools):
            changed.clear()
            await changed.wait()

    async def start(_: int) -> None:
        registry.close()
        await server.worker.request("log", {"key": ""})

    try:
        return {
            "start": await _times(RUNS, start),
            "call": await _times(CALLS, lambda _: _call(server, "add", a=1, b=2)),
            "grow": await _times(RUNS, grow),
            "kill": [await _kill_server(server) for _ in range(RUNS)],
        }
    finally:
        registry.close()


def _registry(place: Path, on_change: Callable[[], None]) -> ServerRegistry:
    return ServerRegistry(
        WATCHDOG,
        config=place / "config",
        trust=place / "trust",
        tokens=place / "tokens",
        on_change=lambda root: on_change(),
        on_login=lambda name, url: None,
    )


def _server(registry: ServerRegistry, place: Path, command: list[str]) -> McpServer:
    """Return a server that starts with its first call."""
    settings = {"s": {"command": command[0], "args": command[1:], "disabled": True}}
    return registry.update(place, settings).servers["s"]


async def _call(server: McpServer, tool: str, **arguments: Any) -> Any:
    return await server.call(tool, arguments, lambda progress: None)


async def _kill_server(server: McpServer) -> float:
    """Kill the server in the middle of a call; return the seconds until the call's error."""
    pid = int((await _call(server, "pid"))["parts"][0]["text"])
    begun = asyncio.Event()
    running = asyncio.ensure_future(server.call("slow", {"seconds": 60}, lambda _: begun.set()))
    await begun.wait()
    before = time.perf_counter()
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ToolError):
        await running
    return time.perf_counter() - before


async def _kill_child() -> float:
    child = await asyncio.create_subprocess_exec("sleep", "60")
    before = time.perf_counter()
    child.kill()
    await child.wait()
    return time.perf_counter() - before


async def _times(runs: int, work: Callable[[int], Awaitable[object]]) -> Series:
    """Return the seconds of each run but the first."""
    seconds = []
    for number in range(runs + 1):
        before = time.perf_counter()
        await work(number)
        seconds.append(time.perf_counter() - before)
    return seconds[1:]


# --- our server, a request, and a flood ----------------------------------------------------------


def _reads(place: Path) -> Series:
    """Return the seconds of reads through ``agentchat mcp`` without a Neovim."""
    (place / "file.txt").write_text("a line\n" * 50)
    client = McpClient(place / "home", place, mode="legacy")
    seconds = []
    for _ in range(CALLS):
        before = time.perf_counter()
        client.call("read", path="file.txt")
        seconds.append(time.perf_counter() - before)
    client.close()
    return seconds[1:]


def _request_row(place: Path) -> Row:
    """Compare the bytes of a request with those of one without the server's tools."""
    schema = {"type": "object", "properties": {"path": {"type": "string", "title": "Path"}}}
    definition = {"description": "Does something. " * 20, "inputSchema": schema}
    server = _server(_registry(place, lambda: None), place, SAMPLE)
    server.take_lists({"tools": [{"name": f"t{n}", **definition} for n in range(TOOLS)]})
    chats = chat_with(BUILTINS), chat_with([*BUILTINS, *ServerTools(server).tools(str(place))])
    base, value = (len(request_text(chat)) for chat in chats)
    return Row("MCP", f"a request: {TOOLS} tools / none", base, value, "B")


def _flood_rows() -> list[Row]:
    """Ping Neovim while a server sends notifications as fast as it can."""
    servers = {"raw": {"command": RAW[0], "args": RAW[1:]}}
    rules = [{"action": "allow", "server": "raw"}]
    with (
        bench_editor(mcp={"servers": servers}, rules=rules) as editor,
        module("bench.call_server") as model,
    ):
        editor.lua("vim.env.OPENAI_BASE_URL, vim.env.OPENAI_API_KEY = ..., 'bench'", line(model))
        chat = Chat.open(editor)
        _flood(chat, model, "log", 1)
        idle = pinged(editor, lambda: editor.settle(IDLE))
        return [
            row
            for kind, megabytes in FLOODS
            for row in spread(
                "MCP: Neovim's answer",
                idle,
                pinged(editor, partial(_flood, chat, model, kind, megabytes)),
                f"during a flood of {kind} / idle ",
            )
        ]


def _flood(chat: Chat, model: Popen[str], kind: str, megabytes: int) -> None:
    """Play a turn whose call floods the connection."""
    arguments = {"kind": kind, "megabytes": megabytes, "seconds": FLOOD_SECONDS}
    assert model.stdin
    model.stdin.write(json.dumps([("raw__flood", arguments)]) + "\n")
    model.stdin.flush()
    chat.send("go")
    chat.finished()
