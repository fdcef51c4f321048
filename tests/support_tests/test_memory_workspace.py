"""A workspace in memory has what only it has: files anywhere, and no processes."""

from __future__ import annotations

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Command, Zone
from tests.support.memory_workspace import MemoryWorkspace


async def test_files_can_lie_outside_the_root() -> None:
    memory = MemoryWorkspace({"a": "text\n", "/elsewhere/c": ""})
    target = await memory.locate("../elsewhere/c")
    assert (target.path, target.zone, target.exists) == ("/elsewhere/c", Zone.OUTSIDE, True)
    assert sorted(memory.files) == ["/elsewhere/c", "/workspace/a"]


async def test_nothing_runs_in_memory() -> None:
    with pytest.raises(ToolError):
        await MemoryWorkspace({}).run(Command(("true",), "/workspace"))
