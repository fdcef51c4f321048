"""Tools made of functions, as a file of the user's makes them."""

from __future__ import annotations

import functools
import itertools
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import Tool
from agentchat.tools.custom.declaration.definition import Definition, definition_of, tool
from agentchat.tools.custom.process.pool import WorkerPool
from agentchat.tools.custom.process.server import ToolServer
from agentchat.tools.custom.process.worker import Worker, start_worker
from agentchat.tools.custom.registry import FileRegistry, LoadedFile
from agentchat.tools.custom.remote_tool import RemoteTool
from agentchat.tools.trust import read_source
from agentchat.workspace.process.run import WATCHDOG

NUMBERS = itertools.count()
OPEN: list[WorkerPool] = []
"""Pools of a test, closed at its end."""


def declared(function: Callable[..., Any]) -> Definition:
    """Return what ``@tool`` left on a function."""
    found = definition_of(function)
    assert found is not None
    return found


class ServerThread:
    """Serves the functions of a test in a thread of its own process, over a real socket."""

    definitions: ClassVar[dict[str, dict[str, Definition]]] = {}
    """The functions of all tests, by file."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._hold = theirs.dup()
        self.server = ToolServer(theirs)
        self.server.definitions = self.definitions
        self._thread = threading.Thread(target=self.server.serve, daemon=True)
        self._thread.start()

    def worker(self) -> Worker:
        worker = Worker(self._ours, self)
        worker.loaded = self.definitions.keys()  # type: ignore[assignment]
        return worker

    def kill(self) -> None:
        with suppress(OSError):
            self._hold.shutdown(socket.SHUT_RDWR)

    def wait(self) -> str:
        self._thread.join()
        self._hold.close()
        return "ended"


@functools.cache
def thread_pool() -> WorkerPool:
    """Return a pool whose workers are threads, for the functions of one test."""
    pool = WorkerPool(lambda: ServerThread().worker())
    OPEN.append(pool)
    return pool


async def start_pool() -> None:
    """Start a worker, as loading a file does."""
    ServerThread.definitions["none"] = {}
    with suppress(ToolError):
        await thread_pool().call("none", "check", {"name": ""})


def made(folder: Path, function: Callable[..., Any], **options: Any) -> Tool:
    """Return the tool that ``@tool(...)`` makes of a function, for a chat in ``folder``.

    It runs in a thread, so that it can change what the test looks at.
    """
    options.setdefault("require_approval_before", False)
    options.setdefault("description", "A tool of the tests.")
    definition = declared(tool(**options)(function))
    file = f"test {next(NUMBERS)}"
    ServerThread.definitions[file] = {definition.spec.name: definition}
    return RemoteTool(thread_pool(), file, definition.spec, str(folder)).tool("digest")


def a_registry(seconds: float = 10.0, most: int = 8, idle_seconds: float = 60.0) -> FileRegistry:
    """Return an empty registry of files with processes of its own."""
    pool = WorkerPool(lambda: start_worker(WATCHDOG), seconds, most, idle_seconds)
    OPEN.append(pool)
    return FileRegistry(pool)


async def tools_of(
    folder: Path, code: str, cwd: Path | None = None, most: int = 8, idle_seconds: float = 60.0
) -> dict[str, Tool]:
    """Return the tools of a file with this code, by name; they run in processes of their own.

    ``cwd`` is the workspace; without it, that is the folder of the file. There are at
    ``most`` so many processes.
    """
    loaded = await loaded_file(folder, code, most, idle_seconds)
    return {tool.name: tool for tool in loaded.tools(str(cwd or folder))}


async def loaded_file(
    folder: Path, code: str, most: int = 8, idle_seconds: float = 60.0
) -> LoadedFile:
    """Return a file with this code, loaded."""
    path = folder / "own_tools.py"
    path.write_text(f"import os, sys, time\nfrom agentchat import *\n{code}")
    loaded, problems = await a_registry(most=most, idle_seconds=idle_seconds).load(
        [read_source(path)]
    )
    assert problems == []
    return loaded[0]
