"""HTTP to one model server: connections that are kept open, streamed bodies, honest errors.

The library takes a tenth of a second to load and a client reads the system's certificates, so
both happen in a thread. Proxies and certificates are those of the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from agentchat.core.errors import ModelError, UserError
from agentchat.core.frozen import frozen
from agentchat.models.protocols.wire_history import encode_body
from agentchat.models.response.refusal import one_line
from agentchat.models.response.reply import CUT_OFF

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
BYTE_IDLE_SECONDS = 300.0
"""How long a server may send nothing at all, the time before its first byte included."""

DATA_IDLE_SECONDS = 600.0
"""How long a server may send only signs of life (comments, pings) and no part of an answer."""

AFTER_FINISH_SECONDS = 2.0
"""How long to wait for the token count once the answer is complete."""

BEGINNING_BYTES = 1024 * 1024
"""How much is read of a body that explains an error."""

LARGEST_JSON = 16 * 1024 * 1024
"""How much is read of a list of models, or of another answer that is no stream."""

TRUST = "If you trust it, set $SSL_CERT_FILE to a file with its certificate, then restart Neovim."

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@frozen
class Timeouts:
    """Times in seconds after which a silent server is given up."""

    connect: float = CONNECT_SECONDS
    byte_idle: float = BYTE_IDLE_SECONDS
    data_idle: float = DATA_IDLE_SECONDS
    after_finish: float = AFTER_FINISH_SECONDS


class ConnectionFailure(ModelError):
    """No answer came; the message is for the user.

    ``short`` goes into the note about the next try; ``may_pass``: trying again may help.
    """

    def __init__(self, short: str, line: str, *, may_pass: bool = True) -> None:
        super().__init__(line)
        self.short = short
        self.may_pass = may_pass


class HttpResponse:
    """An answer whose headers are there and whose body is still to come."""

    def __init__(self, response: httpx2.Response, timeouts: Timeouts) -> None:
        self._response = response
        self._timeouts = timeouts

    @property
    def status(self) -> int:
        """The status code."""
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names in any case find them."""
        return self._response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            ModelError: the server fell silent or closed the connection too early.
        """
        import httpx2

        try:
            async for data in self._response.aiter_bytes():
                yield data
        except httpx2.TimeoutException:
            raise ModelError(silence("nothing", self._timeouts.byte_idle)) from None
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            raise ModelError(CUT_OFF) from error

    async def beginning(self) -> bytes:
        """Return the beginning of the body, as far as it comes within the time to connect."""
        data = bytearray()
        with contextlib.suppress(ModelError, TimeoutError):
            async with asyncio.timeout(self._timeouts.connect):
                async for chunk in self.chunks():
                    data += chunk
                    if len(data) >= BEGINNING_BYTES:
                        break
        return bytes(data)


class HttpClient:
    """Sends requests below a base URL.

    Args:
        base_url: begins with http or https.

    Raises:
        UserError: ``base_url`` does not.
    """

    def __init__(self, base_url: str, timeouts: Timeouts | None = None) -> None:
        self.base_url = check_url(base_url)
        self.timeouts = timeouts or Timeouts()
        self._opening: asyncio.Future[httpx2.AsyncClient] | None = None

    def warm_up(self) -> None:
        """Begin to load the library, in a thread; needs a running event loop."""
        self._open()

    async def close(self) -> None:
        """Close the connections that are kept open; a later request opens new ones."""
        opening, self._opening = self._opening, None
        if opening is not None:
            with contextlib.suppress(UserError):
                await (await opening).aclose()

    @asynccontextmanager
    async def post(
        self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]
    ) -> AsyncIterator[HttpResponse]:
        """Send ``body`` as JSON and give the answer, whatever its status.

        Raises:
            UserError: no client can be set up.
            ConnectionFailure: no answer came.
        """
        client = await self._client()
        response = await self._send(client, self._request(client, path, headers, body))
        try:
            yield HttpResponse(response, self.timeouts)
        finally:
            await response.aclose()

    async def get_json(self, path: str, headers: Mapping[str, str], seconds: float) -> object:
        """Return the JSON at ``path``, None if there is none within ``seconds``.

        Raises:
            ConnectionFailure: no answer came.
        """
        return await self._json("GET", path, headers, None, seconds)

    async def post_json(
        self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], seconds: float
    ) -> object:
        """Return the JSON that answers ``body``, None if there is none within ``seconds``."""
        with contextlib.suppress(ConnectionFailure):
            return await self._json("POST", path, headers, body, seconds)
        return None

    async def _json(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None,
        seconds: float,
    ) -> object:
        import httpx2

        client = await self._client()
        url = f"{self.base_url}/{path}"
        try:
            async with asyncio.timeout(seconds):
                async with client.stream(
                    method,
                    url,
                    headers={**headers, "Accept-Encoding": "identity"},
                    json=body,
                    follow_redirects=_may_follow(headers),
                ) as response:
                    return await _read_json(response) if response.is_success else None
        except (httpx2.HTTPError, OSError) as error:
            raise _connection_failure(error, self.base_url, seconds) from error
        except (httpx2.InvalidURL, ValueError, RecursionError):
            return None

    def _request(
        self,
        client: httpx2.AsyncClient,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
    ) -> httpx2.Request:
        import httpx2

        try:
            return client.build_request(
                "POST",
                f"{self.base_url}/{path}",
                headers={**headers, "Content-Type": "application/json"},
                content=encode_body(body),
            )
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise UserError(f"No request can be made: {error}. Check base_url and key.") from error

    async def _send(self, client: httpx2.AsyncClient, request: httpx2.Request) -> httpx2.Response:
        import httpx2

        try:
            return await client.send(
                request, stream=True, follow_redirects=_may_follow(request.headers)
            )
        except (httpx2.ReadTimeout, httpx2.WriteTimeout, httpx2.PoolTimeout):
            line = silence("nothing", self.timeouts.byte_idle)
            raise ConnectionFailure("No answer", line, may_pass=False) from None
        except (httpx2.HTTPError, OSError) as error:
            raise _connection_failure(error, self.base_url, self.timeouts.connect) from error

    async def _client(self) -> httpx2.AsyncClient:
        return await asyncio.shield(self._open())

    def _open(self) -> asyncio.Future[httpx2.AsyncClient]:
        """Return the client to be; a set-up that failed is tried again."""
        opening = self._opening
        if opening is None or (opening.done() and opening.exception() is not None):
            loop = asyncio.get_running_loop()
            opening = loop.run_in_executor(None, _new_client, self.base_url, self.timeouts)
            self._opening = opening
        return opening


def silence(what: str, seconds: float) -> str:
    """Return the line about a server that sent ``what`` for too long."""
    return (
        f"The server sent {what} for {seconds:g} s. "
        "See whether it still works, then send the request again."
    )


def check_url(url: str) -> str:
    """Return a base URL without its last slash; raises UserError if it is none."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise UserError(
            f"base_url is {url!r}: it must begin with http:// or https:// and name a host, "
            "like http://127.0.0.1:8080/v1."
        )
    return url.strip().rstrip("/")


