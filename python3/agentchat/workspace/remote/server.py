"""The server on the other side: serves a local workspace over standard input and output.

It is sent there with the modules it imports (see ``bootstrap``), so files and processes there are
handled by ``LocalWorkspace``. When its input ends or is silent for ``SILENCE_SECONDS``, it kills
its programs and exits.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.shell.operands import CommandWords, Operand
from agentchat.core.workspace import Command, Workspace
from agentchat.rpc.peer import IncomingRequest, Peer, RequestTasks
from agentchat.workspace.local import LocalWorkspace

GREETING = b"agentchat workspace server 1\n"
"""The first output: anything before it was written by the login shell."""

SILENCE_SECONDS = 30.0
"""Without a message for so long, the other end counts as dead."""

OpenWorkspace = Callable[[str, Sequence[str]], Workspace]
"""Opens a directory with its protected folders; raises OSError."""

STOP_SECONDS = 3.0
MAX_UNSENT_BYTES = 256 * 1024
"""Output that may wait to be sent; with more, the program that writes it waits, too."""


def main(stream: BinaryIO, open_workspace: OpenWorkspace | None = None) -> None:
    """Serve a workspace, by default that of this machine, until the input ends."""
    sink = os.dup(1)
    os.set_inheritable(sink, False)
    # No program that runs here may write to the connection.
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        asyncio.run(_serve(stream, sink, open_workspace or _open_local))
    finally:
        _exit(0)  # a thread that waits for input would delay an ordinary exit


async def _serve(stream: BinaryIO, sink: int, open_workspace: OpenWorkspace) -> None:
    """Serve until the connection ends, then stop all requests."""
    os.write(sink, GREETING)
    tasks = RequestTasks(WorkspaceServer(open_workspace).handlers)
    peer = Peer(stream, sink, tasks)
    peer.start()
    threading.Thread(target=_watch, args=(peer,), daemon=True).start()
    await asyncio.wrap_future(peer.end_reason)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await tasks.cancel()


def _watch(peer: Peer) -> None:
    """Exit when the other end is silent, even while the loop waits to write."""
    while time.monotonic() - peer.last_message_time < SILENCE_SECONDS:
        time.sleep(SILENCE_SECONDS / 10)
    _exit(1)


def _exit(code: int) -> None:
    """Kill the programs, remove temporary files and exit, without waiting for threads."""
    atexit._run_exitfuncs()
    os._exit(code)


class WorkspaceServer:
    """Answers requests with a workspace, after ``open``."""

    def __init__(self, open_workspace: OpenWorkspace) -> None:
        self._open_workspace = open_workspace
        self._opened: Workspace | None = None
        self.handlers = {
            "open": self._open,
            "ping": self._ping,
            "locate": self._locate,
            "kind": self._kind,
            "size": self._size,
            "read": self._read,
            "list": self._list,
            "apply": self._apply,
            "environment": self._environment,
            "survey": self._survey,
            "repository_programs": self._repository_programs,
            "probe": self._probe,
            "run": self._run,
        }

    @property
    def _workspace(self) -> Workspace:
        if self._opened is None:
            raise ToolError("No workspace is open.")
        return self._opened

    async def _open(self, request: IncomingRequest) -> str:
        """Open the directory; return its resolved path."""
        path, protected = request.params["path"], request.params["protected"]
        opened = await asyncio.to_thread(self._open_workspace, path, protected)
        await opened.ready()
        self._opened = opened
        return opened.root

    async def _ping(self, request: IncomingRequest) -> None:
        """Answer, which shows that this end is alive."""

    async def _locate(self, request: IncomingRequest) -> Any:
        return asdict(await self._workspace.locate(request.params["path"]))

    async def _kind(self, request: IncomingRequest) -> Any:
        return await self._workspace.kind(request.params["path"])

    async def _size(self, request: IncomingRequest) -> Any:
        return await self._workspace.size(request.params["path"])

    async def _read(self, request: IncomingRequest) -> Any:
        return await self._workspace.read(**request.params)

    async def _list(self, request: IncomingRequest) -> Any:
        entries = await self._workspace.list(request.params["path"])
        return [(entry.name, entry.kind) for entry in entries]

    async def _apply(self, request: IncomingRequest) -> None:
        files = tuple(FileChange(**file) for file in request.params["files"])
        await self._workspace.apply(ChangeSet(files))

    async def _environment(self, request: IncomingRequest) -> Any:
        return await self._workspace.environment()

    async def _repository_programs(self, request: IncomingRequest) -> Any:
        return await self._workspace.repository_programs(**request.params)

    async def _survey(self, request: IncomingRequest) -> Any:
        params = request.params
        commands = [
            CommandWords(**{**fields, "operands": tuple(Operand(**o) for o in fields["operands"])})
            for fields in params["commands"]
        ]
        return asdict(await self._workspace.survey(commands, params["command"], params["cwd"]))

    async def _probe(self, request: IncomingRequest) -> Any:
        confinement = self._workspace.confinement
        confinement.setting = request.params["setting"]
        return await asyncio.to_thread(confinement.describe)

    async def _run(self, request: IncomingRequest) -> Any:
        fields = request.params["command"]
        command = Command(**{**fields, "argv": tuple(fields["argv"])})
        self._workspace.confinement.setting = request.params["setting"]

        def send(data: bytes) -> None:
            request.progress(data)
            request.drain(MAX_UNSENT_BYTES)

        finished = await self._workspace.run(command, send)
        return {"code": finished.code, "stderr": finished.stderr, "ended": finished.ended}


def _open_local(path: str, protected: Sequence[str]) -> Workspace:
    """Return the workspace in a directory; an empty path is the current; raises OSError."""
    full = os.path.join(os.getcwd(), os.path.expanduser(path))
    os.scandir(full).close()
    return LocalWorkspace(full, protected)
