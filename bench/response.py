"""How fast Neovim answers while a reply arrives, compared with an idle one."""

from __future__ import annotations

from tests.support.chat import Chat

from bench.editors import bench_editor
from bench.figures import Row, spread
from bench.pinging import line, module, pinged

IDLE = 3.0
"""Seconds of pinging an idle editor."""


def measure() -> list[Row]:
    """Ping an idle editor, then one that streams."""
    with module("bench.flood") as flood:
        url = line(flood)
        with bench_editor(url) as editor:
            chat = Chat.open(editor)
            editor.wait_event("AgentHostStarted")
            _stream(chat)  # the first turn imports the model client
            idle = pinged(editor, lambda: editor.settle(IDLE))
            busy = pinged(editor, lambda: _stream(chat))
    return spread("Neovim's answer", idle, busy, "while 10,000 chunks arrive / idle ")


def _stream(chat: Chat) -> None:
    chat.send("go")
    chat.editor.wait_event("AgentTurnFinished", limit=60)
