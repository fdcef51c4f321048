"""A workspace that is a mapping: no disk, no processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.permissions.sensitive_paths import is_protected, is_secret
from agentchat.core.shell.operands import CommandSurvey, CommandWords
from agentchat.core.workspace import (
    AppliedFile,
    Command,
    DirectoryEntry,
    FileKind,
    FileTarget,
    ProcessResult,
    Zone,
)
from agentchat.workspace.paths import inside, refuse_special
from agentchat.workspace.process.sandbox import Sandbox


class MemoryWorkspace:
    """Files in a mapping from path (relative to ``root``, or absolute) to content."""

    def __init__(self, files: Mapping[str, bytes | str], root: str = "/workspace") -> None:
        self.root = root
        self.host = ""
        self.confinement = Sandbox(root)
        self.files: dict[str, bytes] = {
            self._absolute(path): content.encode() if isinstance(content, str) else content
            for path, content in files.items()
        }

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.root, path))

    async def ready(self) -> None:
        """Do nothing: it is always there."""

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    async def locate(self, path: str) -> FileTarget:
        """Return the identity of a path; there are no links here."""
        refuse_special(path)
        real = self._absolute(path)
        if path.startswith("@") and len(path) > 1 and real not in self.files:
            real = self._absolute(path[1:])
        below = inside(real, self.root)
        shown = _from(real, self.root) if below else real
        return FileTarget(real, shown, self._zone(real, below), await self.kind(real) is not None)

    def _zone(self, real: str, below: bool) -> Zone:
        parts = [part for part in (real[len(self.root) :] if below else real).split("/") if part]
        if is_secret(parts):
            return Zone.SECRET
        if not below:
            return Zone.OUTSIDE
        return Zone.PROTECTED if is_protected(parts) else Zone.ORDINARY

    async def kind(self, path: str) -> FileKind | None:
        """Return ``file``, ``directory`` (the root, and where files are) or ``None``."""
        if path in self.files:
            return "file"
        holds = path == self.root or any(inside(file, path) for file in self.files)
        return "directory" if holds else None

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return len(await self.read(path))

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file, at most ``limit`` from ``start``; raises OSError."""
        kind = await self.kind(path)
        if kind is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if kind == "directory":
            raise IsADirectoryError(21, "Is a directory", path)
        data = self.files[path]
        return data[start : len(data) if limit is None else start + limit]

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """Return the entries of a directory; raises OSError."""
        if await self.kind(path) != "directory":
            raise FileNotFoundError(2, "No such file or directory", path)
        below = [_from(file, path) for file in self.files if inside(file, path)]
        names = {name.partition("/")[0]: "/" in name for name in below}
        return [
            DirectoryEntry(name, "directory" if deep else "file") for name, deep in names.items()
        ]

    async def unsaved(self) -> Mapping[str, bytes]:
        """Return nothing: there is no editor here."""
        return {}

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        """Make the change, all files or none; raises StalePreview or ToolError."""
        for file in change.parts:
            if self.files.get(file.path) != file.before:
                raise StalePreview(file.name)
            if file.before is None and await self.kind(file.path) == "directory":
                raise ToolError(f"{file.name} is a directory. Nothing was changed.")
        for file in change.parts:
            self.files.pop(file.path, None)
            if file.after is not None:
                self.files[file.path] = file.after
        return tuple(AppliedFile(file.path) for file in change.files)

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        """Raise ToolError: nothing can be run in memory."""
        raise ToolError(f"Cannot run {command.argv[0]}: this workspace has no processes.")

    async def environment(self) -> Mapping[str, str]:
        """Return nothing: there are no programs here."""
        return {}

    async def repository_programs(self, cwd: str) -> Sequence[str]:
        return ()

    async def survey(
        self, commands: Sequence[CommandWords], command: str, cwd: str
    ) -> CommandSurvey:
        """Return nothing: no command does anything here."""
        return CommandSurvey(tuple(() for _ in commands))


def _from(path: str, folder: str) -> str:
    """Return a path below ``folder`` as it is seen from there."""
    return os.path.relpath(path, folder)
