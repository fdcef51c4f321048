"""The workspace of a chat that stages everything: tools and commands work on top of the project.

Its server runs in an overlay (``namespace``) and is started with the first call that needs it. What
was changed stays in the upper folder when the server ends, until it is applied or discarded.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.workspace import Command, ProcessResult, SandboxSetting, Workspace
from agentchat.workspace.overlay.changes import OverlayChanges
from agentchat.workspace.overlay.client import NamespaceClient
from agentchat.workspace.overlay.launcher import (
    OverlayLauncher,
    environment_inside,
    why_impossible,
)
from agentchat.workspace.overlay.secret_files import SecretFiles
from agentchat.workspace.process.sandbox import OFF
from agentchat.workspace.remote.client import WorkspaceClient
from agentchat.workspace.remote.workspace import RemoteWorkspace

FREE = " Remove files, or discard the changes."


class OverlayWorkspace(RemoteWorkspace):
    """An overlay over a project on this machine.

    Args:
        launcher: starts its server; ``launcher.folder`` keeps the changes.
        project: the workspace below, with the user's buffers.
        protected: folders that are protected with all their content.
    """

    def __init__(
        self,
        launcher: OverlayLauncher,
        project: Workspace,
        protected: Sequence[str] = (),
    ) -> None:
        super().__init__(launcher, protected)
        self._overlay = launcher
        self._project = project
        self._lock = asyncio.Lock()
        self._began: int | None = None
        self._commands: NamespaceClient | None = None
        self._secrets = SecretFiles(launcher.root)
        upper = str(launcher.folder.upper)
        self.changes = OverlayChanges(launcher.root, upper, project.read)
        self.confinement = NoSandbox()

    @property
    def host(self) -> str:
        """Empty: it is on the user's own machine."""
        return ""

    @property
    def root(self) -> str:
        """The directory of the project."""
        return self._overlay.root

    async def ready(self) -> None:
        """Start the server if none runs; raises Unreachable with the reason and what to do."""
        reason = self.why_impossible()
        if reason:
            raise Unreachable(reason)
        await super().ready()

    def why_impossible(self) -> str:
        """Return why no overlay can even be tried here; empty if it can be."""
        return why_impossible(self._overlay.root, self._overlay.folder.path)

    async def _start(self) -> WorkspaceClient:
        try:
            await asyncio.to_thread(self._overlay.folder.prepare, self._overlay.root)
        except OSError as error:
            reason = f"{error.strerror or error}: {error.filename}"
            raise Unreachable(f"No overlay works here ({reason}).") from error
        await self._close_commands()
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._commands = NamespaceClient(here)
        with there:
            launcher = replace(self._overlay, connection=there.fileno())
            return await self._start_by(launcher, pass_fds=(there.fileno(),))

    async def _connect_commands(self) -> NamespaceClient:
        if self._commands is not None and not self._commands.alive:
            await self.disconnect()
        await self._connect()
        assert self._commands is not None
        return self._commands

    async def disconnect(self) -> None:
        """End the server and all that runs in the overlay; the next call starts it again."""
        await super().disconnect()
        await self._close_commands()

    async def _close_commands(self) -> None:
        if self._commands is not None:
            await self._commands.close()
            self._commands = None

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program in the overlay; raises ToolError if a limit stopped it.

        A program of the plugin sees the same files as its tools do.
        """
        if command.own:
            # By its name it is looked up and prepared there; a path is one of the plugin.
            own = "/" not in command.argv[0]
            return await super().run(replace(command, confine=False, own=own), on_output)
        commands = await self._connect_commands()
        self._began = time.time_ns()
        inside = replace(command, env=environment_inside(command.env, self._overlay.home))
        hidden = {"hidden": await asyncio.to_thread(self._hide_secrets)}
        limits = self._overlay.limits
        ended = await commands.run(inside, hidden, limits, on_output, self.changes.size)
        if ended.stopped:
            advice = FREE if ended.stopped == "quota" else ""
            raise ToolError(limits.explain(ended.stopped) + advice)
        return replace(ended.result, ended=ended.ended)

    def _hide_secrets(self) -> list[tuple[str, str, str]]:
        return self._overlay.folder.hide(self._secrets.find())

    async def sync(self) -> None:
        """Write the texts of unsaved buffers into the overlay, unless the agent changed the file.

        What the agent did not change follows the buffer.
        """
        async with self._lock:
            changes = [
                change
                for path, text in (await self._project.unsaved()).items()
                if path.startswith(self.root.rstrip("/") + "/")
                and (change := await self._buffer_change(path, text)) is not None
            ]
            if changes:
                await self.apply(ChangeSet(tuple(changes)))

    async def _buffer_change(self, path: str, text: bytes) -> FileChange | None:
        if self.changes.assumed(path) == text:
            return None
        try:
            current: bytes | None = await self.read(path)
        except OSError:
            current = None
        if self.changes.is_changed(path, current):
            return None
        self.changes.assume(path, text)
        return None if current == text else FileChange(path, current, text)

    async def update(self) -> list[FileChange]:
        """Return what changed since the last time, see ``OverlayChanges.update``."""
        async with self._lock:
            return await self.changes.update(self._began)

    def has_changes(self) -> bool:
        """Whether the folder holds changes, perhaps of an earlier process."""
        return self._overlay.folder.holds_changes()

    async def pause(self) -> None:
        """End the server and everything that runs in the overlay; the changes stay."""
        await self.disconnect()

    async def clear(self) -> None:
        """Forget all changes: the overlay shows the project as it is."""
        async with self._lock:
            await self.disconnect()
            await asyncio.to_thread(self._overlay.folder.clear)
            self.changes.forget()

    async def close(self) -> None:
        """End the server; remove the folder, unless it holds changes to offer again."""
        await super().close()
        await self._close_commands()
        folder = self._overlay.folder
        if await self._has_staged_nothing():
            await asyncio.to_thread(folder.remove)
        folder.unlock()

    async def _has_staged_nothing(self) -> bool:
        """Whether the upper folder changes nothing: the kernel leaves empty copies of folders."""
        if not self._overlay.folder.holds_changes():
            return True
        await self.update()
        return self.changes.changes_nothing


class NoSandbox:
    """The overlay itself confines commands, whatever the setting is."""

    setting: SandboxSetting = OFF

    async def probe(self) -> None:
        """Do nothing."""

    def describe(self) -> str:
        """Return nothing: no sandbox of its own is used."""
        return ""
