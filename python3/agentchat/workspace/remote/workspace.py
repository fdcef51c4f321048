"""The workspace that a server process serves: over ssh, in a container, in an overlay.

The server runs there with the code of the plugin (see ``server``). This end keeps the connection
and connects again after it was lost. A ``Launcher`` knows how the server is started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.shell.operands import CommandSurvey, CommandWords
from agentchat.core.shell.parse import LocatedOperand
from agentchat.core.workspace import (
    AppliedFile,
    Command,
    CommandSandbox,
    DirectoryEntry,
    FileKind,
    FileTarget,
    ProcessResult,
    SandboxSetting,
    Zone,
)
from agentchat.rpc.frames import Disconnected
from agentchat.rpc.peer import OnProgress
from agentchat.workspace.process import programs, run
from agentchat.workspace.process.run import Capture
from agentchat.workspace.process.sandbox import OFF
from agentchat.workspace.remote.client import StartError, WorkspaceClient

if TYPE_CHECKING:
    from agentchat.core.diff.changeset import ChangeSet

START_SECONDS = 30


class Launcher(Protocol):
    """How the server of a workspace is started."""

    @property
    def machine(self) -> str:
        """The user's name for where it runs."""

    @property
    def path(self) -> str:
        """The directory; empty for the one in which the server starts."""

    @property
    def cwd(self) -> str:
        """The directory, on this machine, of the program that starts it."""

    @property
    def environment(self) -> Mapping[str, str] | None:
        """The variables of that program; ``None`` for those of this process."""

    @property
    def prelude(self) -> bytes:
        """What the interpreter reads before the code of the server."""

    def argv(self) -> tuple[str, ...]:
        """Return the command line, which ends in ``bootstrap.start_script``."""

    def explain_missing(self, error: OSError) -> str:
        """Return a message for a program that cannot be started."""

    def explain_failure(self, output: str) -> str:
        """Return why no server answered, in one line.

        Args:
            output: the standard error, or ``timed out``.
        """


