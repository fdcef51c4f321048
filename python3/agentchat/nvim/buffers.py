"""Creates the workspace of a chat: a directory with Neovim's buffers over it, or a remote one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol

from agentchat.core.frozen import frozen
from agentchat.nvim.lua_api import LuaFunction
from agentchat.rpc.background import Batcher
from agentchat.workspace.editor_port import (
    BufferEdit,
    BufferFlags,
    BufferMovedError,
    BufferSnapshot,
    LineEdits,
    SaveOutcome,
    TextForm,
)
from agentchat.workspace.files.transaction import ChangeFailed

TEXTS = 8
"""Buffers whose text is kept in the host, so that it is not sent again while it is the same."""


QUERIES = 500
"""Files that are looked for in one request, so that Neovim takes keys between two of them."""


class Requests(Protocol):
    """Requests answers of Lua."""

    async def request(self, name: LuaFunction, *args: Any) -> Any:
        """Call a function and return its answer."""


class NvimBuffers:
    """The buffers as Lua's ``files/buffers.lua`` reports them.

    What is asked in one iteration of the event loop is asked together, about resolved paths. The
    text of a buffer is sent only if its ``changedtick`` is another than that of the text that is
    kept here.
    """

    def __init__(self, lua: Requests, plain_save: bool = False) -> None:
        self._lua = lua
        self._looks = Batcher(self._look)
        self._texts: dict[str, BufferText] = {}
        self.plain_save = plain_save

    async def flags(self, path: str) -> BufferFlags | None:
        """Return the state of the loaded buffer of a file; ``None`` if there is none."""
        table = await self._looks.request({"path": path})
        return BufferFlags(**_flags(table)) if table else None

    async def snapshot(self, path: str) -> BufferSnapshot | None:
        """Return a loaded buffer with its text; ``None`` if there is none."""
        known = self._texts.get(path)
        query = {"path": path, "text": True}
        if known is not None:
            query |= {"buf": known.buffer, "changedtick": known.tick}
        table = await self._looks.request(query)
        if not table:
            return None
        if known is None or "text" in table:
            known = self._keep(path, _text(table))
        return _snapshot(table, known.text)

    async def unsaved(self) -> Mapping[str, BufferSnapshot]:
        """Return the buffers with unsaved changes, by path."""
        tables: Sequence[Mapping[str, Any]] = await self._lua.request("buffers.unsaved")
        return {table["path"]: _snapshot(table, _text(table).text) for table in tables}

    async def replace(
        self, path: str, tick: int, edits: LineEdits, new: tuple[bytes | None, TextForm]
    ) -> BufferEdit:
        """Make the edits as one undo step; ``new`` is the text after them, and its form."""
        text, form = new
        lines = [[first, last, list(added)] for first, last, added in edits]
        answer = await self._change("buffers.replace", path, tick, lines, form)
        self._keep(path, BufferText(answer["buf"], answer["changedtick"], text))
        return BufferEdit(answer["changedtick"], answer["undo"])

    async def _look(self, queries: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        answers: list[Any] = []
        for start in range(0, len(queries), QUERIES):
            part = list(queries[start : start + QUERIES])
            answers += await self._lua.request("buffers.look", part)
        return answers

    def _keep(self, path: str, text: BufferText) -> BufferText:
        self._texts.pop(path, None)
        self._texts[path] = text
        if len(self._texts) > TEXTS:
            del self._texts[next(iter(self._texts))]
        return text

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
        known = self._texts.get(path)
        # The user may have typed since the edit: then the text that is kept is not the one saved.
        unchanged = (
            known is not None
            and answer.get("unchanged", False)
            and answer["changedtick"] == known.tick + 1
        )
        if known is not None and unchanged:
            self._keep(path, replace(known, tick=known.tick + 1))
        return SaveOutcome(bool(answer["ok"]), answer.get("message", ""), unchanged)

    async def refresh(self) -> None:
        """Check all visible buffers for changes on disk."""
        await self._lua.request("buffers.refresh")

    async def reload(self, path: str) -> None:
        """Reload a loaded buffer from disk."""
        await self._lua.request("buffers.reload", path)


@frozen
class BufferText:
    """The text of a buffer, which it has as long as its ``changedtick`` is ``tick``."""

    buffer: int
    tick: int
    text: bytes | None


def _text(table: Mapping[str, Any]) -> BufferText:
    text = None if table["empty"] else table["text"].encode("utf-8", "surrogateescape")
    return BufferText(table["buf"], table["changedtick"], text)


def _flags(table: Mapping[str, Any]) -> dict[str, Any]:
    names = {"tick": "changedtick"}
    return {field.name: table[names.get(field.name, field.name)] for field in fields(BufferFlags)}


def _snapshot(table: Mapping[str, Any], text: bytes | None) -> BufferSnapshot:
    form = TextForm(bool(table["eol"]), bool(table["bomb"]), table["fileformat"])
    return BufferSnapshot(**_flags(table), text=text, form=form, encoding=table["encoding"])
