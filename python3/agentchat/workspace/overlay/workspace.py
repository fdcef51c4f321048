"""The workspace of a chat that stages everything: tools and commands work on top of the project.

Its server runs in an overlay (``namespace``) and is started with the first call that needs it. What
was changed stays in the upper folder when the server ends, until it is applied or discarded.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.workspace import Command, ProcessResult, SandboxSetting, Workspace
from agentchat.workspace.overlay.bubblewrap import find_bubblewrap
from agentchat.workspace.overlay.changes import OverlayChanges, format_size
from agentchat.workspace.overlay.launcher import OverlayLauncher, why_impossible
from agentchat.workspace.process.sandbox import OFF
from agentchat.workspace.remote.client import WorkspaceClient
from agentchat.workspace.remote.workspace import RemoteWorkspace

QUOTA_SECONDS = 0.5
"""Time between two looks at the size of the upper folder while a command runs."""


class OverlayWorkspace(RemoteWorkspace):
    """An overlay over a project on this machine.

    Args:
        launcher: starts its server; ``launcher.folder`` keeps the changes.
        project: the workspace below, with the user's buffers.
        protected: folders that are protected with all their content.
        find_bubblewrap: returns the program that is tried first, if there is one.
    """

    def __init__(
        self,
        launcher: OverlayLauncher,
        project: Workspace,
        protected: Sequence[str] = (),
        find_bubblewrap: Callable[[], str] = find_bubblewrap,
    ) -> None:
        super().__init__(launcher, protected)
        self._find_bubblewrap = find_bubblewrap
        self._overlay = launcher
        self._project = project
        self._lock = asyncio.Lock()
        self._began: int | None = None
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
        program = await asyncio.to_thread(self._find_bubblewrap)
        if program:
            with contextlib.suppress(Unreachable):
                return await self._start_by(program)
        return await self._start_by("")

    async def _start_by(self, bubblewrap: str) -> WorkspaceClient:
        self._use(replace(self._overlay, bubblewrap=bubblewrap))
        try:
            await asyncio.to_thread(self._overlay.folder.prepare, self._overlay.root)
        except OSError as error:
            reason = f"{error.strerror or error}: {error.filename}"
            raise Unreachable(f"No overlay works here ({reason}).") from error
        return await super()._start()

    def _use(self, launcher: OverlayLauncher) -> None:
        self._launcher = self._overlay = launcher

    @property
    def way(self) -> str:
        """How the last server was started, for the user."""
        program = self._overlay.bubblewrap
        return f"bubblewrap, {program}" if program else "user and mount namespaces of Linux"

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program in the overlay; raises ToolError if the changes exceed the quota.

        A program of the plugin runs there, too: it must see the same files.
        """
        if command.network != self._overlay.network and not command.own:
            await self._set_network(command.network)
        if not command.own:
            self._began = time.time_ns()
        inside = replace(command, own=False, confine=False)
        running = asyncio.ensure_future(super().run(inside, on_output))
        watching = asyncio.ensure_future(self._wait_until_full())
        try:
            await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watching.cancel()
            if not running.done():
                running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        if running.cancelled():
            raise ToolError(self._full())
        return running.result()

    async def _wait_until_full(self) -> None:
        """Return when the changes exceed the quota."""
        size, seconds = 0, 0.0
        while size <= self._overlay.quota:
            # A look takes long where there is much to look at: most of the time, do not.
            await asyncio.sleep(max(QUOTA_SECONDS, 10 * seconds))
            began = time.monotonic()
            size = await asyncio.to_thread(self.changes.size)
            seconds = time.monotonic() - began

    def _full(self) -> str:
        return (
            f"The command was stopped: the staged changes exceed {format_size(self._overlay.quota)}"
            " (stage.quota_mb). Remove files, or discard the changes."
        )

    async def _set_network(self, network: bool) -> None:
        """Start another server, with or without network: namespaces cannot be changed."""
        await self.disconnect()
        self._use(replace(self._overlay, network=network))

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
