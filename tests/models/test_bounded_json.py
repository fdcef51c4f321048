"""Answers that are no stream are bounded: large ones, and compressed ones that unpack to more."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentchat.models.http import LARGEST_JSON, HttpClient

BODIES = {
    "/small": (b'{"data": []}', ""),
    "/large": (b'"' + b"x" * (LARGEST_JSON + 1) + b'"', ""),
    "/bomb": (gzip.compress(b'"' + b"x" * (4 * LARGEST_JSON) + b'"'), "gzip"),
    "/small-compressed": (gzip.compress(b"{}"), "gzip"),
    "/deep": (b"[" * 1_000_000, ""),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body, encoding = BODIES[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:  # the client has read enough
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def base() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", sorted(set(BODIES) - {"/small"}))
async def test_what_is_too_large_or_compressed_is_no_answer(base: str, path: str) -> None:
    client = HttpClient(base)
    assert await client.get_json(path.removeprefix("/"), {}, 20) is None
    await client.close()


async def test_a_small_answer_is_read(base: str) -> None:
    client = HttpClient(base)
    assert await client.get_json("small", {}, 20) == {"data": []}
    await client.close()
