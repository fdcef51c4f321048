"""A server that answers each request by a function of it, in any protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request: ``path`` with its query, headers with lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Answered:
    """What the server sends."""

    body: bytes
    status: int = 200
    kind: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


Answering = Callable[[Asked], Answered]


@dataclass
class ProtocolServer:
    """Remembers what it was asked."""

    answering: Answering
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests for an answer."""
        return [asked.body for asked in self.asked if asked.method == "POST"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asked = await _read(reader)
            self.asked.append(asked)
            answered = self.answering(asked)
            more = "".join(f"{name}: {value}\r\n" for name, value in answered.headers.items())
            head = (
                f"HTTP/1.1 {answered.status} X\r\nContent-Type: {answered.kind}\r\n{more}"
                f"Content-Length: {len(answered.body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + answered.body)
            await writer.drain()
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, path, _ = first.split()
    return Asked(method, path, headers, json.loads(body or b"{}"))


@asynccontextmanager
async def serving(answering: Answering) -> AsyncIterator[ProtocolServer]:
    """Serve on loopback."""
    protocol_server = ProtocolServer(answering)
    server = await asyncio.start_server(protocol_server.serve, "127.0.0.1", 0, limit=1 << 26)
    protocol_server.port = server.sockets[0].getsockname()[1]
    try:
        yield protocol_server
    finally:
        server.close()
        await server.wait_closed()


def in_turn(*answers: Answered) -> Answering:
    """Give these answers, the last one for all further requests."""
    rest = list(answers)
    return lambda asked: rest.pop(0) if len(rest) > 1 else rest[0]


def events(*events: dict[str, Any]) -> Answered:
    """A stream of server-sent events, each under the name that its ``type`` gives."""
    return Answered("".join(_event(event) for event in events).encode())


def lines(*values: dict[str, Any]) -> Answered:
    """A stream of JSON texts, one in a line."""
    return Answered("".join(json.dumps(v) + "\n" for v in values).encode(), 200, "application/json")


def refusal(code: int, message: str, **more: Any) -> Answered:
    """An error with a JSON body."""
    body = {"error": {"message": message, **more}}
    return Answered(json.dumps(body).encode(), code, "application/json")


def split(text: str, size: int) -> Iterable[str]:
    """Yield a text in pieces."""
    return (text[at : at + size] for at in range(0, len(text), size))


def _event(event: dict[str, Any]) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"
