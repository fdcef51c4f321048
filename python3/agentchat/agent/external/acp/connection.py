"""The host's side of the worker for one agent (see ``worker``)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.rpc.frames import Disconnected, RemoteError
from agentchat.rpc.peer import Handler, IncomingRequest, OnProgress, Peer, RequestTasks
from agentchat.tools.custom.process.worker import WorkerProcess, start_process

MODULE = "agentchat.agent.external.acp.worker"

Params = Mapping[str, Any]
Serve = Callable[[Params], Awaitable[Any]]
"""Answers a request of the agent with its result."""


class _OwnEnd:
    """The groups of workers that end by themselves when the host has ended.

    A worker takes its agent's tree with it, which a kill from outside would prevent.
    """

    def add(self, group: int) -> None:
        """Do nothing."""

    def remove(self, group: int) -> None:
        """Do nothing."""


class AgentWorker:
    """One worker with its agent; started by ``open``.

    Args:
        serve: the requests that the worker passes on, by name.
    """

    def __init__(self, serve: Mapping[str, Serve]) -> None:
        self._serve = serve
        self._peer: Peer | None = None
        self._is_closed = False

    @property
    def alive(self) -> bool:
        """Whether the worker runs."""
        return self._peer is not None and self._peer.alive

    async def request(
        self, method: str, params: Params, on_progress: OnProgress | None = None
    ) -> Any:
        """Return the answer to a request; raises ToolError with a line for the user."""
        try:
            peer = self._running()
            return await peer.request(method, params, on_progress)
        except (Disconnected, RemoteError, OSError) as error:
            raise ToolError(f"The worker of the agent failed: {error}") from error

    def close(self) -> None:
        """Let the worker end the agent and itself; none is started any more."""
        self._is_closed = True
        if self._peer is not None:
            self._peer.close()

    def _running(self) -> Peer:
        if self._is_closed:
            raise ToolError("The chat is closed.")
        if self._peer is None or not self._peer.alive:
            self._peer = self._start()
        return self._peer

    def _start(self) -> Peer:
        connection, process = start_process(MODULE, _OwnEnd())
        handlers: dict[str, Handler] = {
            name: _handler(serve) for name, serve in self._serve.items()
        }
        peer = Peer(connection.makefile("rb"), os.dup(connection.fileno()), RequestTasks(handlers))
        peer.end_reason.add_done_callback(lambda _: _shut_down(connection))
        threading.Thread(
            target=_watch, args=(peer, connection, process), name="acp", daemon=True
        ).start()
        peer.start()
        return peer


def _handler(serve: Serve) -> Handler:
    async def handle(incoming: IncomingRequest) -> Any:
        return await serve(incoming.params)

    return handle


def _watch(peer: Peer, connection: socket.socket, process: WorkerProcess) -> None:
    """Wait for the end of the worker, in a thread of its own."""
    process.wait()
    _shut_down(connection)
    connection.close()
    peer.close()


def _shut_down(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


async def end_in_time(work: asyncio.Future[Any], seconds: float) -> bool:
    """Return whether some work has ended within a time; it goes on if not."""
    done, _ = await asyncio.wait({work}, timeout=seconds)
    return bool(done)