class RemoteWorkspace:
    """Files and programs behind a server, below and around one directory.

    Args:
        launcher: how the server is started.
        protected: folders of the workspace that are protected with all their content.
    """

    def __init__(self, launcher: Launcher, protected: Sequence[str] = ()) -> None:
        self._launcher = launcher
        self._protected = list(protected)
        self._root: str | None = None
        self._client: WorkspaceClient | None = None
        self._connecting: asyncio.Task[WorkspaceClient] | None = None
        self._closed = False
        self.confinement: CommandSandbox = RemoteSandbox(self)

    @property
    def root(self) -> str:
        """The directory; resolved after the first connection."""
        return self._root or self._launcher.path

    @property
    def host(self) -> str:
        """The name of the machine for the user."""
        return self._launcher.machine

    async def ready(self) -> None:
        """Connect if there is no connection; raises Unreachable in one line."""
        await self._connect()

    async def close(self) -> None:
        """End the connection; the programs that run there are killed."""
        self._closed = True
        await self._stop_connecting()
        if self._client is not None:
            await self._client.close()

    async def _stop_connecting(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)

    async def disconnect(self) -> None:
        """End the connection, or the attempt to connect; the next call connects again."""
        await self._stop_connecting()
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path as the model wrote it."""
        fields = await self.request("locate", path=path)
        fields["zone"] = Zone(fields["zone"])
        fields["owner"] = fields["owner"] and tuple(fields["owner"])
        fields["attributes"] = tuple((name, value) for name, value in fields["attributes"])
        fields["anchor"] = fields["anchor"] and tuple(fields["anchor"])
        return FileTarget(**fields)

    async def kind(self, path: str) -> FileKind | None:
        """Return what a path is; ``None`` if it does not exist."""
        kind: FileKind | None = await self.request("kind", path=path)
        return kind

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return int(await self.request("size", path=path))

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file, at most ``limit`` from ``start``; raises OSError."""
        return bytes(await self.request("read", path=path, limit=limit, start=start))

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory, unsorted; raises OSError."""
        return [DirectoryEntry(name, kind) for name, kind in await self.request("list", path=path)]

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return nothing: no buffer of the editor is a file of that machine."""
        return {}

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change, all files or none; raises StalePreview or ToolError."""
        client = await self._connect()
        files = [asdict(file) for file in change.files]
        try:
            # Wait without limit: a change that is half made must not count as not made.
            await client.request("apply", {"files": files}, cancel_seconds=None)
        except Disconnected as error:
            advice = "It is not known whether the files were changed: read them again."
            raise Unreachable(f"{self._describe_loss(error)} {advice}") from error
        return tuple(AppliedFile(file.path) for file in change.files)

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program there; its group is dead when this returns.

        A program of the plugin runs on this machine, if it needs nothing but its input.
        """
        if command.own and "/" in command.argv[0]:
            if command.stdin is None:
                raise ToolError(f"{command.argv[0]} is not on {self.host}.")
            with programs.prepare(command, root="") as prepared:
                return await run.run(prepared, on_output)
        capture = Capture(command.capture, command.overflow)
        try:
            exit = await self._run(command, _call_both(capture.add, on_output))
        finally:
            capture.close()
        return ProcessResult(
            code=exit["code"],
            head=capture.head,
            tail=capture.tail,
            dropped=capture.dropped,
            stderr=bytes(exit["stderr"]),
            ended=exit["ended"],
        )

    async def _run(self, command: Command, on_output: OnProgress) -> Any:
        # All output is sent here as it is written; the server keeps none of it.
        fields = {**asdict(command), "overflow": None, "capture": 2}
        params = {"command": fields, "setting": self.confinement.setting}
        return await self._request("run", params, on_output)

    async def environment(self) -> Mapping[str, str]:
        """Return the variables that programs there have by default."""
        variables: dict[str, str] = await self.request("environment")
        return variables

    async def repository_programs(self, cwd: str) -> Sequence[str]:
        """Return what may run a program when a command uses git in ``cwd``."""
        names: list[str] = await self.request("repository_programs", cwd=cwd)
        return names

    async def survey(
        self, commands: Sequence[CommandWords], command: str, cwd: str
    ) -> CommandSurvey:
        """Return what a shell command names on disk that runs in ``cwd``."""
        plain = [asdict(words) for words in commands]
        fields = await self.request("survey", commands=plain, command=command, cwd=cwd)
        operands = tuple(tuple(map(_operand, part)) for part in fields["operands"])
        fingerprints = tuple(fields["fingerprints"])
        return CommandSurvey(operands, fingerprints, fields["unfixed"])

    async def request(self, method: str, **params: Any) -> Any:
        """Send a request to the server; connects first if there is no connection."""
        return await self._request(method, params)

    async def _request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> Any:
        client = await self._connect()
        try:
            return await client.request(method, params, on_progress)
        except Disconnected as error:
            raise Unreachable(self._describe_loss(error)) from error

    def _describe_loss(self, error: Disconnected) -> str:
        return (
            f"Lost the connection to {self._launcher.machine}: {error}. "
            "Programs there were stopped; the next call connects again."
        )

    async def _connect(self) -> WorkspaceClient:
        if self._client is not None and self._client.alive:
            return self._client
        if self._closed:
            raise Unreachable(f"The connection to {self._launcher.machine} is closed.")
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._open_connection())
            self._connecting.add_done_callback(self._finish_connecting)
        # All calls that wait share one attempt.
        return await asyncio.shield(self._connecting)

    def _finish_connecting(self, attempt: asyncio.Task[WorkspaceClient]) -> None:
        self._connecting = None
        if not attempt.cancelled() and attempt.exception() is None:
            self._client = attempt.result()

    async def _open_connection(self) -> WorkspaceClient:
        old, self._client = self._client, None
        if old is not None:
            await old.close()
        client = await self._start()
        try:
            self._set_root(await self._open(client))
        except BaseException:
            await client.close()
            raise
        return client

    async def _start(self) -> WorkspaceClient:
        return await self._start_by(self._launcher)

    async def _start_by(self, launcher: Launcher, pass_fds: Sequence[int] = ()) -> WorkspaceClient:
        try:
            return await WorkspaceClient.start(
                launcher.argv(),
                launcher.environment,
                START_SECONDS,
                cwd=launcher.cwd,
                prelude=await asyncio.to_thread(lambda: launcher.prelude),
                pass_fds=pass_fds,
            )
        except OSError as error:
            raise Unreachable(launcher.explain_missing(error)) from error
        except StartError as error:
            raise Unreachable(launcher.explain_failure(str(error))) from error

    async def _open(self, client: WorkspaceClient) -> str:
        """Open the directory; return its resolved path."""
        path = self._launcher.path
        try:
            return str(await client.request("open", {"path": path, "protected": self._protected}))
        except Disconnected as error:
            raise Unreachable(self._describe_loss(error)) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unreachable(
                f"Cannot open {path} on {self._launcher.machine}: {reason}. Check the path."
            ) from error

    def _set_root(self, root: str) -> None:
        if self._root not in (None, root):
            raise Unreachable(
                f"{self._launcher.path} on {self.host} was {self._root} and is {root} now. "
                "Open a new chat with :AgentChat! to work there."
            )
        self._root = root


class RemoteSandbox:
    """The user's setting of the sandbox, and how it is implemented on the other machine."""

    def __init__(self, workspace: RemoteWorkspace) -> None:
        self._workspace = workspace
        self._description = ""
        self.setting: SandboxSetting = OFF

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if they are not."""
        return "" if self.setting == OFF else self._description

    async def probe(self) -> None:
        """Find out whether a sandbox works there, unless the setting is ``off``."""
        if self.setting != OFF:
            self._description = str(await self._workspace.request("probe", setting=self.setting))


def _operand(fields: Mapping[str, Any]) -> LocatedOperand:
    return LocatedOperand(**{**fields, "below": tuple(fields["below"])})


def _call_both(first: OnProgress, second: OnProgress | None) -> OnProgress:
    def add(data: bytes) -> None:
        first(data)
        if second is not None:
            second(data)

    return add
