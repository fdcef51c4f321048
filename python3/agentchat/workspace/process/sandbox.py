"""Commands in a sandbox: the workspace writable, the rest read-only, no network.

Bubblewrap where it works, else Landlock, which the kernel has: see ``landlock`` for what it runs.
"""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.abc import InspectLoader
from typing import cast

from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import Command
from agentchat.workspace.process import landlock

OFF, AUTO, REQUIRED = "off", "auto", "required"
SETTINGS = (OFF, AUTO, REQUIRED)
PROBE_SECONDS = 2
CONFINED = "writes only below the workspace, no network"
IMPOSSIBLE = "the setting requires a sandbox, and neither bubblewrap nor Landlock works here"


@dataclass(frozen=True, slots=True)
class SandboxMethod:
    """One kind of sandbox.

    ``wrap`` returns what stands before a command's own words; it gets the workspace, a folder for
    temporary files and the working directory. One that is not ``whole`` leaves some network.
    """

    description: str
    wrap: Callable[[str, str, str], tuple[str, ...]]
    whole: bool = True
    own_temp: bool = False
    """Whether it has a place of its own for temporary files."""


def _bubblewrap(root: str, temp: str, cwd: str) -> tuple[str, ...]:
    program = shutil.which("bwrap") or "bwrap"
    alone = ("--unshare-all", "--die-with-parent", "--new-session")
    seen = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
    # A workspace below /tmp is bound after the fresh one.
    kept = ("--bind", root, root, "--setenv", "TMPDIR", "/tmp")
    return (program, *alone, *seen, *kept, "--chdir", cwd, "--")


def _source() -> str:
    """Return the program's text: on another machine there is no file of it."""
    loader = cast("InspectLoader", landlock.__loader__)
    return str(loader.get_source(landlock.__name__))


def _landlock(network: str) -> Callable[[str, str, str], tuple[str, ...]]:
    def wrap(root: str, temp: str, cwd: str) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", "-B", "-c", _source(), network, root, temp, "--")

    return wrap


METHODS = (
    SandboxMethod(CONFINED, _bubblewrap, own_temp=True),
    SandboxMethod(f"{CONFINED} (Landlock)", _landlock(landlock.NONE)),
    SandboxMethod(
        "writes only below the workspace, no TCP (Landlock)", _landlock(landlock.NO_TCP), False
    ),
    SandboxMethod(
        "writes only below the workspace, the network is open (Landlock)",
        _landlock(landlock.OPEN),
        False,
    ),
)
"""The kinds of sandbox there are, the best first."""


_probing = threading.Lock()


def find_working_method(root: str, ways: tuple[SandboxMethod, ...]) -> SandboxMethod | None:
    """Return the first kind of sandbox that works for a workspace.

    Each is tried once in the life of this process, however many chats ask: a trial may take
    seconds.
    """
    with _probing:
        return next((way for way in ways if _works(way, root)), None)


@functools.cache
def _works(way: SandboxMethod, root: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="agentchat-") as temp:
        argv = (*way.wrap(root, temp, root), "true")
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


class Sandbox:
    """What the user wants of a sandbox for one workspace, and whether there can be one.

    Args:
        root: the workspace, absolute and resolved.
        wanted: ``off``, ``auto`` (as well as it works) or ``required`` (without any network, or
            nothing runs).
        ways: the kinds of sandbox to try, in this order.
    """

    def __init__(
        self, root: str, setting: str = OFF, ways: Sequence[SandboxMethod] = METHODS
    ) -> None:
        self._root = root
        self.setting = setting
        self._ways = tuple(ways)
        self._temp = ""

    async def probe(self) -> None:
        """Find out, once, which sandbox works here, if one is wanted."""
        if self.setting != OFF:
            await asyncio.to_thread(self._way)

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if they are not.

        Takes seconds where nobody looked before.
        """
        if self.setting == OFF:
            return ""
        way = self._way()
        if way is not None:
            return way.description
        return IMPOSSIBLE if self.setting == REQUIRED else ""

    async def confine(self, command: Command) -> Command:
        """Return a command as it runs in the sandbox; raises ToolError if it must and cannot."""
        if self.setting == OFF:
            return command
        way = await asyncio.to_thread(self._way)
        if way is None and self.setting == REQUIRED:
            raise ToolError(f"Nothing was run: {IMPOSSIBLE}.")
        return command if way is None else self._wrap(way, command)

    def _wrap(self, way: SandboxMethod, command: Command) -> Command:
        temp = self._temporary()
        argv = (*way.wrap(self._root, temp, command.cwd), *command.argv)
        if way.own_temp:
            return replace(command, argv=argv)
        return replace(command, argv=argv, env={**(command.env or os.environ), "TMPDIR": temp})

    def _way(self) -> SandboxMethod | None:
        """Return the sandbox to use, if there is one that is good enough."""
        found = find_working_method(self._root, self._ways)
        enough = found is not None and (found.whole or self.setting != REQUIRED)
        return found if enough else None

    def _temporary(self) -> str:
        """Return a folder for the temporary files of commands; it goes with this process."""
        if not self._temp:
            self._temp = tempfile.mkdtemp(prefix="agentchat-")
            weakref.finalize(self, shutil.rmtree, self._temp, ignore_errors=True)
        return self._temp
