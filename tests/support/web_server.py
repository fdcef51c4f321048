"""A server of a few pages on loopback, for what fetches them: it keeps the requests it got."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Resource:
    """What is at one path; a ``held`` one is answered when the event is set."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    held: threading.Event | None = None


def redirect(target: str, status: int = 302) -> Resource:
    return Resource(status=status, headers={"Location": target})


class WebServer:
    """Serves resources by path until closed; ``requests`` are pairs of path and ``Host``."""

    def __init__(self, resources: Mapping[str, Resource]) -> None:
        self.resources = dict(resources)
        self.requests: list[tuple[str, str]] = []
        self.came = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return self._http.server_port

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append((self.path, self.headers["Host"]))
                server.came.set()
                found = server.resources.get(self.path, Resource(b"No such page.", status=404))
                if found.held is not None:
                    found.held.wait(30)
                self.send_response(found.status)
                if found.content_type:
                    self.send_header("Content-Type", found.content_type)
                self.send_header("Content-Length", str(len(found.body)))
                for name, value in found.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(found.body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler
