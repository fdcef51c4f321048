"""The standard streams of this process, which are pipes to Neovim, kept from the user's tools."""

from __future__ import annotations

import os
import sys


def part() -> None:
    """Let what tools and their programs read be empty, and what they print there be lost.

    The connection to Neovim is a copy of standard input made before the host started; standard
    output has been standard error ever since, which Neovim reads line by line.
    """
    if sys.__stdin__ is not None:
        sys.stdin = sys.__stdin__
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
