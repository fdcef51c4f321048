"""Where one chat works: its workspace, and what must be there before anything is asked of it."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from agentchat.core.errors import Unreachable
from agentchat.core.tools.ports import Workspace
from agentchat.models.choice import secrets
from agentchat.nvim.buffers import NvimBuffers
from agentchat.nvim.lua_api import Bridge
from agentchat.nvim.settings import Settings
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.files import cleanup
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.ssh.destination import SshCommand, read_destination
from agentchat.workspace.ssh.workspace import SshWorkspace

FAR_PROJECTS = "remote"
"""Below the state folder: what of other machines' projects is kept on this one."""


class Confining(Protocol):
    """What the user wants of a sandbox for commands, and what they get."""

    wanted: str

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if they are not."""


class Site:
    """A workspace on this machine, which is always ready.

    ``project`` is the folder of this machine whose own rules and tools count for it.
    """

    def __init__(self, workspace: Workspace, confinement: Confining, project: str) -> None:
        self.workspace = workspace
        self.confinement = confinement
        self.project = project

    def warm_up(self, tell: Callable[[str], None]) -> None:
        """Get ready in the background; ``tell`` takes why that failed, in one line."""

    def when_ready(self, work: Callable[[], None], refuse: Callable[[str], None]) -> None:
        """Do ``work`` once the workspace can be reached; else say why it cannot."""
        work()

    def put_back(self, paths: Iterable[str]) -> None:
        """Give files that a process set aside before it was killed their names back."""
        cleanup.put_back(paths)

    def sweep(self, made: Mapping[str, int]) -> None:
        """Remove what a process that was killed while it wrote these files left beside them."""
        cleanup.sweep(made)

    def stop_waiting(self) -> bool:
        """Forget the work that waits; return whether there was any."""
        return False

    async def close(self) -> None:
        """Let go of the workspace."""


class FarSite(Site):
    """A workspace on another machine; what is asked of it waits for the connection."""

    def __init__(self, workspace: SshWorkspace, project: str) -> None:
        super().__init__(workspace, workspace.confinement, project)
        self._far = workspace
        self._waiting: set[asyncio.Task[None]] = set()
        self._warming: asyncio.Task[None] | None = None

    def warm_up(self, tell: Callable[[str], None]) -> None:
        """Connect; what fails is told unless work that waits for it tells it, too."""

        def told(problem: str) -> None:
            if not self._waiting:
                tell(problem)

        self._warming = asyncio.ensure_future(self._connected(lambda: None, told))

    def when_ready(self, work: Callable[[], None], refuse: Callable[[str], None]) -> None:
        """Do ``work`` once there is a connection; else say in one line why there is none."""
        task = asyncio.ensure_future(self._connected(work, refuse))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _connected(self, work: Callable[[], None], refuse: Callable[[str], None]) -> None:
        try:
            await self._far.ready()
            await self._far.confinement.look()
        except Unreachable as problem:
            refuse(str(problem))
        else:
            work()

    def put_back(self, paths: Iterable[str]) -> None:
        """Do nothing: these are no files of this machine."""

    def sweep(self, made: Mapping[str, int]) -> None:
        """Do nothing, as above."""

    def stop_waiting(self) -> bool:
        """Forget the work that waits; return whether there was any."""
        waiting = list(self._waiting)
        for task in waiting:
            task.cancel()
        return bool(waiting)

    async def close(self) -> None:
        """End the connection, and all that runs there."""
        if self._warming is not None:
            self._warming.cancel()
        await self._far.close()


def choose_site(
    payload: Mapping[str, Any],
    settings: Settings,
    guarded: Sequence[str],
    bridge: Bridge,
    state: Path,
) -> Site:
    """Return where a chat works, by its ``place`` on another machine, else its ``cwd`` on this one.

    Args:
        guarded: folders protected with all they hold.
        state: the folder of the plugin's own files.

    Raises:
        UserError: the place is none.
    """
    if payload.get("place"):
        return _far_site(payload["place"], settings, guarded, state)
    local = LocalWorkspace(os.path.realpath(payload["cwd"]), guarded)
    workspace = BuffersWorkspace(local, NvimBuffers(bridge, settings.plain_save))
    return Site(workspace, local.confinement, local.root)


def _far_site(url: str, settings: Settings, guarded: Sequence[str], state: Path) -> FarSite:
    """Return a directory of another machine.

    Its files are not this machine's to trust: rules for it are kept in the state folder.
    """
    known = secrets(settings.model, os.environ)
    environment = {name: value for name, value in os.environ.items() if value not in known}
    ssh = SshCommand(settings.ssh_command, settings.ssh_python, environment)
    digest = hashlib.sha256(url.encode()).hexdigest()
    workspace = SshWorkspace(read_destination(url), ssh, guarded)
    return FarSite(workspace, str(state / FAR_PROJECTS / digest[:16]))
