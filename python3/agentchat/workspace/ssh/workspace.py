"""The workspace on another machine, reached with the user's ``ssh``.

A server runs there with the plugin's own code (see ``server``); this end keeps the connection, and
connects again when it was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.tools.ports import (
    AppliedFile,
    Command,
    DirectoryEntry,
    FileTarget,
    ProcessResult,
    Zone,
)
from agentchat.rpc.errors import Disconnected
from agentchat.rpc.peer import OnProgress
from agentchat.workspace.process import run
from agentchat.workspace.process.capture import Capture
from agentchat.workspace.process.sandbox import OFF
from agentchat.workspace.ssh.client import StartError, WorkspaceClient
from agentchat.workspace.ssh.destination import (
    CONNECT_SECONDS,
    Destination,
    SshCommand,
    explain_failure,
)

if TYPE_CHECKING:
    from agentchat.core.diff.changeset import ChangeSet

START_SECONDS = CONNECT_SECONDS + 15


class SshWorkspace:
    """Files and programs of another machine, below and around one directory.

    Args:
        where: the machine and the directory.
        ssh: how to reach it.
        guarded: folders protected with all they hold, where they are inside the workspace.
    """

    def __init__(
        self, where: Destination, ssh: SshCommand | None = None, guarded: Sequence[str] = ()
    ) -> None:
        self._where = where
        self._ssh = ssh or SshCommand()
        self._guarded = list(guarded)
        self._root: str | None = None
        self._client: WorkspaceClient | None = None
        self._connecting: asyncio.Task[WorkspaceClient] | None = None
        self._closed = False
        self.confinement = RemoteConfinement(self)

    @property
    def root(self) -> str:
        """The directory, resolved once there was a connection."""
        return self._root or self._where.path

    @property
    def host(self) -> str:
        """The machine, as the user calls it."""
        return self._where.machine

    async def ready(self) -> None:
        """Connect if there is no connection; raises Unreachable in one line."""
        await self._connected()

    async def close(self) -> None:
        """End the connection, and with it all that runs there."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path as the model wrote it."""
        found = await self.ask("locate", path=path)
        owner = found["owner"] and tuple(found["owner"])
        attributes = tuple((name, value) for name, value in found["attributes"])
        anchor = found["anchor"] and tuple(found["anchor"])
        about = {"zone": Zone(found["zone"]), "owner": owner, "attributes": attributes}
        about["anchor"] = anchor
        return FileTarget(**{**found, **about})

    async def kind(self, path: str) -> str | None:
        """Return ``file``, ``directory``, ``other`` or ``None`` (missing)."""
        kind = await self.ask("kind", path=path)
        return None if kind is None else str(kind)

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return int(await self.ask("size", path=path))

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file, at most ``limit`` from ``start``; raises OSError."""
        return bytes(await self.ask("read", path=path, limit=limit, start=start))

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory, unsorted; raises OSError."""
        return [DirectoryEntry(name, kind) for name, kind in await self.ask("list", path=path)]

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return nothing: the editor's buffers are files of another machine."""
        return {}

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change, all files or none; raises Stale or ToolError."""
        client = await self._connected()
        files = [asdict(file) for file in change.files]
        try:
            # However long it takes: half a change must not be taken for none.
            await client.request("apply", {"files": files}, cancel_seconds=None)
        except Disconnected as error:
            doubt = "It is not known whether the files were changed: read them again."
            raise Unreachable(f"{self._lost(error)} {doubt}") from error
        return tuple(AppliedFile(file.path) for file in change.files)

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program there; its group is dead when this returns.

        One of the plugin's own runs here, if all it needs is its input.
        """
        if command.own and command.stdin is None:
            raise ToolError(f"{command.argv[0]} is not on {self.host}.")
        if command.own:
            return await run.run(command, on_output)
        capture = Capture(command.capture, command.overflow)
        try:
            ended = await self._run(command, _pass_to(capture.add, on_output))
        finally:
            capture.close()
        return ProcessResult(
            ended["code"], capture.head, capture.tail, capture.dropped, bytes(ended["stderr"])
        )

    async def _run(self, command: Command, on_output: OnProgress) -> Any:
        # All of the output comes here as it is written; nothing of it is kept there.
        sent = {**asdict(command), "overflow": None, "capture": 2}
        params = {"command": sent, "confinement": self.confinement.setting}
        return await self._request("run", params, on_output)

    async def environment(self) -> Mapping[str, str]:
        """Return the variables that programs there have by default."""
        found: dict[str, str] = await self.ask("environment")
        return found

    async def fingerprint(
        self, commands: Sequence[Sequence[str]], command: str, cwd: str
    ) -> tuple[str, ...]:
        """Return a line for each file that decides what a shell command does in ``cwd``."""
        words = [list(texts) for texts in commands]
        return tuple(await self.ask("fingerprint", commands=words, command=command, cwd=cwd))

    async def ask(self, method: str, **params: Any) -> Any:
        """Ask the server, connecting first if need be."""
        return await self._request(method, params)

    async def _request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> Any:
        client = await self._connected()
        try:
            return await client.request(method, params, on_progress)
        except Disconnected as error:
            raise Unreachable(self._lost(error)) from error

    def _lost(self, error: Disconnected) -> str:
        after = "What ran there was stopped; the next call connects again."
        return f"Lost the connection to {self.host}: {error}. {after}"

    async def _connected(self) -> WorkspaceClient:
        if self._client is not None and self._client.alive:
            return self._client
        if self._closed:
            raise Unreachable(f"The connection to {self.host} is closed.")
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._connect())
            self._connecting.add_done_callback(self._finish_connecting)
        # Several calls wait for one attempt, and go on or fail together.
        return await asyncio.shield(self._connecting)

    def _finish_connecting(self, attempt: asyncio.Task[WorkspaceClient]) -> None:
        self._connecting = None
        if not attempt.cancelled() and attempt.exception() is None:
            self._client = attempt.result()

    async def _connect(self) -> WorkspaceClient:
        old, self._client = self._client, None
        if old is not None:
            await old.close()
        client = await self._start()
        try:
            self._enter(await self._open(client))
        except BaseException:
            await client.close()
            raise
        return client

    async def _start(self) -> WorkspaceClient:
        try:
            argv = self._ssh.argv(self._where)
            return await WorkspaceClient.start(argv, self._ssh.environment, START_SECONDS)
        except OSError as error:
            raise Unreachable(self._ssh.explain_missing(error)) from error
        except StartError as error:
            raise Unreachable(explain_failure(self._where, str(error))) from error

    async def _open(self, client: WorkspaceClient) -> str:
        """Open the directory there; return its resolved path."""
        path = self._where.path
        try:
            return str(await client.request("open", {"path": path, "guarded": self._guarded}))
        except Disconnected as error:
            raise Unreachable(self._lost(error)) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unreachable(
                f"Cannot open {path} on {self.host}: {reason}. Check the path."
            ) from error

    def _enter(self, root: str) -> None:
        if self._root not in (None, root):
            raise Unreachable(
                f"{self._where.path} on {self.host} was {self._root} and is {root} now. "
                "Open a new chat with :AgentChat! to work there."
            )
        self._root = root


class RemoteConfinement:
    """What the user wants of a sandbox, and whether there can be one on the other machine."""

    def __init__(self, workspace: SshWorkspace) -> None:
        self._workspace = workspace
        self._description = ""
        self.setting = OFF

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if they are not."""
        return "" if self.setting == OFF else self._description

    async def probe(self) -> None:
        """Find out whether a sandbox works there."""
        if self.setting != OFF:
            self._description = str(await self._workspace.ask("confines", wanted=self.setting))


def _pass_to(first: OnProgress, second: OnProgress | None) -> OnProgress:
    def add(data: bytes) -> None:
        first(data)
        if second is not None:
            second(data)

    return add
