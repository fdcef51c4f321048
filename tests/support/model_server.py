"""A model server on loopback: real HTTP, server-sent events, scripted replies.

    server.script(calls(call("read", {"path": "a"})), text("Done."))

Each request takes the oldest reply that fits it. A request without one is answered by status 500
and remembered: ``check()`` then fails the test.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import wire
from .replies import Hangup, Hold, Reply, status

HOLD_LIMIT = 60.0
"""Seconds after which a forgotten hold lets go, so that no test hangs on it."""


@dataclass
class Request:
    """One request as it came: ``at`` is ``time.monotonic()`` seconds."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    hung_up: threading.Event = field(default_factory=threading.Event)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", []))

    @property
    def last(self) -> str:
        """The text of the last message."""
        return content_text(self.messages[-1]) if self.messages else ""

    @property
    def tools(self) -> list[str]:
        """Names of the tools offered, in order."""
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]

    @property
    def results(self) -> dict[str, str]:
        """Text of each tool message, by call id, in order."""
        tool_messages = [m for m in self.messages if m["role"] == "tool"]
        return {m["tool_call_id"]: content_text(m) for m in tool_messages}

    @property
    def result(self) -> str:
        """Text of the newest tool message."""
        return content_text([m for m in self.messages if m["role"] == "tool"][-1])

    def said(self) -> str:
        """All text of the user and tool messages, for finding out whose request this is."""
        told = [m for m in self.messages if m["role"] != "system"]
        return "\n".join(content_text(m) for m in told)


def content_text(message: dict[str, Any]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


Fits = Callable[[Request], bool]


class ModelServer:
    """Serves ``/v1/chat/completions`` and ``/v1/models`` at ``url`` until closed."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.unexpected: list[Request] = []
        self.models = [wire.MODEL]
        self.name = "scripted"
        """The header ``Server`` of all answers."""
        self._replies: list[tuple[Fits, Reply]] = []
        self._standing: Reply | None = None
        self._lock = threading.Lock()
        self._http = _Http(self)
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        """The base URL, to be used as ``$OPENAI_BASE_URL``."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def script(self, *replies: Reply, when: Fits | str | None = None) -> None:
        """Queue replies. With ``when``, only for requests it fits (a string: that were said)."""
        fits = _fits(when)
        with self._lock:
            self._replies.extend((fits, reply) for reply in replies)

    def always(self, reply: Reply) -> None:
        """Answer whatever the script leaves open by ``reply``."""
        self._standing = reply

    def take(self, request: Request) -> Reply:
        """The reply for ``request``, taken from the queue; a complaint if there is none."""
        with self._lock:
            self.requests.append(request)
            for at, (fits, reply) in enumerate(self._replies):
                if fits(request):
                    del self._replies[at]
                    return reply
            if self._standing:
                return self._standing
            self.unexpected.append(request)
        return status(500, _complaint(request), X_Should_Retry="false")

    def check(self) -> None:
        """Fail if a request came that no reply was scripted for."""
        if self.unexpected:
            raise AssertionError("\n".join(_complaint(request) for request in self.unexpected))

    def close(self) -> None:
        """Stop serving. Streams still running end with their clients."""
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, model: ModelServer) -> None:
        self.model = model
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is an ordinary thing here: say nothing."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    connection: socket.socket

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def version_string(self) -> str:
        return self.server.model.name

    def do_GET(self) -> None:
        models = [{"id": name, "object": "model"} for name in self.server.model.models]
        self._send_body(200, json.dumps({"object": "list", "data": models}).encode(), {})

    def do_POST(self) -> None:
        request = self._read()
        if not self.path.endswith("/chat/completions"):
            self._send_body(404, b'{"error": {"message": "no such path"}}', {})
            return
        reply = self.server.model.take(request)
        if reply.whole:
            self._send_body(reply.status, reply.body or b"", reply.headers)
        elif request.body.get("stream"):
            self._stream(request, reply)
        else:
            self._wait_all(request, reply)
            self._send_body(200, wire.whole(reply, request.body), reply.headers)

    def _read(self) -> Request:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.path, headers, body, time.monotonic())

    def _stream(self, request: Request, reply: Reply) -> None:
        self._start_stream(reply)
        try:
            whole = self._send_events(request, wire.events(reply, request.body))
        except OSError:
            request.hung_up.set()
            whole = False
        self.close_connection = not whole

    def _start_stream(self, reply: Reply) -> None:
        self.send_response(200)
        headers = {"Content-Type": "text/event-stream", **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send_events(self, request: Request, parts: Iterable[bytes | Hold | Hangup]) -> bool:
        """Send all parts; return whether the stream was brought to its end."""
        for part in parts:
            if isinstance(part, Hangup):
                self.connection.shutdown(socket.SHUT_RDWR)
                return False
            if isinstance(part, Hold):
                if not self._wait(request, part.gate):
                    return False
            else:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")
        return True

    def _wait_all(self, request: Request, reply: Reply) -> None:
        for part in reply.parts:
            if isinstance(part, Hold):
                self._wait(request, part.gate)

    def _wait(self, request: Request, gate: threading.Event) -> bool:
        """Wait for ``gate``; return whether the client is still there."""
        until = time.monotonic() + HOLD_LIMIT
        while not gate.wait(0.02) and time.monotonic() < until:
            if self._gone() or self.server.closing.is_set():
                request.hung_up.set()
                return False
        return True

    def _gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _send_body(self, code: int, body: bytes, headers: Any) -> None:
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output free of a line per request."""


def _fits(when: Fits | str | None) -> Fits:
    if when is None:
        return lambda request: True
    if isinstance(when, str):
        words = when
        return lambda request: words in request.said()
    return when


def _complaint(request: Request) -> str:
    return f"No reply is scripted for a request that ends in: {request.last[:200]!r}"
