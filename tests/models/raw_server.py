"""A server that sends bytes as they stand, headers and all, and notices who hangs up."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ServerScript = Callable[[asyncio.StreamWriter], Awaitable[None]]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
BARE_HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


class RawServer:
    """Answers each connection with the next script; the last one serves all that follow."""

    def __init__(self, *scripts: ServerScript) -> None:
        self.scripts = list(scripts)
        self.connections = 0
        self.asked = asyncio.Event()
        self.gone = asyncio.Event()
        self.port = 0
        self._answering: list[asyncio.Future[None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def idle(self) -> None:
        """Wait until every connection is closed."""
        await asyncio.gather(*self._answering, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._answering.append(asyncio.ensure_future(self._answer(reader, writer)))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await _read_request(reader)
            self.asked.set()
            script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
            await self._until_gone(asyncio.ensure_future(script(writer)), reader)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _until_gone(self, script: asyncio.Future[None], reader: asyncio.StreamReader) -> None:
        """Let the script run until it ends or the client hangs up."""
        leaving = asyncio.ensure_future(reader.read(1))
        tasks: list[asyncio.Future[Any]] = [script, leaving]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            self.gone.set()
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await task


async def _read_request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.split(b":")[1]))


CERTIFICATE = Path(__file__).with_name("self_signed.pem")
"""A key and its certificate for ``localhost``, which nobody trusts."""


@asynccontextmanager
async def serving(*scripts: ServerScript, secure: bool = False) -> AsyncIterator[RawServer]:
    """Serve the scripts on loopback, ``secure`` with a certificate of its own."""
    raw = RawServer(*scripts)
    context = None
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0, ssl=context)
    raw.port = server.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        server.close()
        await server.wait_closed()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(raw.idle(), 2)


def sends(*parts: bytes) -> ServerScript:
    """Send these bytes and close."""

    async def script(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return script


def resets(*parts: bytes) -> ServerScript:
    """Send these bytes, then reset the connection."""

    async def script(writer: asyncio.StreamWriter) -> None:
        await sends(*parts)(writer)
        await asyncio.sleep(0.05)  # what was sent must not be lost with the reset
        kept: socket.socket = writer.get_extra_info("socket")
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return script


def repeats(part: bytes, every: float, head: bytes = HEAD) -> ServerScript:
    """Send ``part`` for ever."""

    async def script(writer: asyncio.StreamWriter) -> None:
        await sends(head)(writer)
        while True:
            await sends(part)(writer)
            await asyncio.sleep(every)

    return script


def waits(*parts: bytes) -> ServerScript:
    """Send these bytes, then nothing more."""

    async def script(writer: asyncio.StreamWriter) -> None:
        await sends(*parts)(writer)
        await asyncio.Event().wait()

    return script
