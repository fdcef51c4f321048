"""Tools made of functions, as a file of the user's makes them."""

from __future__ import annotations

import asyncio
import functools
import itertools
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentchat.core.tools.tool import Tool
from agentchat.tools.custom.building import build
from agentchat.tools.custom.calling import Calling
from agentchat.tools.custom.decorator import definition_of, tool
from agentchat.tools.custom.definition import Definition
from agentchat.tools.custom.description import described, heard
from agentchat.tools.custom.files import read_source
from agentchat.tools.custom.library import Library
from agentchat.tools.custom.process import spawn
from agentchat.tools.custom.serving import Server
from agentchat.tools.custom.worker import Worker
from agentchat.tools.custom.workshop import Workshop
from agentchat.workspace.process.run import KEEPER

NUMBERS = itertools.count()
OPEN: list[Library] = []
"""Libraries of a test, closed at its end."""


def declared(function: Callable[..., Any]) -> Definition:
    """Return what ``@tool`` left on a function."""
    found = definition_of(function)
    assert found is not None
    return found


class Beside:
    """Serves the functions of a test in a thread of its own process, over a real socket."""

    def __init__(self) -> None:
        ours, self._theirs = socket.socketpair()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)
        self._thread.start()
        self._ready.wait(10)
        self.worker = Worker(ours, self)

    async def _main(self) -> None:
        self.server = Server(self._theirs)
        self._ready.set()
        await self.server.serve()

    def kill(self) -> None:
        with suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)

    def wait(self) -> str:
        self._thread.join()
        return "ended"


@functools.cache
def beside() -> Beside:
    """Return what serves all functions of the tests; it goes on until the tests end."""
    return Beside()


def made(folder: Path, function: Callable[..., Any], **options: Any) -> Tool:
    """Return the tool that ``@tool(...)`` makes of a function, for a chat in ``folder``."""
    options.setdefault("require_approval_before", False)
    options.setdefault("description", "A tool of the tests.")
    definition = declared(tool(**options)(function))
    file = f"test {next(NUMBERS)}"
    beside().server.files[file] = {definition.name: definition}
    calling = Calling(beside().worker, file, heard(described(definition)))
    return build(calling, "digest", str(folder))


def a_library(seconds: float = 10.0) -> Library:
    """Return an empty library with a process of its own."""
    library = Library(Workshop(lambda: spawn(KEEPER), seconds))
    OPEN.append(library)
    return library


@functools.cache
def shared_library() -> Library:
    """Return the library of tests whose files do nothing but to declare tools."""
    return Library(Workshop(lambda: spawn(KEEPER)))


async def tools_of(folder: Path, code: str, cwd: Path | None = None) -> dict[str, Tool]:
    """Return the tools of a file with this code, by name; they run in a process of their own.

    ``cwd`` is the workspace; without it, that is the folder of the file.
    """
    path = folder / "own_tools.py"
    path.write_text(f"import os, sys, time\nfrom agentchat import *\n{code}")
    library = a_library()
    source = read_source(path)
    await library.load([source])
    loaded, problems = library.contents([source])
    assert problems == []
    return {
        calling.tool.name: build(calling, source.digest, str(cwd or folder))
        for contents in loaded
        for calling in contents.tools
    }
