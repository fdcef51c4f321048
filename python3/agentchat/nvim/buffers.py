"""The loaded buffers of Neovim, for a workspace that shows what the user sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentchat.nvim.lua_api import LuaApi, LuaFunction
from agentchat.workspace.editor_port import (
    BufferEdit,
    BufferMovedError,
    BufferSnapshot,
    LineEdits,
    SaveOutcome,
    TextForm,
)
from agentchat.workspace.files.transaction import ChangeFailed


class NvimBuffers:
    """Asks Lua's ``agentchat.buffers``; see there for what each answer holds."""

    def __init__(self, bridge: LuaApi, plain_save: bool = False) -> None:
        self._bridge = bridge
        self.plain_save = plain_save

    async def snapshot(self, path: str) -> BufferSnapshot | None:
        """Return the loaded buffer of a file; ``None`` if there is none."""
        found = await self._bridge.request("buffers.snapshot", path)
        return _snapshot(found) if found else None

    async def unsaved(self) -> Mapping[str, BufferSnapshot]:
        """Return the buffers with unsaved changes, by path."""
        found: Sequence[Mapping[str, Any]] = await self._bridge.request("buffers.snapshots")
        return {item["path"]: _snapshot(item) for item in found}

    async def replace(self, path: str, tick: int, edits: LineEdits, form: TextForm) -> BufferEdit:
        """Make the edits as one undo step and set the form."""
        lines = [[first, last, list(new)] for first, last, new in edits]
        done = await self._change("buffers.replace", path, tick, lines, form)
        return BufferEdit(done["changedtick"], done["undo"])

    async def undo(self, path: str, tick: int, state: int, form: TextForm) -> None:
        """Go back to a state of the undo tree, and to the form."""
        await self._change("buffers.undo", path, tick, state, form)

    async def _change(
        self, name: LuaFunction, path: str, tick: int, change: object, form: TextForm
    ) -> Mapping[str, Any]:
        shape = {"eol": form.eol, "bomb": form.bomb, "fileformat": form.fileformat}
        done: Mapping[str, Any] = await self._bridge.request(name, path, tick, change, shape)
        if done["ok"]:
            return done
        if done.get("reason") == "moved":
            raise BufferMovedError(path)
        raise ChangeFailed(done["message"])

    async def rename(self, path: str, new: str) -> None:
        """Let a loaded buffer follow its file to another path."""
        await self._bridge.request("buffers.rename", path, new)

    async def save(self, path: str) -> SaveOutcome:
        """Write the buffer as the user would."""
        done = await self._bridge.request("buffers.save", path, self.plain_save)
        return SaveOutcome(saved=bool(done["ok"]), problem=done.get("message", ""))

    async def refresh(self) -> None:
        """Show what a command made of the files on the screen."""
        await self._bridge.request("buffers.refresh")

    async def reload(self, path: str) -> None:
        """Let a loaded buffer take what the disk has."""
        await self._bridge.request("buffers.reload", path)


def _snapshot(found: Mapping[str, Any]) -> BufferSnapshot:
    form = TextForm(bool(found["eol"]), bool(found["bomb"]), found["fileformat"])
    return BufferSnapshot(
        tick=found["changedtick"],
        modified=bool(found["modified"]),
        lines=tuple(found["lines"]),
        form=form,
        modifiable=bool(found["modifiable"]),
        readonly=bool(found["readonly"]),
        encoding=found["encoding"] or "utf-8",
    )
