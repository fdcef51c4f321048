"""The workspace of a chat: a directory with an editor's buffers over it, or a remote one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentchat.app.settings import Settings
from agentchat.core.workspace import Workspace
from agentchat.models.select import environment_keys
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.editor_port import Editor
from agentchat.workspace.files import cleanup
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.operations import launcher as operations
from agentchat.workspace.overlay.client import DEFAULT_LIMITS, Limits
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.isolation import Isolation
from agentchat.workspace.overlay.launcher import OverlayLauncher
from agentchat.workspace.overlay.workspace import OverlayWorkspace
from agentchat.workspace.remote.command import PREFIX, read_command
from agentchat.workspace.remote.ssh import URL_PREFIX, SshCommand, SshLauncher, read_destination
from agentchat.workspace.remote.workspace import Launcher, RemoteWorkspace

OVERLAYS = "overlay"
"""The folder below the state folder with the overlays of chats in stage mode."""

ISOLATED = "isolated"
"""The folder below the state folder with the overlays of commands that run isolated."""

REMOTE_PROJECTS = "remote"
"""The folder below the state folder with rules for projects on other machines."""


def open_workspace(
    cwd: str, place: str, settings: Settings, guarded: Sequence[str], editor: Editor
) -> Workspace:
    """Return the workspace at ``place`` on another machine, else at ``cwd`` on this one.

    Args:
        place: a URL; empty for this machine.
        guarded: protected folders, with everything below them.
        editor: the editor whose buffers a workspace on this machine has.

    Raises:
        UserError: the place is not valid.
    """
    if place:
        return RemoteWorkspace(_launcher(place, cwd, settings), guarded)
    return BuffersWorkspace(LocalWorkspace(os.path.realpath(cwd), guarded), editor)


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
        visible=settings.stage_visible,
        limits=Limits(quota_mb=settings.stage_quota_mb),
        variables=_without_keys(settings),
    )
    return OverlayWorkspace(launcher, workspace, guarded)


def open_isolation(
    workspace: Workspace, folder: Path, settings: Settings, limits: Limits = DEFAULT_LIMITS
) -> Isolation | None:
    """Return what runs commands isolated; ``None`` for a workspace on another machine.

    Args:
        folder: where it keeps its files, in a folder of the state folder, which is hidden.
    """
    if workspace.host:
        return None
    return Isolation(
        workspace,
        OverlayFolder(folder),
        hidden=(str(folder.parent.parent),),
        visible=settings.stage_visible,
        limits=replace(limits, quota_mb=settings.stage_quota_mb),
        variables=_without_keys(settings),
    )


def _without_keys(settings: Settings) -> dict[str, str]:
    """Return the variables of this process without the API keys of models."""
    keys = environment_keys(settings.model, os.environ)
    return {name: value for name, value in os.environ.items() if value not in keys}


def is_remote(place: str) -> bool:
    """Whether this names a workspace on another machine, not a directory on this one."""
    return place.startswith((URL_PREFIX, PREFIX, operations.PREFIX))


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
    if place.startswith(operations.PREFIX):
        return operations.read_operations(place, cwd, environment)
    ssh = SshCommand(settings.ssh_command, settings.ssh_python, environment)
    return SshLauncher(read_destination(place), ssh)
