"""Overlays over the projects of tests, and how commands run in them and without them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.execution.overlay_command import apply_overlay
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import Unreachable
from agentchat.core.workspace import Command
from agentchat.journal.writer import JournalWriter
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.client import Limits
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.launcher import OverlayLauncher
from agentchat.workspace.overlay.workspace import OverlayWorkspace

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_OPTIONAL_LOCKS": "0", **{
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "N"), ("EMAIL", "n@x"), ("DATE", "2026-01-01T00:00:00Z"))
}}  # fmt: skip

Tree = dict[str, tuple[int, bytes]]


def tree(root: Path) -> Tree:
    """Return mode and content of everything in a folder."""
    found = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.lstat()
        if path.is_symlink():
            data = os.fsencode(path.readlink())
        else:
            data = b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(root))] = (status.st_mode, data)
    return found


@dataclass
class Staging:
    """An overlay over a project, and how commands run in it."""

    project: Path
    state: Path
    overlay: OverlayWorkspace
    local: LocalWorkspace

    async def run(self, command: str, **more: object) -> tuple[int | None, str]:
        argv = ("/bin/bash", "-c", command)
        finished = await self.overlay.run(
            Command(argv, str(self.project), env=ENVIRONMENT, merge_stderr=True, **more)  # type: ignore[arg-type]
        )
        return finished.code, finished.head.decode()

    async def changes(self) -> ChangeSet:
        await self.overlay.update()
        return await self.overlay.changes.change_set()

    async def named(self) -> dict[str, str]:
        """Return the letter of each changed file by its name."""
        return {file.name: file.letter for file in (await self.changes()).files}

    async def apply(self) -> None:
        journal = JournalWriter.open(self.state, "test")
        workspace = JournaledWorkspace(self.local, journal, "test")
        try:
            await apply_overlay(self.overlay, workspace, await self.changes())
        finally:
            journal.close()


def plainly(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command without an overlay."""
    argv = ["/bin/bash", "-c", command]
    return subprocess.run(argv, cwd=folder, env=ENVIRONMENT, capture_output=True)


def open_staging(
    project: Path,
    state: Path,
    quota_mb: int = 1024,
    home: Path | None = None,
) -> Staging:
    launcher = OverlayLauncher(
        str(project),
        OverlayFolder(state / "chat"),
        hidden=(str(state),),
        limits=Limits(quota_mb=quota_mb),
        variables={**os.environ, **({"HOME": str(home)} if home else {})},
    )
    local = LocalWorkspace(str(project))
    overlay = OverlayWorkspace(launcher, local)
    return Staging(project, state, overlay, local)


async def try_staging(project: Path, state: Path) -> Staging:
    """Return an overlay that works; skips the test where none does."""
    opened = open_staging(project, state)
    try:
        await opened.overlay.ready()
    except Unreachable as reason:
        pytest.skip(str(reason))
    return opened
