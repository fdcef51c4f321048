"""The contract of a workspace, which tools and the plan use; ``workspace/`` implements it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Literal, Protocol

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.frozen import frozen
from agentchat.core.shell.operands import CommandSurvey, CommandWords

FileKind = Literal["file", "directory", "other"]
SandboxSetting = Literal["off", "auto", "required"]


class Zone(StrEnum):
    """The kind of a path for the policy."""

    ORDINARY = "ordinary"
    PROTECTED = "protected"
    SECRET = "secret"
    OUTSIDE = "outside"


class BufferState(StrEnum):
    """Whether the user's editor has a file open, and how a change reaches it."""

    NO = "no"
    SAVED = "saved"
    """A change goes into the buffer, which is saved with autocommands."""
    PLAIN = "plain"
    """A change goes into the buffer, which is saved without autocommands."""
    UNSAVED = "unsaved"
    """It has unsaved changes of the user: a change goes into the buffer, which stays unsaved."""
    LOCKED = "locked"
    """The buffer cannot be changed."""


@frozen
class FileTarget:
    """One identity of a file: ``path`` absolute with every symlink resolved.

    ``display_path`` is relative to the workspace root inside it, absolute outside. ``read_only``
    means that the file exists and its mode forbids writing, ``hard_linked`` that it has another
    name; ``loaded`` describes its buffer. ``mode`` is its permission bits, ``owner`` its user and
    group, ``attributes`` its extended attributes; empty if there is no file or unknown.
    """

    path: str
    display_path: str
    zone: Zone = Zone.ORDINARY
    exists: bool = True
    read_only: bool = False
    hard_linked: bool = False
    loaded: BufferState = BufferState.NO
    mode: int | None = None
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    anchor: tuple[str, int, int] | None = None
    """The nearest existing folder above a missing file: path, device, inode."""

    @property
    def ordinary(self) -> bool:
        """Whether a remembered grant for a tool covers this path."""
        return self.zone is Zone.ORDINARY and not self.hard_linked


@frozen
class DirectoryEntry:
    """One name in a directory."""

    name: str
    kind: FileKind


@frozen
class Command:
    """A program to run: ``argv`` without a shell, ``timeout`` in seconds (``None``: no limit).

    ``capture`` is the most bytes of output kept in memory, half of it the head and half the
    tail; the rest goes to ``overflow`` (a file path), if given, else it is dropped.
    """

    argv: tuple[str, ...]
    cwd: str
    stdin: bytes | None = None
    timeout: float | None = None
    capture: int = 64 * 1024 * 1024
    merge_stderr: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    overflow: str | None = None
    confine: bool = False
    """Whether it runs in a sandbox, if the user wants one."""
    own: bool = False
    """Whether it is a program of the plugin, like ``git`` for a diff. It is looked up outside of
    the workspace and gets few variables, and the project's settings name nothing that it runs. One
    with a path runs on the user's machine even if the workspace is on another one; then it sees
    only its input."""
    network: bool = False
    """Whether it gets the network where commands have none otherwise, as in an overlay."""


@frozen
class ProcessResult:
    """How a program ended. ``code`` is ``None`` if it timed out; ``-N`` if signal N killed it.

    ``head`` and ``tail`` are the kept bytes (all of it in ``head`` if nothing was dropped),
    ``dropped`` the number of bytes between them.
    """

    code: int | None
    head: bytes
    tail: bytes = b""
    dropped: int = 0
    stderr: bytes = b""
    ended: int = 0
    """The background processes that were ended with it, as far as that is known."""


@frozen
class AppliedFile:
    """The result of applying one file of a change set.

    ``saved`` is false if the text went into a buffer with unsaved changes of the user;
    ``reformatted`` lists 1-based line ranges that saving (a formatter) changed afterwards.
    """

    path: str
    saved: bool = True
    reformatted: tuple[tuple[int, int], ...] = ()


