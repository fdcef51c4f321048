"""How a server at a URL is reached, and what any server may send: how fast, and how much.

The SDK reads bodies without a limit, and messages as fast as they arrive. Here a body is cut off,
and a server that floods its connection is read slowly, so that it waits instead of the user.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import Context
from types import TracebackType
from typing import Any

import anyio
import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from agentchat.tools.mcp.oauth import Login
from agentchat.tools.mcp.stdio import LARGEST_MESSAGE, TOO_LARGE

TIMEOUT = httpx2.Timeout(30.0, read=None)
"""A stream may be silent for hours; a request has the limit of its call."""
BURST_SECONDS = 0.05
BURST = 100
"""Messages that are taken in that time; the next one waits until it is over."""
PROGRESS_SECONDS = 0.05
PLAIN = "identity"
"""The encoding of a body that is not compressed."""

Check = Callable[[SessionMessage], None]


class PacedStream:
    """Receives what another stream does, at a bounded rate, and shows it to ``check``."""

    def __init__(self, stream: Any, check: Check = lambda message: None) -> None:
        self._stream = stream
        self._check = check
        self._count = 0
        self._began = 0.0

    @property
    def last_context(self) -> Context | None:
        """The context of the request to which the last message belongs, where it is known."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message; raises anyio.EndOfStream."""
        if self._count == BURST:
            left = self._began + BURST_SECONDS - time.monotonic()
            await anyio.sleep(max(0.0, left))
            self._count = 0
        if self._count == 0:
            self._began = time.monotonic()
        self._count += 1
        message: SessionMessage | Exception = await self._stream.receive()
        if isinstance(message, SessionMessage):
            self._check(message)
        return message

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def __aiter__(self) -> PacedStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> PacedStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


@contextlib.asynccontextmanager
async def paced(transport: Transport, check: Check) -> AsyncIterator[tuple[PacedStream, Any]]:
    """Connect by another transport, whose messages are taken at a bounded rate."""
    async with transport as (from_server, to_server):
        yield PacedStream(from_server, check), to_server


class LatestProgress:
    """Sends the newest progress of a call, no more often than anybody can read it."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._latest: Any = None
        self._timer: asyncio.TimerHandle | None = None

    def report(self, progress: Any) -> None:
        """Send it soon, unless there is a newer one by then."""
        self._latest = progress
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(PROGRESS_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what was not sent yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._send(self._latest)


class BodyRefused(httpx2.StreamError):
    """A body is over the limit or compressed; the SDK makes it the error of the request."""


class BoundedBody(httpx2.AsyncByteStream):
    """The body of an answer that is no stream of events, which has a limit for each event."""

    def __init__(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._body = response.stream
        self._encoding = response.headers.get("content-encoding", PLAIN)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding != PLAIN:  # there is no telling how large it is
            raise BodyRefused("it sent a compressed answer, though it was asked not to do so")
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > LARGEST_MESSAGE:
                raise BodyRefused(TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        """Close the body."""
        await self._body.aclose()


async def bound_body(response: httpx2.Response) -> None:
    """Bound what is read of an answer."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        response.stream = BoundedBody(response)


def make_client(
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """Return an HTTP client with bounded bodies; a factory for the SDK, whose times it ignores."""
    return httpx2.AsyncClient(
        headers={"Accept-Encoding": PLAIN, **(headers or {})},
        timeout=TIMEOUT,
        auth=auth,
        event_hooks={"response": [bound_body]},
    )


@contextlib.asynccontextmanager
async def streamable_http(config: Mapping[str, Any], login: Login) -> AsyncIterator[Any]:
    """Connect by Streamable HTTP; a transport of the SDK.

    The headers and tokens go to this server alone: a redirect to another host is an error.
    """
    headers = dict(config["headers"])
    async with (
        make_client(headers, auth=login.auth(headers)) as client,
        streamable_http_client(
            config["url"], http_client=client, max_sse_event_size=LARGEST_MESSAGE
        ) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def event_stream(config: Mapping[str, Any], login: Login) -> AsyncIterator[Any]:
    """Connect by server-sent events, as servers of before 2025 do it; a transport of the SDK."""
    headers = dict(config["headers"])
    async with sse_client(
        config["url"],
        headers,
        httpx_client_factory=make_client,
        auth=login.auth(headers),
    ) as streams:
        yield streams


TRANSPORTS = {"http": (streamable_http, event_stream), "sse": (event_stream,)}
"""What is tried for a server, in this order."""
