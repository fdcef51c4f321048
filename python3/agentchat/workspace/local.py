"""The workspace on this machine: its disk and its processes."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from agentchat.core.diff.aspects import split_aspect
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.shell.operands import CommandSurvey, CommandWords
from agentchat.core.workspace import (
    AppliedFile,
    Command,
    DirectoryEntry,
    FileKind,
    FileTarget,
    ProcessResult,
)
from agentchat.rpc.background import Batcher, run_all_in_thread
from agentchat.workspace.files.aspects import read_aspect
from agentchat.workspace.files.disk import Disk, read_file
from agentchat.workspace.files.transaction import FileTransaction
from agentchat.workspace.paths import Paths
from agentchat.workspace.process import programs, repository_settings, run
from agentchat.workspace.process.sandbox import Sandbox
from agentchat.workspace.survey import survey_command

T = TypeVar("T")


class LocalWorkspace:
    """Files and programs of this machine, below and around one root directory.

    Args:
        root: the directory the user opened.
        protected: folders that are protected with all their content, like the runtimepath.
    """

    def __init__(self, root: str, protected: Sequence[str] = (), disk: Disk | None = None) -> None:
        self._paths = Paths(root, protected)
        self.confinement = Sandbox(self._paths.root)
        self._writer = FileTransaction(disk or Disk(), self._paths.show)
        self._located = Batcher(self._locate_all)
        self._work: Batcher[Callable[[], Any], Any] = Batcher(run_all_in_thread)

    @property
    def root(self) -> str:
        """The directory the user opened: absolute, resolved."""
        return self._paths.root

    @property
    def host(self) -> str:
        """Empty: the user's own machine."""
        return ""

    async def ready(self) -> None:
        """Do nothing: it is always reachable."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path as the model wrote it."""
        return await self._located.request(path)

    async def _locate_all(self, paths: Sequence[str]) -> Sequence[FileTarget | Exception]:
        return await asyncio.to_thread(self._paths.locate_all, paths)

    async def kind(self, path: str) -> FileKind | None:
        """Return what a path is; ``None`` if it does not exist."""
        return await self._run_in_thread(partial(_kind, path))

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return (await self._run_in_thread(partial(os.stat, path))).st_size

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file, at most ``limit`` from ``start``; raises OSError."""
        if split_aspect(path)[1]:
            return await self._run_in_thread(partial(read_aspect, path))
        return await self._run_in_thread(partial(read_file, path, limit, start))

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory, unsorted; raises OSError."""
        return await self._run_in_thread(partial(_entries, path))

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return nothing: this workspace knows no editor."""
        return {}

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change, all files or none; raises StalePreview or ToolError.

        If it is cancelled before the first file is touched, nothing changes; after that the change
        is finished before the cancellation continues.
        """
        cancelled = threading.Event()
        writing = asyncio.ensure_future(
            asyncio.to_thread(self._writer.apply, change.files, cancelled.is_set)
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.gather(writing, return_exceptions=True)
            raise
        return tuple(AppliedFile(file.path) for file in change.files)

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program in its own process group; the group is dead when this returns."""
        if command.own:
            return await self._run_own(command, on_output)
        if command.confine:
            command = await self.confinement.confine(command)
        return await run.run(command, on_output)

    async def _run_own(
        self, command: Command, on_output: Callable[[bytes], None] | None
    ) -> ProcessResult:
        """Run a program of the plugin."""
        preparation = programs.prepare(command, self.root)
        prepared = await asyncio.to_thread(preparation.__enter__)
        try:
            return await run.run(prepared, on_output)
        finally:
            preparation.__exit__(None, None, None)

    async def environment(self) -> Mapping[str, str]:
        """Return the variables of this process."""
        return dict(os.environ)

    async def repository_programs(self, cwd: str) -> Sequence[str]:
        """Return what may run a program when a command uses git in ``cwd``."""
        return await asyncio.to_thread(repository_settings.named_programs, cwd, self.root)

    async def survey(
        self, commands: Sequence[CommandWords], command: str, cwd: str
    ) -> CommandSurvey:
        """Return what a shell command names on disk that runs in ``cwd``."""
        return await self._run_in_thread(
            partial(survey_command, self._paths, commands, command, cwd)
        )

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        """Return the result of blocking work; a thread does what begins at the same time."""
        result: T = await self._work.request(work)
        return result


def _kind(path: str) -> FileKind | None:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(mode):
        return "directory"
    return "file" if stat.S_ISREG(mode) else "other"


def _entries(path: str) -> list[DirectoryEntry]:
    with os.scandir(path) as entries:
        return [DirectoryEntry(entry.name, _entry_kind(entry)) for entry in entries]


def _entry_kind(entry: os.DirEntry[str]) -> FileKind:
    try:
        if entry.is_dir():
            return "directory"
        return "file" if entry.is_file() else "other"
    except OSError:
        return "other"
