"""The worker for MCP servers: one process that serves the requests of the plugin.

    connect {key, config}                    what the server is and offers
    disconnect {key}
    call {key, call, tool, arguments}        a result; progress while it runs
    read_resource {key, uri}, get_prompt {key, prompt, arguments}
    log {key}                                the last lines of standard error

It sends, as requests, ``started`` and ``exited`` (the process group of a server), ``changed`` (its
lists), ``ended`` (how it ended), ``login`` (an address) and ``elicit`` (a question to the user).
When the connection to the plugin ends, the worker kills its servers and ends.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from agentchat.rpc.peer import Handler, IncomingRequest, Peer, RequestTasks
from agentchat.tools.mcp.connection import Connection

CLOSE_SECONDS = 5.0


class ConnectionTable:
    """The connections of this process, by key."""

    def __init__(self) -> None:
        self.peer: Peer | None = None
        self._connections: dict[str, Connection] = {}
        self.handlers: dict[str, Handler] = {
            "connect": self._connect,
            "disconnect": self._disconnect,
            "call": partial(self._forward, Connection.call),
            "read_resource": partial(self._forward, Connection.read_resource),
            "get_prompt": partial(self._forward, Connection.get_prompt),
            "log": self._log,
        }

    async def close(self) -> None:
        """Close all connections."""
        closing = (connection.close() for connection in self._connections.values())
        await asyncio.gather(*closing, return_exceptions=True)

    async def _forward(
        self,
        method: Callable[[Connection, IncomingRequest], Awaitable[Any]],
        incoming: IncomingRequest,
    ) -> Any:
        """Return ``[answer]`` of a server, ``[]`` if it is not connected: nothing was sent then."""
        connection = self._connections.get(incoming.params["key"])
        if connection is None or not connection.alive:
            return []
        return [await method(connection, incoming)]

    async def _connect(self, incoming: IncomingRequest) -> dict[str, Any]:
        key = incoming.params["key"]
        old = self._connections.pop(key, None)
        if old is not None:
            await old.close()
        is_older = old is not None and old.is_older
        connection = Connection(key, incoming.params["config"], self._report, is_older=is_older)
        self._connections[key] = connection
        return await connection.open()

    async def _disconnect(self, incoming: IncomingRequest) -> None:
        connection = self._connections.get(incoming.params["key"])
        if connection is not None:
            await connection.close()

    async def _log(self, incoming: IncomingRequest) -> list[str]:
        connection = self._connections.get(incoming.params["key"])
        return connection.log.lines if connection is not None else []

    async def _report(self, method: str, params: Mapping[str, Any]) -> Any:
        assert self.peer is not None
        return await self.peer.request(method, params)


def main(descriptor: int) -> None:
    """Serve the plugin at the other end of a socket until it ends."""
    asyncio.run(_serve(descriptor))
    os._exit(0)  # threads that wait for a process must not delay the end


async def _serve(descriptor: int) -> None:
    connection = socket.socket(fileno=descriptor)
    table = ConnectionTable()
    tasks = RequestTasks(table.handlers)
    peer = table.peer = Peer(connection.makefile("rb"), os.dup(descriptor), tasks)
    peer.start()
    await asyncio.wrap_future(peer.end_reason)
    await asyncio.wait({asyncio.ensure_future(table.close())}, timeout=CLOSE_SECONDS)
