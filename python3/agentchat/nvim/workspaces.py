"""Creates the workspace of a chat: a directory with Neovim's buffers over it, or a remote one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol

from agentchat.core.frozen import frozen
from agentchat.core.tools.ports import Workspace
from agentchat.models.select import environment_keys
from agentchat.nvim.lua_api import LuaApi, LuaFunction
from agentchat.nvim.settings import Settings
from agentchat.rpc.background import Batcher
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.editor_port import (
    BufferEdit,
    BufferFlags,
    BufferMovedError,
    BufferSnapshot,
    LineEdits,
    SaveOutcome,
    TextForm,
)
from agentchat.workspace.files import cleanup
from agentchat.workspace.files.transaction import ChangeFailed
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.launcher import MIB, OverlayLauncher
from agentchat.workspace.overlay.workspace import OverlayWorkspace
from agentchat.workspace.remote.command import PREFIX, read_command
from agentchat.workspace.remote.ssh import (
    URL_PREFIX,
    SshCommand,
    SshLauncher,
    read_destination,
)
from agentchat.workspace.remote.workspace import Launcher, RemoteWorkspace

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


OVERLAYS = "overlay"
"""The folder below the state folder with the overlays of chats in stage mode."""

REMOTE_PROJECTS = "remote"
"""The folder below the state folder with rules for projects on other machines."""


def open_workspace(
    payload: Mapping[str, Any], settings: Settings, guarded: Sequence[str], lua: LuaApi
) -> Workspace:
    """Return the workspace at ``place`` on another machine, else at ``cwd`` on this one.

    Args:
        guarded: protected folders, with everything below them.

    Raises:
        UserError: the place is not valid.
    """
    place = payload.get("place")
    if place:
        return RemoteWorkspace(_launcher(place, payload["cwd"], settings), guarded)
    local = LocalWorkspace(os.path.realpath(payload["cwd"]), guarded)
    return BuffersWorkspace(local, NvimBuffers(lua, settings.plain_save))


ISOLATED = "isolated"
"""The folder below the state folder with the overlays of commands that run isolated."""


def open_overlay(
    workspace: Workspace, folder: Path, settings: Settings, guarded: Sequence[str]
) -> OverlayWorkspace | None:
    """Return an overlay of a chat; ``None`` for a workspace on another machine.

    Args:
        folder: where the overlay keeps its files, below the state folder.
        guarded: protected folders; of these, the state folder is hidden.
    """
    if workspace.host:
        return None
    launcher = OverlayLauncher(
        workspace.root,
        OverlayFolder(folder),
        hidden=(str(folder.parent.parent),),
        quota=settings.stage_quota_mb * MIB,
        variables=_without_keys(settings),
    )
    return OverlayWorkspace(launcher, workspace, guarded)


def _without_keys(settings: Settings) -> dict[str, str]:
    """Return the variables of this process without the API keys of models."""
    keys = environment_keys(settings.model, os.environ)
    return {name: value for name, value in os.environ.items() if value not in keys}


def is_remote(place: str) -> bool:
    """Whether this names a workspace on another machine, not a directory on this one."""
    return place.startswith((URL_PREFIX, PREFIX))


def project_folder(workspace: Workspace, place: str, state: Path) -> str:
    """Return the folder on this machine with the rules and custom tools for a workspace.

    Files on another machine cannot be trusted here: rules for it are kept in the state folder.
    """
    if not workspace.host:
        return workspace.root
    digest = hashlib.sha256(place.encode()).hexdigest()
    return str(state / REMOTE_PROJECTS / digest[:16])


class LocalLeftovers:
    """The leftovers on this machine."""

    def put_back(self, paths: Iterable[str]) -> None:
        """Rename files that were set aside to their own names."""
        cleanup.restore_originals(paths)

    def sweep(self, made: Mapping[str, int]) -> None:
        """Remove temporary files beside each path, and the number of folders made for it."""
        cleanup.remove_leftovers(made)


def _launcher(place: str, cwd: str, settings: Settings) -> Launcher:
    """Return how the server of a remote workspace is started; raises UserError."""
    environment = _without_keys(settings)
    if place.startswith(PREFIX):
        return read_command(place, cwd, environment)
    ssh = SshCommand(settings.ssh_command, settings.ssh_python, environment)
    return SshLauncher(read_destination(place), ssh)
