"""A model server in a process of its own that answers with many small chunks.

It prints its URL and serves until its standard input closes.
"""

from __future__ import annotations

import sys

from tests.support.model_server import ModelServer
from tests.support.replies import Reply

CHUNKS = 5000
LINES_EVERY = 12
"""Chunks to a line of text."""


def main() -> None:
    """Serve the flood."""
    server = ModelServer()
    parts = [f"word{n} " if n % LINES_EVERY else f"end {n}.\n" for n in range(1, CHUNKS + 1)]
    server.always(Reply(tuple(parts)))
    print(server.url, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
