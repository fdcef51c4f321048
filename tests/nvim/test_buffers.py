"""What the host asks Neovim about buffers: once, together, and no text that it has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.journal.writer import JournalWriter
from agentchat.nvim.buffers import QUERIES, NvimBuffers
from agentchat.nvim.lua_api import LuaFunction
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.editor_port import TextForm
from agentchat.workspace.local import LocalWorkspace

STATE = {
    "buf": 3,
    "modified": False,
    "modifiable": True,
    "readonly": False,
    "empty": False,
    "eol": True,
    "bomb": False,
    "fileformat": "unix",
    "encoding": "utf-8",
}


class Lua:
    """The Lua half, with one buffer of the file ``/a``."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.tick = 7
        self.text = "one\ntwo"

    async def request(self, name: LuaFunction, *args: Any) -> Any:
        self.requests.append((name, args[0]))
        if name == "buffers.look":
            return [self._look(query) for query in args[0]]
        if name == "buffers.save":
            self.tick += 1
            return {"ok": True, "changedtick": self.tick, "unchanged": True}
        self.tick += 1
        return {"ok": True, "buf": 3, "changedtick": self.tick, "undo": 0}

    def _look(self, query: Mapping[str, Any]) -> dict[str, Any] | bool:
        if query["path"] != "/a":
            return False
        text = {"text": self.text} if query.get("text") else {}
        if query.get("changedtick") == self.tick:
            text = {}
        return {**STATE, "changedtick": self.tick, **text}


async def test_what_is_asked_together_is_one_request() -> None:
    lua = Lua()
    buffers = NvimBuffers(lua)
    flags, other, seen = await asyncio.gather(
        buffers.flags("/a"), buffers.flags("/b"), buffers.snapshot("/a")
    )
    assert flags is not None
    assert (flags.tick, flags.modified, other) == (7, False, None)
    assert seen is not None
    assert seen.to_bytes() == b"one\ntwo\n"
    assert len(lua.requests) == 1


async def test_a_text_is_asked_for_again_only_with_what_is_known_of_it() -> None:
    lua = Lua()
    buffers = NvimBuffers(lua)
    await buffers.snapshot("/a")
    seen = await buffers.snapshot("/a")
    assert seen is not None
    assert seen.text == b"one\ntwo"
    assert lua.requests[1][1] == [{"path": "/a", "text": True, "buf": 3, "changedtick": 7}]
    lua.tick, lua.text = 8, "new"
    seen = await buffers.snapshot("/a")
    assert seen is not None
    assert seen.text == b"new"


async def test_the_text_after_an_edit_is_known_and_stays_so_when_it_is_saved() -> None:
    lua = Lua()
    buffers = NvimBuffers(lua)
    await buffers.replace("/a", 7, [(0, 1, ["1"])], (b"1\ntwo", TextForm()))
    assert (await buffers.save("/a")).unchanged
    seen = await buffers.snapshot("/a")
    assert seen is not None
    assert (seen.tick, seen.text) == (9, b"1\ntwo")


async def test_a_text_that_the_user_changed_before_it_was_saved_is_asked_for() -> None:
    lua = Lua()
    buffers = NvimBuffers(lua)
    await buffers.replace("/a", 7, [(0, 1, ["1"])], (b"1\ntwo", TextForm()))
    lua.tick, lua.text = 9, "1\ntyped"
    assert not (await buffers.save("/a")).unchanged
    seen = await buffers.snapshot("/a")
    assert seen is not None
    assert seen.text == b"1\ntyped"


async def test_the_files_of_a_change_are_looked_for_in_few_requests(tmp_path: Path) -> None:
    lua = Lua()
    workspace = BuffersWorkspace(LocalWorkspace(str(tmp_path)), NvimBuffers(lua))
    journal = JournalWriter.open(tmp_path / "state", "chat")
    paths = [f"{workspace.root}/out/{number}" for number in range(QUERIES + 1)]
    change = ChangeSet(tuple(FileChange(path, None, b"text") for path in paths))
    await JournaledWorkspace(workspace, journal, "call").apply(change)
    journal.close()
    assert all(Path(path).read_bytes() == b"text" for path in paths)
    looks = [queries for name, queries in lua.requests if name == "buffers.look"]
    assert [len(queries) for queries in looks] == [1, QUERIES, 1]
