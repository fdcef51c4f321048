"""Chooses the workspace of a chat: a directory of this machine, or of another one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentchat.agent.undo.recovery import LeftoverFiles
from agentchat.core.tools.ports import Workspace
from agentchat.models.select import environment_keys
from agentchat.nvim.buffers import NvimBuffers
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.settings import Settings
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.files import cleanup
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.ssh.destination import SshCommand, read_destination
from agentchat.workspace.ssh.workspace import SshWorkspace

FAR_PROJECTS = "remote"
"""Below the state folder: what this machine keeps about the projects of others."""


def open_workspace(
    payload: Mapping[str, Any], settings: Settings, guarded: Sequence[str], lua: LuaApi
) -> Workspace:
    """Return where a chat works: its ``place`` on another machine, else its ``cwd`` on this one.

    Args:
        guarded: folders protected with all they hold.

    Raises:
        UserError: the place is none.
    """
    if payload.get("place"):
        return _far_workspace(payload["place"], settings, guarded)
    local = LocalWorkspace(os.path.realpath(payload["cwd"]), guarded)
    return BuffersWorkspace(local, NvimBuffers(lua, settings.plain_save))


def project_folder(workspace: Workspace, place: str, state: Path) -> str:
    """Return the folder of this machine whose rules and tools count for a workspace.

    The files of another machine are not this machine's to trust: rules for it are kept in the
    state folder.
    """
    if not workspace.host:
        return workspace.root
    digest = hashlib.sha256(place.encode()).hexdigest()
    return str(state / FAR_PROJECTS / digest[:16])


def leftovers_of(workspace: Workspace) -> LeftoverFiles:
    """Return what removes the files that a killed process left behind in a workspace."""
    return NoLeftovers() if workspace.host else LocalLeftovers()


class LocalLeftovers:
    """Those of this machine."""

    def put_back(self, paths: Iterable[str]) -> None:
        """Give files that were set aside their names back."""
        cleanup.restore_originals(paths)

    def sweep(self, made: Mapping[str, int]) -> None:
        """Remove temporary files beside paths, and the so many folders made for each of them."""
        cleanup.remove_leftovers(made)


class NoLeftovers:
    """Those of another machine, which its own end removes."""

    def put_back(self, paths: Iterable[str]) -> None:
        """Do nothing: these are no files of this machine."""

    def sweep(self, made: Mapping[str, int]) -> None:
        """Do nothing, as above."""


def _far_workspace(url: str, settings: Settings, guarded: Sequence[str]) -> SshWorkspace:
    known = environment_keys(settings.model, os.environ)
    environment = {name: value for name, value in os.environ.items() if value not in known}
    ssh = SshCommand(settings.ssh_command, settings.ssh_python, environment)
    return SshWorkspace(read_destination(url), ssh, guarded)