class CommandSandbox(Protocol):
    """The sandbox for commands: what the user wants, and what is available."""

    setting: SandboxSetting

    async def probe(self) -> None:
        """Find out whether a sandbox works, if one is wanted."""

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if not confined.

        Does not wait: call ``probe`` before.
        """


class Workspace(Protocol):
    """The files and processes that a chat works with. Paths are absolute and resolved."""

    @property
    def root(self) -> str:
        """The directory the user opened: absolute, resolved."""

    @property
    def host(self) -> str:
        """The user's name for the machine it is on; empty for the user's own machine."""

    @property
    def confinement(self) -> CommandSandbox:
        """The sandbox for its commands."""

    async def ready(self) -> None:
        """Return when it can be used; raises Unreachable with a message of one line."""

    async def close(self) -> None:
        """Release its resources when the chat is closed."""

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path as the model wrote it, relative to the root.

        Never expands ``~``, ``$`` or globs. Raises ToolError for names that editors open
        specially (``scp://…``, ``term://…``) and for NUL.
        """

    async def kind(self, path: str) -> FileKind | None:
        """Return what a path is; ``None`` if it does not exist."""

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes, as the user sees it."""

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file as the user sees it: the text of an unsaved buffer first.

        At most ``limit`` bytes from the offset ``start``. Raises FileNotFoundError,
        IsADirectoryError, PermissionError or another OSError.
        """

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory, unsorted, dot files included."""

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return the text of every file whose buffer differs from the disk, by path."""

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change, all files or none.

        Raises StalePreview if a file no longer has the change's ``before`` bytes, ToolError if it
        cannot be written; in both cases nothing was changed.
        """

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program in its own process group, stdin closed unless given.

        The whole group is dead when this returns, times out, or is cancelled. Raises
        ToolError naming the directory or the program if it cannot start.
        """

    async def environment(self) -> Mapping[str, str]:
        """Return the variables that programs there have by default."""

    async def repository_programs(self, cwd: str) -> Sequence[str]:
        """Return what may run a program when a command uses git in ``cwd``: names of settings.

        Settings of the user's own files do not count.
        """

    async def survey(
        self, commands: Sequence[CommandWords], command: str, cwd: str
    ) -> CommandSurvey:
        """Return what a shell command names on disk that runs in ``cwd``.

        ``commands`` are the simple commands it consists of. A file that changes changes its
        fingerprint.
        """


class WrappedWorkspace:
    """Another workspace with some methods of its own: the base of those that change a few."""

    def __init__(self, inner: Workspace) -> None:
        self._inner = inner

    @property
    def root(self) -> str:
        """The directory the user opened."""
        return self._inner.root

    @property
    def host(self) -> str:
        """The machine it is on; empty for the user's own."""
        return self._inner.host

    @property
    def confinement(self) -> CommandSandbox:
        """How its commands are confined."""
        return self._inner.confinement

    async def ready(self) -> None:
        """Return when it can be used; raises Unreachable."""
        await self._inner.ready()

    async def close(self) -> None:
        """Release its resources."""
        await self._inner.close()

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path as the model wrote it."""
        return await self._inner.locate(path)

    async def kind(self, path: str) -> FileKind | None:
        """Return what a path is; ``None`` if it does not exist."""
        return await self._inner.kind(path)

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return await self._inner.size(path)

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file; raises OSError."""
        return await self._inner.read(path, limit, start)

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory, unsorted; raises OSError."""
        return await self._inner.list(path)

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return the text of every buffer that differs from its file, by path."""
        return await self._inner.unsaved()

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change, all files or none."""
        return await self._inner.apply(change)

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Run a program; its process group is dead when this returns."""
        return await self._inner.run(command, on_output)

    async def environment(self) -> Mapping[str, str]:
        """Return the variables that programs there have by default."""
        return await self._inner.environment()

    async def repository_programs(self, cwd: str) -> Sequence[str]:
        """Return what may run a program when a command uses git in ``cwd``."""
        return await self._inner.repository_programs(cwd)

    async def survey(
        self, commands: Sequence[CommandWords], command: str, cwd: str
    ) -> CommandSurvey:
        """Return what a shell command names on disk that runs in ``cwd``."""
        return await self._inner.survey(commands, command, cwd)
