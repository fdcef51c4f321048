"""Load an address of the web, and contact no host that is not public.

A name is resolved once, every address it has is checked, and the connection goes to the checked
address: a name that resolves differently the next time changes nothing. That is also why no proxy
is used, which would resolve the name itself. A redirect to another host is not followed but
returned, so that the rules and the user decide about the new host like about any other call.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.limits import FETCH_BYTES, FETCH_CONNECT_SECONDS
from agentchat.core.permissions.policy import local_host_message
from agentchat.core.text import clip
from agentchat.core.urls import Url, is_address, is_public, parse_url

if TYPE_CHECKING:
    import httpx2

MOST_REDIRECTS = 5
MOST_ADDRESSES = 3
"""Addresses of one host that are tried."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
HEADERS = {
    "User-Agent": "agentchat.nvim",
    "Accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
}


@frozen
class Response:
    """What a server answered; ``cut`` if ``data`` is only the beginning of the body.

    ``redirect`` is the address on another host that it points to, if it does.
    """

    url: Url
    status: int
    reason: str = ""
    content_type: str = ""
    charset: str | None = None
    data: bytes = b""
    cut: bool = False
    redirect: str = ""


async def load(url: Url, private_hosts: frozenset[str], tool: str) -> Response:
    """Return the answer to a GET request, redirects on the same host followed.

    Args:
        private_hosts: the hosts that may have an address of this computer or its network.
        tool: the tool that asks, for messages.

    Raises:
        ToolError: there is no answer, or the host is not public.
    """
    for _ in range(MOST_REDIRECTS + 1):
        addresses = await _resolve(url, private_hosts, tool)
        response = await _get(url, addresses)
        if not response.redirect:
            return response
        following = parse_url(response.redirect)
        if not _same_site(url, following):
            return response
        url = following
    raise ToolError(
        f"{url.host} redirects more than {MOST_REDIRECTS} times. Fetch another address."
    )


def _same_site(url: Url, following: Url) -> bool:
    """Whether a redirect stays on its host and port; http may become https."""
    if following.host != url.host:
        return False
    upgraded = (url.scheme, url.port, following.scheme, following.port) == (
        "http",
        80,
        "https",
        443,
    )
    return upgraded or (following.scheme, following.port) == (url.scheme, url.port)


async def _resolve(url: Url, private_hosts: frozenset[str], tool: str) -> list[str]:
    """Return the addresses of a host; raises ToolError if one of them is not public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            url.host, url.port, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError) as error:
        raise ToolError(f"The host {url.host} is not found. Check the address.") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        if url.host not in private_hosts and not is_public(ipaddress.ip_address(address)):
            shown = "" if is_address(url.host) else address
            raise ToolError(local_host_message(tool, url.host, shown))
    return addresses[:MOST_ADDRESSES]


async def _get(url: Url, addresses: Sequence[str]) -> Response:
    """Ask the first address that can be connected to."""
    import httpx2

    failure: Exception | None = None
    async with await asyncio.to_thread(_new_client) as client:
        for address in addresses:
            try:
                async with _streaming(client, url, address) as response:
                    return await _read(url, response)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise ToolError(f"{url.host} gave no usable answer: {_text(error)}.") from error
    raise ToolError(
        f"Cannot connect to {url.authority}: {_text(failure)}. Check the address and the network."
    ) from failure


def _new_client() -> httpx2.AsyncClient:
    """Load the library and make a client; slow, so it runs in a thread."""
    import httpx2

    timeout = httpx2.Timeout(None, connect=FETCH_CONNECT_SECONDS)
    return httpx2.AsyncClient(headers=HEADERS, timeout=timeout, trust_env=False)


@asynccontextmanager
async def _streaming(
    client: httpx2.AsyncClient, url: Url, address: str
) -> AsyncIterator[httpx2.Response]:
    """Send the request to the checked address, under the name of the host."""
    request = client.build_request(
        "GET",
        f"{url.scheme}://{url.at(address)}{url.target}",
        headers={"Host": url.authority},
        extensions={"sni_hostname": url.host},
    )
    response = await client.send(request, stream=True)
    try:
        yield response
    finally:
        await response.aclose()


async def _read(url: Url, response: httpx2.Response) -> Response:
    if response.status_code in REDIRECTS and "location" in response.headers:
        return Response(url, response.status_code, redirect=_location(url, response))
    data, cut = bytearray(), False
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > FETCH_BYTES:
            cut = True
            break
    content_type, _, _ = response.headers.get("content-type", "").partition(";")
    return Response(
        url=url,
        status=response.status_code,
        reason=response.reason_phrase,
        content_type=content_type.strip().lower(),
        charset=response.charset_encoding,
        data=bytes(data[:FETCH_BYTES]),
        cut=cut,
    )


def _location(url: Url, response: httpx2.Response) -> str:
    try:
        return urljoin(str(url), response.headers["location"])
    except ValueError as error:
        raise ToolError(f"{url.host} redirects to no address. Fetch another one.") from error


def _text(error: Exception | None) -> str:
    return clip(str(error) or type(error).__name__).rstrip(".")
