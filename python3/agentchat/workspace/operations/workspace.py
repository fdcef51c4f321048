"""Operations of the user's as a workspace, in the process that imported them."""

from __future__ import annotations

import asyncio
import errno
import inspect
import os
import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.permissions.sensitive_paths import is_protected, is_secret
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
    Workspace,
    WrappedWorkspace,
    Zone,
)
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.operations.port import EDIT, READ, RUN, has
from agentchat.workspace.paths import inside, refuse_special
from agentchat.workspace.process.sandbox import OFF, REQUIRED

SHELLS = ("/bin/sh", "/bin/bash")
UNCONFINED = "the operations run commands without a sandbox"
UNKNOWN = "what it does is up to the operations that run it"


def open_operations(operations: object, path: str, protected: Sequence[str]) -> Workspace:
    """Return the workspace in a directory; raises OSError if it is none.

    Files that the operations have no methods for are those of this machine.
    """
    if has(operations, *READ):
        return OperationsWorkspace(operations, path or "/", protected)
    root = os.path.join(os.getcwd(), path)
    os.scandir(root).close()
    return CommandsWorkspace(operations, LocalWorkspace(root, protected))


class UserSandbox:
    """The operations confine commands as they like: the plugin cannot."""

    setting: SandboxSetting = OFF

    async def probe(self) -> None:
        """Do nothing: there is nothing to find out."""

    def describe(self) -> str:
        """Return why none will run if they must be confined; else nothing."""
        return UNCONFINED if self.setting == REQUIRED else ""


