"""The connection to a server at a URL: Streamable HTTP, or the older server-sent events."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from agentchat.tools.mcp.oauth import Login

READ_SECONDS = 600.0
"""How long an old event stream may be silent."""


@contextlib.asynccontextmanager
async def streamable_http(config: Mapping[str, Any], login: Login) -> AsyncIterator[Any]:
    """Connect by Streamable HTTP; a transport of the SDK.

    The headers and tokens go to this server alone: a redirect to another host is an error.
    """
    headers = dict(config["headers"])
    async with (
        create_mcp_http_client(headers=headers, auth=login.auth(headers)) as client,
        streamable_http_client(config["url"], http_client=client) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def event_stream(config: Mapping[str, Any], login: Login) -> AsyncIterator[Any]:
    """Connect by server-sent events, as servers of before 2025 do it; a transport of the SDK."""
    headers = dict(config["headers"])
    async with sse_client(
        config["url"], headers, sse_read_timeout=READ_SECONDS, auth=login.auth(headers)
    ) as streams:
        yield streams


TRANSPORTS = {"http": (streamable_http, event_stream), "sse": (event_stream,)}
"""What is tried for a server, in this order."""