async def _read_json(response: httpx2.Response) -> object:
    """Return the JSON of an answer; raises ValueError if it is too large, or compressed.

    A compressed body may unpack to any size before it can be counted.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("it is compressed, though it was asked not to be")
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > LARGEST_JSON:
            raise ValueError("it is too large")
    return json.loads(data)


def _may_follow(headers: Mapping[str, str]) -> bool:
    """Whether a redirect may be followed: the library keeps only one header from other hosts."""
    return not {"x-api-key", "x-goog-api-key", "api-key"} & {name.lower() for name in headers}


def _new_client(url: str, timeouts: Timeouts) -> httpx2.AsyncClient:
    """Load the library and make a client; slow, so it runs in a thread.

    Raises:
        UserError: the package or the proxy settings are broken.
    """
    try:
        import httpx2
    except ImportError as error:
        raise UserError(
            f"The httpx2 package does not load ({error}): run :AgentInstall."
        ) from error
    is_own = urlsplit(url).hostname in LOOPBACK  # a proxy could not reach it
    try:
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(timeouts.byte_idle, connect=timeouts.connect),
            headers={"User-Agent": "agentchat.nvim"},
            trust_env=not is_own,
            verify=_no_certificates() if is_own and url.startswith("http://") else _certificates(),
        )
    except Exception as error:
        raise UserError(
            f"No connection can be set up: {str(error).rstrip('.')}. Check the proxy settings."
        ) from error


def _no_certificates() -> ssl.SSLContext:
    """Return a context that trusts nobody: loading the system's certificates takes 40 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _certificates() -> ssl.SSLContext:
    """Return a context with the system's certificates, or those of ``$SSL_CERT_FILE``."""
    import httpx2

    return httpx2.create_ssl_context()


def _connection_failure(error: BaseException, url: str, seconds: float) -> ConnectionFailure:
    """Explain an error of the HTTP client and its causes; ``seconds`` to connect were allowed."""
    causes = list(_causes(error))
    names = {base.__name__ for cause in causes for base in type(cause).__mro__}
    proxy = proxy_of(url)
    if proxy and names & {"ConnectError", "ConnectTimeout", "gaierror"} and "SSL" not in str(names):
        return ConnectionFailure(
            "No connection to the proxy",
            f"Cannot connect to {url}: the proxy {proxy} does not answer. Check $HTTPS_PROXY, "
            "$HTTP_PROXY and $NO_PROXY.",
        )
    if "gaierror" in names or "not known" in str(causes):
        host = urlsplit(url).hostname
        return ConnectionFailure(
            f"The host {host} is not found",
            f"The host {host} is not found. Check base_url ({url}) and the network.",
        )
    if "SSLError" in names or "CERTIFICATE" in str(causes):
        is_unknown = "CERTIFICATE_VERIFY_FAILED" in str(causes)
        advice = TRUST if is_unknown else "Check whether it is http or https."
        return ConnectionFailure(
            "No secure connection",
            f"No secure connection to {url}: {_tls_reason(causes[-1])}. {advice}",
            may_pass=False,
        )
    if names & {"ConnectTimeout", "TimeoutError"}:
        return ConnectionFailure(
            "No connection in time",
            f"No connection to {url} within {seconds:g} s. Check base_url and the network.",
        )
    if "ProxyError" in names:
        return ConnectionFailure(
            "The proxy refuses",
            f"The proxy refuses the connection to {url}: {one_line(str(error))}. "
            "Check the proxy settings.",
        )
    if "ConnectError" in names:
        return ConnectionFailure(
            "No connection", f"Cannot connect to {url}. Is the server running?"
        )
    return ConnectionFailure(
        "The connection broke",
        f"The connection to {url} broke before an answer came. Look at the server's log.",
    )


def proxy_of(url: str) -> str:
    """Return the host and port of the environment's proxy for a URL, empty if there is none."""
    parts, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    host = parts.hostname or ""
    if not proxy or host in LOOPBACK or proxy_bypass(host):
        return ""
    return urlsplit(proxy if "//" in proxy else f"//{proxy}").netloc.rpartition("@")[2]


def _tls_reason(error: BaseException) -> str:
    """Return what a TLS library says, without its place in the library's source."""
    return re.sub(r"\[SSL[^]]*\] |\s*\(_ssl\.c:\d+\)", "", str(error)).rstrip(".")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
