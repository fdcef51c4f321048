"""Creates the workspace of a chat: a directory on this machine or on another one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

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
    if payload.get("place"):
        return _ssh_workspace(payload["place"], settings, guarded)
    local = LocalWorkspace(os.path.realpath(payload["cwd"]), guarded)
    return BuffersWorkspace(local, NvimBuffers(lua, settings.plain_save))


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


def _ssh_workspace(url: str, settings: Settings, guarded: Sequence[str]) -> SshWorkspace:
    keys = environment_keys(settings.model, os.environ)
    environment = {name: value for name, value in os.environ.items() if value not in keys}
    ssh = SshCommand(settings.ssh_command, settings.ssh_python, environment)
    return SshWorkspace(read_destination(url), ssh, guarded)
