"""The cost of a call in a session, compared with calling the function of its tool.

Session, rules and journal are the real ones. There is no editor, and the replies of the model are
ready.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.agent.scene import KeptScreen

from agentchat.agent.execution.results import ResultStore
from agentchat.agent.session import Session
from agentchat.agent.session_parts import SessionParts
from agentchat.core.messages import Reply, ToolCall
from agentchat.core.model import ModelRequest, Piece
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import Access, Environment, Tool, ToolContext
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.journal.writer import JournalWriter
from agentchat.tools.builtin import read, resolve
from agentchat.workspace.local import LocalWorkspace
from bench.contexts import bare_context
from bench.figures import Row, compare

RUNS = 7
BATCHES = (1, 20, 200)
FILE = "file.txt"


class OneBatch:
    """A model that requests all calls in one reply and then ends the turn."""

    name = "bench"
    window: int | None = None

    def __init__(self, tool: str, calls: int) -> None:
        arguments = f'{{"path": "{FILE}"}}'
        requested = tuple(ToolCall(f"c{n}", tool, arguments) for n in range(calls))
        self._replies = [Reply(calls=requested, finish="tool_calls"), Reply("done", finish="stop")]

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        """Return the next reply."""
        return self._replies.pop(0)

    def current(self) -> OneBatch:
        """Return itself, as a source of models does."""
        return self

    async def learn_window(self) -> None:
        """Nothing to ask."""

    def warm_up(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""


def measure() -> list[Row]:
    """Run batches in a session and, in turns, by calling the function."""
    alone = replace(read.TOOL, metadata=replace(read.TOOL.metadata, concurrency_safe=False))
    nothing = replace(read.TOOL, steps=(_nothing,), touches=lambda arguments: Access())
    return [
        *(_row(f"batch of {calls} reads / bare", read.TOOL, calls) for calls in BATCHES),
        _row("batch of 200 one by one / bare", alone, 200),
        _row("a call of nothing / bare", nothing, 1),
    ]


async def _nothing(arguments: object, context: ToolContext) -> str:
    return "ok"


def _row(what: str, tool: Tool, calls: int) -> Row:
    bare, queued = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / FILE).write_text("a line of text\n" * 50)
            bare.append(asyncio.run(_bare(folder, tool, calls)) / calls)
            queued.append(asyncio.run(_queued(folder, tool, calls)) / calls)
    return compare("queue, for each call", what, bare, queued)


async def _bare(folder: str, tool: Tool, calls: int) -> float:
    context = bare_context(folder)
    arguments = tool.arguments.parse({"path": FILE})
    before = time.perf_counter()
    for _ in range(calls):
        await tool.steps[0](arguments, context)
    return time.perf_counter() - before


async def _queued(folder: str, tool: Tool, calls: int) -> float:
    """Return the seconds from the prompt to the end of the turn: two requests and the calls."""
    screen = KeptScreen()
    session = _session(folder, tool, calls, screen)
    before = time.perf_counter()
    session.send("read")
    await screen.until(lambda: bool(screen.named("AgentTurnFinished")), 60)
    seconds = time.perf_counter() - before
    assert screen.named("AgentTurnFinished")[0]["reason"] == "stop"
    assert len(screen.named("AgentToolFinished")) == calls
    await session.close()
    return seconds


def _session(folder: str, tool: Tool, calls: int, screen: KeptScreen) -> Session:
    toolbox = Toolset(Registry([tool, resolve.TOOL]), [Group("all", (tool.name,))], ["all"])
    model = OneBatch(tool.name, calls)
    journal = JournalWriter.open(Path(folder) / "state", "bench", ())
    return Session(
        SessionParts(
            chat=Chat("bench", toolbox, Environment(folder)),
            workspace=LocalWorkspace(folder),
            view=screen,
            journal=journal,
            results=ResultStore(Path(folder) / "results"),
            model=model,
            max_parallel=10,
        )
    )
