"""Time from a prompt to its request, and of a whole turn in a long chat."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence

import httpx2

from bench.editors import bench_editor
from bench.figures import Row, compare, spread
from bench.pinging import line, module

FIRST = 7
"""Neovims whose first command opens a chat with a prompt."""

WARM = 200
SHORT, LONG = 10, 800
SAMPLE = 11
"""Turns that are measured around turn ``SHORT`` and before turn ``LONG``."""

TEXT = "Explain what this function does and where it is called. " * 4


TURNS = """
local text, count = ...
local send, finish = {}, {}
local buf = require('agentchat').open({ new = true })
local function go()
  table.insert(send, vim.uv.hrtime() / 1e9)
  require('agentchat').send(buf, text)
end
vim.api.nvim_create_autocmd('User', {
  pattern = 'AgentTurnFinished',
  callback = function()
    table.insert(finish, vim.uv.hrtime() / 1e9)
    if #finish < count then vim.defer_fn(go, 5) end
  end,
})
_G.bench_times = function() return { send, finish } end
vim.schedule(go)
"""
"""Plays turns one after the other; both clocks are that of ``time.monotonic``."""


def measure() -> list[Row]:
    """Measure first prompts, prompts in a chat that is open, and turns in a chat that grows."""
    with module("bench.instant") as server:
        url = line(server)
        floor, first = [], []
        for _ in range(FIRST):
            floor.append(_until_import())
            first.append(_first(server, url))
        plain = asyncio.run(_plain_requests(server, url))
        requests, turns = _turns(server, url)
    return [
        compare("first prompt", "request arrives / pynvim imported", floor, first),
        *spread("prompt to request", plain, requests[SHORT:WARM], "warm / bare client ")[:2],
        compare("a turn", f"turn {LONG} / turn {SHORT}", turns[5 : 5 + SAMPLE], turns[-SAMPLE:]),
    ]


def _until_import() -> float:
    """Return the seconds in which an interpreter imports what every remote plugin needs."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import pynvim"], check=True)
    return time.monotonic() - began


def _first(server: subprocess.Popen[str], url: str) -> float:
    with bench_editor(url) as editor:
        began = time.monotonic()
        editor.command(f"AgentChat {TEXT}")
        seconds = float(line(server)) - began
        editor.wait_event("AgentTurnFinished", limit=60)
    return seconds


async def _plain_requests(server: subprocess.Popen[str], url: str) -> list[float]:
    """Return the seconds until each request of the HTTP library alone arrives."""
    seconds = []
    async with httpx2.AsyncClient() as client:
        for _ in range(WARM):
            began = time.monotonic()
            await client.post(url, json={"messages": [TEXT]})
            seconds.append(float(line(server)) - began)
    return seconds


def _turns(server: subprocess.Popen[str], url: str) -> tuple[list[float], list[float]]:
    """Return the seconds until each request arrives, and until each turn is over."""
    with bench_editor(url) as editor:
        editor.lua(TURNS, TEXT, LONG)
        arrived = [float(line(server)) for _ in range(LONG)]
        editor.wait_event("AgentTurnFinished", limit=60)
        sent, finished = editor.lua("return _G.bench_times()")
    return _differences(sent, arrived), _differences(sent, finished)


def _differences(first: Sequence[float], last: Sequence[float]) -> list[float]:
    return [end - begin for begin, end in zip(first, last, strict=True)]
