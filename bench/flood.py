"""A model server in a process of its own that answers with many small chunks.

It prints its URL and serves until its standard input closes.
"""

from __future__ import annotations

import sys

from tests.support.model_server import ModelServer
from tests.support.replies import Reply

CHUNKS = 10_000
LINES_EVERY = 12
"""Chunks to a line of text."""

CODE_EVERY = 40
"""Lines to a block of code, every other one in a language without a parser in Neovim."""

BLOCKS = ("lua\nlocal answer = 42 -- a number\n", "python\nanswer = len('text')  # a number\n")


def main() -> None:
    """Serve the flood."""
    server = ModelServer()
    server.always(Reply(tuple(_chunk(n) for n in range(1, CHUNKS + 1))))
    print(server.url, flush=True)
    sys.stdin.read()


def _chunk(number: int) -> str:
    line, rest = divmod(number, LINES_EVERY)
    if rest:
        return f"word{number} " if number % 5 else f"`code{number}` "
    block, rest = divmod(line, CODE_EVERY)
    return f"\n\n```{BLOCKS[block % 2]}```\n\n" if rest == 0 else "a **bold** end.\n"


if __name__ == "__main__":
    main()
