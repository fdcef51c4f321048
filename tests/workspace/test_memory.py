"""A workspace in memory behaves like one on disk, as far as files go."""

from __future__ import annotations

import pytest

from agentchat.core.changes import ChangeSet, FileChange
from agentchat.core.errors import Stale, ToolError
from agentchat.core.ports import Command, Entry, Workspace, Zone
from agentchat.workspace.memory import MemoryWorkspace


@pytest.fixture
def memory() -> MemoryWorkspace:
    return MemoryWorkspace({"a": "text\n", "d/b": b"\0", "/elsewhere/c": ""})


async def test_it_is_a_workspace(memory: MemoryWorkspace) -> None:
    workspace: Workspace = memory
    assert await workspace.kind("/workspace/a") == "file"
    assert await workspace.kind("/workspace/d") == "directory"
    assert await workspace.kind("/workspace") == "directory"
    assert await workspace.kind("/workspace/no") is None
    assert await workspace.read("/workspace/a", 2) == b"te"
    assert await workspace.size("/workspace/d/b") == 1
    assert sorted(await workspace.list("/workspace"), key=lambda entry: entry.name) == [
        Entry("a", "file"),
        Entry("d", "directory"),
    ]


@pytest.mark.parametrize(
    ("path", "real", "zone"),
    [
        ("./d/../a", "/workspace/a", Zone.ORDINARY),
        ("@a", "/workspace/a", Zone.ORDINARY),
        ("../elsewhere/c", "/elsewhere/c", Zone.OUTSIDE),
        (".env", "/workspace/.env", Zone.SECRET),
        ("Makefile", "/workspace/Makefile", Zone.PROTECTED),
    ],
)
async def test_paths_have_one_identity(
    memory: MemoryWorkspace, path: str, real: str, zone: Zone
) -> None:
    target = await memory.locate(path)
    assert (target.path, target.zone) == (real, zone)


async def test_a_change_is_made_whole_or_not_at_all(memory: MemoryWorkspace) -> None:
    edit = FileChange("/workspace/a", b"text\n", b"new\n")
    with pytest.raises(Stale):
        await memory.apply(ChangeSet((edit, FileChange("/workspace/d/b", b"other", b""))))
    assert memory.files["/workspace/a"] == b"text\n"
    await memory.apply(ChangeSet((edit, FileChange("/workspace/d/b", b"\0", None))))
    assert sorted(memory.files) == ["/elsewhere/c", "/workspace/a"]


async def test_nothing_runs_in_memory(memory: MemoryWorkspace) -> None:
    with pytest.raises(ToolError):
        await memory.run(Command(("true",), "/workspace"))
