"""Creates the workspace of a chat: a directory with Neovim's buffers over it, or a remote one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentchat.core.tools.ports import Workspace
from agentchat.models.select import environment_keys
from agentchat.nvim.lua_api import LuaApi, LuaFunction
from agentchat.nvim.settings import Settings
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.editor_port import (
    BufferEdit,
    BufferMovedError,
    BufferSnapshot,
    LineEdits,
    SaveOutcome,
    TextForm,
)
from agentchat.workspace.files import cleanup
from agentchat.workspace.files.transaction import ChangeFailed
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.remote.command import PREFIX, read_command
from agentchat.workspace.remote.ssh import (
    URL_PREFIX,
    SshCommand,
    SshLauncher,
    read_destination,
)
from agentchat.workspace.remote.workspace import Launcher, RemoteWorkspace


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
    keys = environment_keys(settings.model, os.environ)
    environment = {name: value for name, value in os.environ.items() if value not in keys}
    if place.startswith(PREFIX):
        return read_command(place, cwd, environment)
    ssh = SshCommand(settings.ssh_command, settings.ssh_python, environment)
    return SshLauncher(read_destination(place), ssh)
