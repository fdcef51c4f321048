"""Commands in a sandbox of bubblewrap: the workspace writable, the rest read-only, no network."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from dataclasses import replace

from agentchat.core.errors import ToolError
from agentchat.core.ports import Command

OFF, AUTO, REQUIRED = "off", "auto", "required"
SETTINGS = (OFF, AUTO, REQUIRED)
PROBE_SECONDS = 2
CONFINED = "writes only below the workspace, no network"
IMPOSSIBLE = "the setting requires a sandbox, and bubblewrap does not work here"


class Confinement:
    """What the user wants of a sandbox for one workspace, and whether there can be one.

    Args:
        root: the workspace, absolute and resolved.
        wanted: ``off``, ``auto`` (where it works) or ``required`` (or nothing runs).
    """

    def __init__(self, root: str, wanted: str = OFF) -> None:
        self._root = root
        self.wanted = wanted
        self._works: bool | None = None

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if they are not."""
        if self.wanted == OFF:
            return ""
        if self._tried():
            return CONFINED
        return IMPOSSIBLE if self.wanted == REQUIRED else ""

    async def confined(self, command: Command) -> Command:
        """Return a command as it runs in the sandbox; raises ToolError if it must and cannot."""
        if self.wanted == OFF:
            return command
        if await asyncio.to_thread(self._tried):
            return replace(command, argv=(*self._sandbox(command.cwd), *command.argv))
        if self.wanted == REQUIRED:
            raise ToolError(f"Nothing was run: {IMPOSSIBLE}.")
        return command

    def _tried(self) -> bool:
        """Whether a sandbox works here; tried once."""
        if self._works is None:
            self._works = _runs((*self._sandbox(self._root), "true"))
        return self._works

    def _sandbox(self, cwd: str) -> tuple[str, ...]:
        program = shutil.which("bwrap") or "bwrap"
        alone = ("--unshare-all", "--die-with-parent", "--new-session")
        seen = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
        # A workspace below /tmp is bound after the fresh one.
        kept = ("--bind", self._root, self._root, "--setenv", "TMPDIR", "/tmp")
        return (program, *alone, *seen, *kept, "--chdir", cwd, "--")


def _runs(argv: tuple[str, ...]) -> bool:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
