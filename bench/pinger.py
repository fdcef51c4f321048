"""A client in a process of its own that evaluates ``1`` in Neovim again and again.

``python -m bench.pinger SOCKET``: pings until its standard input closes, then prints the seconds
each answer took as a JSON list.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time

import msgpack

GAP = 0.001
"""Seconds between an answer and the next request."""


def main() -> None:
    """Ping the Neovim at the socket named on the command line."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        print("ready", flush=True)
        seconds: list[float] = []
        while not select.select([sys.stdin], [], [], GAP)[0]:
            seconds.append(_ping(connection, len(seconds)))
    print(json.dumps(seconds), flush=True)


def _ping(connection: socket.socket, number: int) -> float:
    unpacker = msgpack.Unpacker()
    before = time.perf_counter()
    connection.sendall(msgpack.packb([0, number, "nvim_eval", ["1"]]))
    while True:
        unpacker.feed(connection.recv(1 << 16))
        if any(message[0] == 1 for message in unpacker):
            return time.perf_counter() - before


if __name__ == "__main__":
    main()
