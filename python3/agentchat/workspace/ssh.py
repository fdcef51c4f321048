"""The workspace on another machine, reached with the user's ``ssh``.

A far end runs there with the plugin's own code (see ``farend``); this end keeps the connection and
begins it anew when it went.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.tools.ports import Applied, Command, Entry, Finished, Target, Zone
from agentchat.workspace.connection import Connection, OnOutput
from agentchat.workspace.destination import Destination
from agentchat.workspace.process import run
from agentchat.workspace.process.capture import Capture
from agentchat.workspace.process.sandbox import OFF
from agentchat.workspace.sshclient import Client

if TYPE_CHECKING:
    from agentchat.core.diff.changeset import ChangeSet


class SshWorkspace:
    """Files and programs of another machine, below and around one directory.

    Args:
        where: the machine and the directory.
        client: how to reach it.
        guarded: folders protected with all they hold, where they are inside the workspace.
    """

    def __init__(
        self, where: Destination, client: Client | None = None, guarded: Sequence[str] = ()
    ) -> None:
        self._where = where
        self._client = client or Client()
        self._guarded = list(guarded)
        self._root: str | None = None
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self._closed = False
        self.confinement = FarConfinement(self)

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
        if self._connection is not None:
            await self._connection.close()

    async def locate(self, path: str) -> Target:
        """Return the identity of a path as the model wrote it."""
        found = await self.ask("locate", path=path)
        owner = found["owner"] and tuple(found["owner"])
        attributes = tuple((name, value) for name, value in found["attributes"])
        anchor = found["anchor"] and tuple(found["anchor"])
        about = {"zone": Zone(found["zone"]), "owner": owner, "attributes": attributes}
        about["anchor"] = anchor
        return Target(**{**found, **about})

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

    async def list(self, path: str) -> Sequence[Entry]:
        """Return the entries of a directory, unsorted; raises OSError."""
        return [Entry(name, kind) for name, kind in await self.ask("list", path=path)]

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return nothing: the editor's buffers are files of another machine."""
        return {}

    async def apply(self, change: ChangeSet) -> tuple[Applied, ...]:
        """Make the change, all files or none; raises Stale or ToolError."""
        connection = await self._connected()
        try:
            await connection.ask("apply", files=[asdict(file) for file in change.files])
        except Unreachable as error:
            raise Unreachable(
                f"{error} Whether the files were changed is not known: read them again."
            ) from error
        return tuple(Applied(file.path) for file in change.files)

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> Finished:
        """Run a program there; its group is dead when this returns.

        One of the plugin's own runs here, if all it needs is its input.
        """
        if command.own and command.stdin is None:
            raise ToolError(f"{command.argv[0]} is not on {self.host}.")
        if command.own:
            return await run.run(command, on_output)
        capture = Capture(command.capture, command.overflow)
        try:
            ended = await self._run(command, _both(capture.add, on_output))
        finally:
            capture.close()
        return Finished(
            ended["code"], capture.head, capture.tail, capture.dropped, bytes(ended["stderr"])
        )

    async def _run(self, command: Command, on_output: OnOutput) -> Any:
        # All of the output comes here as it is written; nothing of it is kept there.
        sent = {**asdict(command), "overflow": None, "capture": 2}
        connection = await self._connected()
        wanted = self.confinement.wanted
        return await connection.ask("run", on_output, command=sent, confinement=wanted)

    async def environment(self) -> Mapping[str, str]:
        """Return the variables that programs there have by default."""
        found: dict[str, str] = await self.ask("environment")
        return found

    async def evidence(
        self, commands: Sequence[Sequence[str]], command: str, cwd: str
    ) -> tuple[str, ...]:
        """Return a line for each file that decides what a shell command does in ``cwd``."""
        words = [list(texts) for texts in commands]
        return tuple(await self.ask("evidence", commands=words, command=command, cwd=cwd))

    async def ask(self, op: str, **given: Any) -> Any:
        """Ask the far end, connecting first if need be."""
        return await (await self._connected()).ask(op, **given)

    async def _connected(self) -> Connection:
        if self._connection is not None and self._connection.alive:
            return self._connection
        if self._closed:
            raise Unreachable(f"The connection to {self.host} is closed.")
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._connect())
            self._connecting.add_done_callback(self._settled)
        # Several calls wait for one attempt, and go on or fail together.
        return await asyncio.shield(self._connecting)

    def _settled(self, attempt: asyncio.Task[Connection]) -> None:
        self._connecting = None
        if not attempt.cancelled() and attempt.exception() is None:
            self._connection = attempt.result()

    async def _connect(self) -> Connection:
        old, self._connection = self._connection, None
        if old is not None:
            await old.close()
        connection = await Connection.start(self._where, self._client)
        try:
            self._enter(await self._opened(connection))
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _opened(self, connection: Connection) -> str:
        """Open the directory there; return its resolved path."""
        try:
            return str(await connection.ask("open", path=self._where.path, guarded=self._guarded))
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unreachable(
                f"Cannot open {self._where.path} on {self.host}: {reason}. Check the path."
            ) from error

    def _enter(self, root: str) -> None:
        if self._root not in (None, root):
            raise Unreachable(
                f"{self._where.path} on {self.host} was {self._root} and is {root} now. "
                "Open a new chat with :AgentChat! to work there."
            )
        self._root = root


class FarConfinement:
    """What the user wants of a sandbox, and whether there can be one on the other machine."""

    def __init__(self, workspace: SshWorkspace) -> None:
        self._workspace = workspace
        self._description = ""
        self.wanted = OFF

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if they are not."""
        return "" if self.wanted == OFF else self._description

    async def look(self) -> None:
        """Find out whether a sandbox works there."""
        if self.wanted != OFF:
            self._description = str(await self._workspace.ask("confines", wanted=self.wanted))


def _both(first: OnOutput, second: OnOutput | None) -> OnOutput:
    def took(data: bytes) -> None:
        first(data)
        if second is not None:
            second(data)

    return took
