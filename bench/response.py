"""How soon Neovim answers while a reply pours in, against an idle one with the same chat open."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from tests.support.chat import Chat
from tests.support.editor import Editor

from bench.editors import bench_editor
from bench.figures import Row, spread

IDLE = 3.0
"""Seconds of pinging an idle editor."""


def measure() -> list[Row]:
    """Ping an idle editor, then one that streams."""
    with _module("bench.flood") as flood:
        url = _line(flood)
        with bench_editor(url) as editor:
            chat = Chat.open(editor)
            editor.wait_event("AgentHostStarted")
            _stream(chat)  # the first turn imports the model client
            idle = _pinged(editor, lambda: editor.settle(IDLE))
            busy = _pinged(editor, lambda: _stream(chat))
    return spread("Neovim's answer", idle, busy, "while 5,000 chunks arrive / idle ")


def _stream(chat: Chat) -> None:
    chat.send("go")
    chat.editor.wait_event("AgentTurnFinished", limit=60)


def _pinged(editor: Editor, act: Callable[[], None]) -> list[float]:
    """Seconds per answer to another client while ``act`` goes on."""
    with _module("bench.pinger", editor.eval("v:servername")) as pinger:
        _line(pinger)
        time.sleep(0.1)
        act()
        seconds: list[float] = json.loads(pinger.communicate("stop\n")[0])
    return seconds


@contextlib.contextmanager
def _module(name: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Run a module of the bench beside this process; it ends with the block."""
    command = [sys.executable, "-m", name, *args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()
