"""OAuth for servers at a URL: the user logs in with a browser, once.

The SDK does the protocol: discovery, registration of the client, PKCE, ``state`` and ``iss``,
refresh. Here are the address on this computer to which the browser returns, and the file with the
tokens, which only the user can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from agentchat.core.errors import ToolError
from agentchat.disk.regular import read_regular

LOGIN_SECONDS = 300.0
CALLBACK = "/callback"
LARGEST_FILE = 1024 * 1024
DONE = "You are logged in. You can close this page and return to Neovim."

ShowUrl = Callable[[str], Awaitable[None]]


class TokenFile:
    """The tokens and the client of one server, in a file with mode 0600; a storage of the SDK."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.provider: OAuthClientProvider | None = None

    def read(self) -> dict[str, Any]:
        """Return the contents; empty if there are none."""
        try:
            contents = json.loads(read_regular(self._path, LARGEST_FILE))
        except (OSError, ValueError):
            return {}
        return contents if isinstance(contents, dict) else {}

    def write(self, **changes: Any) -> None:
        """Change some of the contents."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({**self.read(), **changes}, file)
        new.replace(self._path)

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens; the provider learns when they expire and where they are refreshed."""
        contents = self.read()
        if self.provider is not None and contents.get("metadata"):
            context = self.provider.context
            context.token_expiry_time = contents.get("expires_at")
            context.oauth_metadata = OAuthMetadata.model_validate(contents["metadata"])
        tokens = contents.get("tokens")
        return OAuthToken.model_validate(tokens) if tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Write the tokens; those that expire at once are used until the server refuses them."""
        assert self.provider is not None
        context = self.provider.context
        if not tokens.expires_in or tokens.expires_in <= 0:
            context.token_expiry_time = None
        metadata = context.oauth_metadata
        self.write(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            expires_at=context.token_expiry_time,
            metadata=metadata.model_dump(mode="json", exclude_none=True) if metadata else None,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return what the server registered this client as."""
        client = self.read().get("client")
        return OAuthClientInformationFull.model_validate(client) if client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Write what the server registered this client as."""
        self.write(client=client_info.model_dump(mode="json", exclude_none=True))


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address, the port also where it is the usual one."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{parts.hostname}:{port}"


class ConsentedProvider(OAuthClientProvider):
    """Authorizes requests with tokens, and sends no other request that the user did not agree to.

    What a server answers decides where the SDK looks for its login: it may name any host. So
    without ``:AgentMcp login`` there is only the refresh of a token, where the login got it; and a
    login asks the server alone. Another host is named to the user: the next login agrees to it.
    """

    def agree(self, name: str, file: TokenFile, *, is_login: bool) -> None:
        """Take what the user agreed to: the login of the server ``name``, or only its tokens."""
        self._name = name
        self._file = file
        self._is_login = is_login

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Yield the requests of the SDK that are allowed; raises ToolError at the first other."""
        flow = super().async_auth_flow(request)
        try:
            wanted = await anext(flow)
            while True:
                if wanted is not request:
                    self._check(str(wanted.url), request)
                response = yield wanted
                wanted = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _check(self, url: str, request: httpx2.Request) -> None:
        contents = self._file.read()
        if not self._is_login:
            if url != (contents.get("metadata") or {}).get("token_endpoint"):
                raise ToolError(needs_login(self._name))
            return
        origin, known = origin_of(url), contents.get("origins") or []
        if origin not in (origin_of(str(request.url)), *known):
            self._file.write(origins=[*known, origin])
            raise ToolError(
                f"MCP server {self._name} sends its login to {origin}. Nothing was sent there. To "
                f"agree, run :AgentMcp login {self._name} again."
            )


def needs_login(name: str) -> str:
    """Return the message about a server that refuses requests without a login."""
    return f"MCP server {name} needs a login: run :AgentMcp login {name}."


class Login:
    """The login of one server.

    Args:
        config: the server's configuration; ``tokens`` is the path of its file.
        show_url: shows the address of the login to the user; ``None`` if nobody asked for one.
    """

    def __init__(self, config: Mapping[str, Any], show_url: ShowUrl | None) -> None:
        self._config = config
        self._show_url = show_url
        self._file = TokenFile(Path(config["tokens"]))
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[AuthorizationCodeResult] | None = None

    def auth(self, headers: Mapping[str, str]) -> OAuthClientProvider | None:
        """Return what authorizes requests; ``None`` if a header of the user does."""
        if any(name.lower() == "authorization" for name in headers):
            return None
        options = self._config["oauth"]
        port = self._server.sockets[0].getsockname()[1] if self._server is not None else 0
        redirect = f"http://127.0.0.1:{port}{CALLBACK}"
        provider = ConsentedProvider(
            self._config["url"],
            OAuthClientMetadata(
                client_name="agentchat.nvim",
                redirect_uris=[AnyUrl(redirect)],
                grant_types=["authorization_code", "refresh_token"],
                response_types=["code"],
                token_endpoint_auth_method="none",
                scope=options.get("scope"),
            ),
            self._file,
            self._redirect,
            self._wait_for_code,
            client_metadata_url=options.get("client_metadata_url"),
        )
        provider.agree(self._config["name"], self._file, is_login=self._show_url is not None)
        self._file.provider = provider
        return provider

    async def listen(self) -> None:
        """Open the address to which the browser returns: the one that was registered, if free."""
        if self._show_url is None:
            return
        client = self._file.read().get("client") or {}
        known = [urlsplit(uri).port for uri in client.get("redirect_uris") or ()]
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", known[0])
        except (OSError, IndexError):
            self._file.write(client=self._given_client())
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    def close(self) -> None:
        """Close that address."""
        if self._server is not None:
            self._server.close()

    def _given_client(self) -> dict[str, Any] | None:
        """Return the client that the user registered by hand, if there is one."""
        options = self._config["oauth"]
        if not options.get("client_id"):
            return None
        secret = options.get("client_secret")
        method = "client_secret_post" if secret else "none"
        given = {"client_id": options["client_id"], "client_secret": secret}
        return {**given, "token_endpoint_auth_method": method, "redirect_uris": None}

    async def _redirect(self, url: str) -> None:
        name = self._config["name"]
        if self._answer is not None:
            raise ToolError(f"MCP server {name} refuses the token that its login gave out.")
        if self._show_url is None:
            raise ToolError(needs_login(name))
        self._answer = asyncio.get_running_loop().create_future()
        await self._show_url(url)

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        assert self._answer is not None
        try:
            return await asyncio.wait_for(self._answer, LOGIN_SECONDS)
        except TimeoutError:
            raise ToolError(f"Nobody logged in within {LOGIN_SECONDS:g} s.") from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the browser, and take the code from the address it asks for."""
        try:
            line = await reader.readline()
            target = urlsplit(line.decode("latin-1").split(" ")[1])
            text = self._take(parse_qs(target.query)) if target.path == CALLBACK else "Not here."
            body = f"<!doctype html><meta charset=utf-8><p>{html.escape(text)}".encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}"
            writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (IndexError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    def _take(self, query: Mapping[str, list[str]]) -> str:
        values = {name: items[0] for name, items in query.items()}
        if self._answer is None or self._answer.done():
            return "There is no login to finish."
        if "code" in values:
            answer = AuthorizationCodeResult(
                code=values["code"], state=values.get("state"), iss=values.get("iss")
            )
            self._answer.set_result(answer)
            return DONE
        reason = values.get("error_description") or values.get("error") or "no code"
        self._answer.set_exception(ToolError(f"The login was refused: {reason}"))
        return f"The login was refused: {reason}"
