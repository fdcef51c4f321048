"""The plugin's side of the worker for MCP servers (see ``process``)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentchat.rpc.frames import Disconnected
from agentchat.rpc.peer import IncomingRequest, OnProgress, Peer, RequestTasks
from agentchat.tools.custom.process.worker import Groups, WorkerEnded, WorkerProcess, start_process

MODULE = "agentchat.tools.mcp.process"
REPORTS = ("started", "exited", "changed", "ended", "elicit", "login")
"""What the worker sends (see ``process``)."""

Params = Mapping[str, Any]
Report = Callable[[str, Params], Awaitable[Any]]


class McpWorker:
    """The process that holds the connections to all servers; started by the first request.

    Args:
        groups: process groups that must not outlive the plugin.
        report: takes what the worker reports: ``changed``, ``ended``, ``elicit``, ….
        on_end: called when the process has ended, with how.
    """

    def __init__(self, groups: Groups, report: Report, on_end: Callable[[str], None]) -> None:
        self._groups = groups
        self._report = report
        self._on_end = on_end
        self._peer: Peer | None = None
        self._servers: set[int] = set()

    async def request(
        self, method: str, params: Params, on_progress: OnProgress | None = None
    ) -> Any:
        """Return the answer to a request; cancelling it cancels the request.

        Raises:
            WorkerEnded: the process ended, or cannot be started.
        """
        try:
            peer = self._running()
        except OSError as error:
            raise WorkerEnded(f"the worker for MCP cannot be started: {error}") from error
        try:
            return await peer.request(method, params, on_progress)
        except Disconnected as error:
            raise WorkerEnded("the worker for MCP ended; the next call starts it again") from error

    def close(self) -> None:
        """End the process and all servers."""
        if self._peer is not None:
            self._peer.close()

    def _running(self) -> Peer:
        if self._peer is None or not self._peer.alive:
            self._peer = self._start()
        return self._peer

    def _start(self) -> Peer:
        connection, process = start_process(MODULE, self._groups)
        handlers = dict.fromkeys(REPORTS, self._take)
        peer = Peer(connection.makefile("rb"), os.dup(connection.fileno()), RequestTasks(handlers))
        # The process ends its servers when it can no longer read from the plugin.
        peer.end_reason.add_done_callback(lambda _: _shut_down(connection))
        loop = asyncio.get_running_loop()
        watcher = threading.Thread(
            target=self._watch, args=(peer, connection, process, loop), name="mcp", daemon=True
        )
        peer.start()
        watcher.start()
        return peer

    def _watch(
        self,
        peer: Peer,
        connection: socket.socket,
        process: WorkerProcess,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Wait for the end of the process, in a thread of its own; then end its servers."""
        how = process.wait()
        _shut_down(connection)
        connection.close()
        peer.close()
        for group in tuple(self._servers):
            self._forget(group)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._on_end, how)

    def _forget(self, group: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        self._servers.discard(group)
        self._groups.remove(group)

    async def _take(self, incoming: IncomingRequest) -> Any:
        params = incoming.params
        if incoming.method == "started":
            self._servers.add(params["group"])
            self._groups.add(params["group"])
        elif incoming.method == "exited":
            self._servers.discard(params["group"])
            self._groups.remove(params["group"])
        else:
            return await self._report(incoming.method, params)
        return None


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
