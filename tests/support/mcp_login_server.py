"""An MCP server on loopback that wants a login, and the authorization server that it names.

Both are one HTTP server. It speaks just enough of the protocol to list a tool and to call it. At
``/open`` nobody needs a login; the tool answers with 100 MB there, as JSON, events or gzip.
"""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

TOOL = {"name": "whoami", "inputSchema": {"type": "object"}}


class LoginServer:
    """``tokens`` are the valid ones, which expire in ``expires_in`` seconds.

    ``clients`` asked for a token, ``issuer`` is sent back with the code. It
    refuses the tokens that it gives out if it ``forgets`` them. ``about`` is where it says that its
    login is described, ``login_base`` where that says the login is; ``asked`` are the paths of
    requests. The tokens are for ``resource``.
    """

    def __init__(self) -> None:
        self.tokens: set[str] = set()
        self.grants: list[str] = []
        self.clients: list[str] = []
        self.expires_in = 3600
        self.forgets = False
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.base = f"http://127.0.0.1:{self._http.server_port}"
        self.url = f"{self.base}/mcp"
        self.issuer = self.base
        self.about = f"{self.base}/.well-known/oauth-protected-resource/mcp"
        self.login_base = self.base
        self.asked: list[str] = []
        self.resource = self
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def metadata(self, path: str) -> dict[str, Any] | None:
        """The documents by which a client finds out how to log in."""
        if path.startswith("/.well-known/oauth-protected-resource"):
            return {"resource": self.url, "authorization_servers": [self.login_base]}
        if path.startswith("/.well-known/oauth-authorization-server"):
            return {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "registration_endpoint": f"{self.base}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "client_id_metadata_document_supported": True,
                "authorization_response_iss_parameter_supported": True,
            }
        return None

    def grant(self, form: dict[str, str]) -> dict[str, Any]:
        """Give a new token, for a code or a refresh token."""
        self.grants.append(form["grant_type"])
        self.clients.append(form["client_id"])
        assert form["grant_type"] == "refresh_token" or form["code_verifier"]
        token = f"token-{len(self.grants)}"
        self.resource.tokens = set() if self.forgets else {token}
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": self.expires_in,
            "refresh_token": "again",
        }


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Answer one message of the older protocol."""
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "login", "version": "1"},
        },
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "you"}]},
    }
    if message["method"] in results:
        return {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
    error = {"code": -32601, "message": "unknown method"}
    return {"jsonrpc": "2.0", "id": message.get("id"), "error": error}


def _handler(server: LoginServer) -> type[BaseHTTPRequestHandler]:  # noqa: C901
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            target = urlsplit(self.path)
            found = server.metadata(target.path)
            if found is not None:
                self._send(200, found)
            elif target.path == "/authorize":
                query = {name: values[0] for name, values in parse_qs(target.query).items()}
                given = {"code": "c", "state": query["state"], "iss": server.issuer}
                self._send(302, None, Location=f"{query['redirect_uri']}?{urlencode(given)}")
            else:
                self._send(405, None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
            server.asked.append(self.path)
            if self.path == "/register":
                self._send(201, {**json.loads(body), "client_id": "client"})
            elif self.path == "/token":
                form = {name: values[0] for name, values in parse_qs(body).items()}
                self._send(200, server.grant(form))
            elif self.path == "/elsewhere":
                self._send(307, None, Location="http://localhost:1/mcp")
            elif self.path == "/open" and '"tools/call"' in body:
                self._send_much(json.loads(body)["params"]["arguments"]["form"])
            elif self.path == "/open":
                self._send(200, answer(json.loads(body)))
            else:
                self._answer(body)

        def _answer(self, body: str) -> None:
            if self.headers["Authorization"] not in {f"Bearer {t}" for t in server.tokens}:
                challenge = f'Bearer resource_metadata="{server.about}"'
                self._send(401, {}, **{"WWW-Authenticate": challenge})
            else:
                message = json.loads(body)
                self._send(200 if "id" in message else 202, answer(message))

        def _send(self, code: int, value: Any, **headers: str) -> None:
            data = b"" if value is None or code == 202 else json.dumps(value).encode()
            self.send_response(code)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _send_much(self, form: str) -> None:
            """Send the body until the client has had enough."""
            head, chunk = b'{"jsonrpc": "2.0", "id": 1, "result": "', b"x" * 1_000_000
            self.send_response(200)
            kind = "text/event-stream" if form == "events" else "application/json"
            self.send_header("Content-Type", kind)
            if form == "gzip":
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(b"data: " + head if form == "events" else head)
                for _ in range(100):
                    self.wfile.write(chunk)
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
