"""How fast Neovim answers another client meanwhile."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from tests.support.editor import Editor


def pinged(editor: Editor, act: Callable[[], None]) -> list[float]:
    """Return the seconds of each answer to another client while ``act`` runs."""
    with module("bench.pinger", editor.eval("v:servername")) as pinger:
        line(pinger)
        time.sleep(0.1)
        act()
        seconds: list[float] = json.loads(pinger.communicate("stop\n")[0])
    return seconds


@contextlib.contextmanager
def module(name: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Run a module of the bench in a process of its own, until the end of the block."""
    command = [sys.executable, "-m", name, *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that it prints."""
    assert process.stdout
    return process.stdout.readline().strip()
