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
    """The buffers as Lua's ``files/buffers.lua`` reports them."""

    def __init__(self, lua: LuaApi, plain_save: bool = False) -> None:
        self._lua = lua
        self.plain_save = plain_save

    async def snapshot(self, path: str) -> BufferSnapshot | None:
        """Return the loaded buffer of a file; ``None`` if there is none."""
        table = await self._lua.request("buffers.snapshot", path)
        return _snapshot(table) if table else None

    async def unsaved(self) -> Mapping[str, BufferSnapshot]:
        """Return the buffers with unsaved changes, by path."""
        tables: Sequence[Mapping[str, Any]] = await self._lua.request("buffers.snapshots")
        return {table["path"]: _snapshot(table) for table in tables}

    async def replace(self, path: str, tick: int, edits: LineEdits, form: TextForm) -> BufferEdit:
        """Make the edits as one undo step and set the form."""
        lines = [[first, last, list(new)] for first, last, new in edits]
        answer = await self._change("buffers.replace", path, tick, lines, form)
        return BufferEdit(answer["changedtick"], answer["undo"])

    async def undo(self, path: str, tick: int, state: int, form: TextForm) -> None:
        """Go back to a state of the undo tree, and to the form."""
        await self._change("buffers.undo", path, tick, state, form)

    async def _change(
        self, name: LuaFunction, path: str, tick: int, change: object, form: TextForm
    ) -> Mapping[str, Any]:
        shape = {"eol": form.eol, "bomb": form.bomb, "fileformat": form.fileformat}
        answer: Mapping[str, Any] = await self._lua.request(name, path, tick, change, shape)
        if answer["ok"]:
            return answer
        if answer.get("reason") == "moved":
            raise BufferMovedError(path)
        raise ChangeFailed(answer["message"])

    async def rename(self, path: str, new: str) -> None:
        """Rename a loaded buffer after its file was renamed."""
        await self._lua.request("buffers.rename", path, new)

    async def save(self, path: str) -> SaveOutcome:
        """Write the buffer as the user's own ``:write`` does, or without autocommands."""
        answer = await self._lua.request("buffers.save", path, self.plain_save)
        return SaveOutcome(saved=bool(answer["ok"]), problem=answer.get("message", ""))

    async def refresh(self) -> None:
        """Check all visible buffers for changes on disk."""
        await self._lua.request("buffers.refresh")

    async def reload(self, path: str) -> None:
        """Reload a loaded buffer from disk."""
        await self._lua.request("buffers.reload", path)


def _snapshot(table: Mapping[str, Any]) -> BufferSnapshot:
    form = TextForm(bool(table["eol"]), bool(table["bomb"]), table["fileformat"])
    return BufferSnapshot(
        tick=table["changedtick"],
        modified=bool(table["modified"]),
        lines=tuple(table["lines"]),
        form=form,
        modifiable=bool(table["modifiable"]),
        readonly=bool(table["readonly"]),
        encoding=table["encoding"] or "utf-8",
    )