class CommandsWorkspace(WrappedWorkspace):
    """Another workspace whose commands the operations run."""

    def __init__(self, operations: object, inner: Workspace) -> None:
        super().__init__(inner)
        self._operations = operations
        self._sandbox = UserSandbox()

    @property
    def confinement(self) -> CommandSandbox:
        """None: the operations decide."""
        return self._sandbox

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a command by the operations; raises ToolError if they cannot."""
        if not has(self._operations, RUN):
            raise ToolError(f"Cannot run {command.argv[0]}: the operations run no commands.")
        if command.confine and self._sandbox.describe():
            raise ToolError(f"Nothing was run: {UNCONFINED}.")
        if command.stdin:
            raise ToolError(f"Cannot run {command.argv[0]}: the operations take no input.")
        output = _Output(on_output)
        try:
            async with asyncio.timeout(command.timeout):
                code = await self._call(RUN, _shell_command(command.argv), command.cwd, output.add)
        except TimeoutError:
            return ProcessResult(None, b"")
        finally:
            output.is_over = True
        return ProcessResult(int(code), b"")

    async def survey(
        self, commands: Sequence[CommandWords], command: str, cwd: str
    ) -> CommandSurvey:
        """Return for each command that no rule of first words covers it: nothing is known here."""
        return CommandSurvey(
            tuple((LocatedOperand(0, words.program, UNKNOWN),) for words in commands)
        )

    async def _call(self, name: str, *arguments: Any) -> Any:
        """Return what a method of the operations returns; a plain one runs in a thread."""
        method = getattr(self._operations, name)
        if inspect.iscoroutinefunction(method):
            return await method(*arguments)
        value = await asyncio.to_thread(method, *arguments)
        return await value if inspect.isawaitable(value) else value


class OperationsWorkspace(CommandsWorkspace):
    """Files and commands of the operations; their files have no links, owners and modes."""

    def __init__(self, operations: object, root: str, protected: Sequence[str] = ()) -> None:
        super().__init__(operations, LocalWorkspace("/"))
        self._root = posixpath.normpath(root)
        self._protected = [posixpath.normpath(posixpath.join(root, folder)) for folder in protected]

    @property
    def root(self) -> str:
        """The directory of the chat."""
        return self._root

    async def ready(self) -> None:
        """Check that the root is a directory; raises OSError."""
        await self._require_directory(self._root)

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path as the model wrote it."""
        refuse_special(path)
        real = posixpath.normpath(posixpath.join(self._root, path))
        kind = await self.kind(real)
        if kind is None and path.startswith("@") and len(path) > 1:
            real = posixpath.normpath(posixpath.join(self._root, path[1:]))
            kind = await self.kind(real)
        shown = posixpath.relpath(real, self._root) if inside(real, self._root) else real
        return FileTarget(real, shown, self._zone(real), kind is not None)

    def _zone(self, real: str) -> Zone:
        is_inside = inside(real, self._root)
        relative = real[len(self._root) :] if is_inside else real
        parts = [part for part in relative.split("/") if part]
        if is_secret(parts):
            return Zone.SECRET
        if not is_inside:
            return Zone.OUTSIDE
        below = any(inside(real, folder) for folder in self._protected)
        return Zone.PROTECTED if below or is_protected(parts) else Zone.ORDINARY

    async def kind(self, path: str) -> FileKind | None:
        """Return what a path is; ``None`` if it does not exist."""
        kind: FileKind | None = await self._call("kind", path)
        return kind

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return len(await self.read(path))

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file, at most ``limit`` from ``start``; raises OSError."""
        if await self.kind(path) == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        data = await self._read(path)
        if data is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return data[start : len(data) if limit is None else start + limit]

    async def _read(self, path: str) -> bytes | None:
        if await self.kind(path) is None:
            return None
        return bytes(await self._call("read_file", path))

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory; raises OSError."""
        await self._require_directory(path)
        entries: Mapping[str, FileKind] = await self._call("list_directory", path)
        return [DirectoryEntry(name, kind) for name, kind in entries.items()]

    async def _require_directory(self, path: str) -> None:
        kind = await self.kind(path)
        if kind != "directory":
            code = errno.ENOENT if kind is None else errno.ENOTDIR
            raise OSError(code, os.strerror(code), path)

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change; after a failure, what was written gets its bytes before again.

        Once begun, it is finished even if it is cancelled.
        """
        writing = asyncio.ensure_future(self._apply(change))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.gather(writing, return_exceptions=True)
            raise
        return tuple(AppliedFile(file.path) for file in change.files)

    async def _apply(self, change: ChangeSet) -> None:
        if not has(self._operations, *EDIT):
            raise ToolError("The operations can only read. Nothing was changed.")
        for file in change.parts:
            await self._check(file)
        done: list[FileChange] = []
        try:
            for file in change.parts:
                done.append(file)
                await self._write(file.path, file.after)
        except Exception as error:
            raise ToolError(await self._take_back(done, error)) from error

    async def _check(self, file: FileChange) -> None:
        """Raise unless the file still has the bytes that the change was made from."""
        if file.before is None and await self.kind(file.path) == "directory":
            raise ToolError(f"{file.name} is a directory. Nothing was changed.")
        if await self._read(file.path) != file.before:
            raise StalePreview(file.name)

    async def _write(self, path: str, data: bytes | None) -> None:
        if data is not None:
            await self._call("write_file", path, data)
        elif await self.kind(path) is not None:
            await self._call("delete_file", path)

    async def _take_back(self, done: Sequence[FileChange], error: Exception) -> str:
        """Write the bytes before again; return the message."""
        reason = f"{done[-1].name}: {str(error).rstrip('.') or type(error).__name__}."
        for file in reversed(done):
            try:
                await self._write(file.path, file.before)
            except Exception:
                return f"{reason} {file.name} could not be put back: read it again."
        return f"{reason} Nothing was changed."

    async def environment(self) -> Mapping[str, str]:
        """Return nothing: the operations choose the variables of commands."""
        return {}

    async def repository_programs(self, cwd: str) -> Sequence[str]:
        """Return nothing: every command asks."""
        return ()


class _Output:
    """Passes on what a command writes, until its call is over."""

    def __init__(self, on_output: Callable[[bytes], None] | None) -> None:
        self._on_output = on_output
        self.is_over = False

    def add(self, data: bytes) -> None:
        if self.is_over:
            raise ToolError("The call is over.")
        if self._on_output is not None:
            self._on_output(bytes(data))


def _shell_command(argv: Sequence[str]) -> str:
    """Return a command line as one shell command."""
    is_shell = argv[0] in SHELLS and argv[-2:-1] == ("--",)
    return argv[-1] if is_shell else shlex.join(argv)
