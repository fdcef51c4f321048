"""A model server in a process of its own that reads nothing of a request and answers immediately.

It prints its URL, then for each request the time at which it had arrived, in seconds of
``time.monotonic``. It serves until its standard input closes.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable

ANSWER = "A short answer of one line, as a model gives it when there is little to say. " * 3
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%b"


def main() -> None:
    """Serve."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(f"http://127.0.0.1:{server.getsockname()[1]}/v1", flush=True)
        threading.Thread(target=_accept, args=(server, _response()), daemon=True).start()
        sys.stdin.read()


def _response() -> bytes:
    delta = {"index": 0, "delta": {"content": ANSWER}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 0, "completion_tokens": 50}
    chunks = [{"choices": [delta]}, {"choices": [end]}, {"choices": [], "usage": usage}]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return HEAD % (len(body), body.encode())


def _accept(server: socket.socket, response: bytes) -> None:
    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_serve, args=(connection, response), daemon=True).start()


def _serve(connection: socket.socket, response: bytes) -> None:
    with connection, connection.makefile("rb") as stream:
        while head := _head(stream.readline):
            stream.read(int(head.get("content-length", 0)))
            print(time.monotonic(), flush=True)
            connection.sendall(response)


def _head(readline: Callable[[], bytes]) -> dict[str, str]:
    """Return the headers of the next request; empty at the end."""
    lines = iter(lambda: readline().decode("latin-1").strip(), "")
    fields = (line.partition(": ") for line in lines if ": " in line)
    return {name.lower(): value for name, _, value in fields}


if __name__ == "__main__":
    main()
