"""Runs commands in a sandbox: the workspace is writable, the rest read-only, no network.

It uses bubblewrap where it works, else Landlock of the kernel (see ``landlock``).
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
from dataclasses import replace
from importlib.abc import InspectLoader
from typing import Final, cast

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.workspace import Command, SandboxSetting
from agentchat.workspace.process import landlock, programs

OFF: Final = "off"
AUTO: Final = "auto"
REQUIRED: Final = "required"
PROBE_SECONDS = 2
CONFINED = "writes only below the workspace, no network"
IMPOSSIBLE = "the setting requires a sandbox, and neither bubblewrap nor Landlock works here"


@frozen
class SandboxMethod:
    """One kind of sandbox.

    ``wrap`` returns the words before those of the command; its arguments are the workspace, a
    folder for temporary files and the working directory. One that is not ``whole`` allows some
    network.
    """

    description: str
    wrap: Callable[[str, str, str], tuple[str, ...]]
    whole: bool = True
    own_temp: bool = False
    """Whether it has its own folder for temporary files."""


def _bubblewrap(root: str, temp: str, cwd: str) -> tuple[str, ...]:
    program = programs.find_program("bwrap", root) or ""  # which does not start
    isolation = ("--unshare-all", "--die-with-parent", "--new-session")
    read_only = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
    # Bound after --tmpfs, since the workspace may be below /tmp.
    writable = ("--bind", root, root, "--setenv", "TMPDIR", "/tmp")
    return (program, *isolation, *read_only, *writable, "--chdir", cwd, "--")


def _source() -> str:
    """Return the source of ``landlock``: on another machine there is no file of it."""
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
        "writes only below the workspace, no TCP (Landlock)",
        _landlock(landlock.NO_TCP),
        whole=False,
    ),
    SandboxMethod(
        "writes only below the workspace, the network is open (Landlock)",
        _landlock(landlock.OPEN),
        whole=False,
    ),
)
"""All kinds of sandbox, the best first."""


_probing = threading.Lock()


def find_working_method(root: str, methods: tuple[SandboxMethod, ...]) -> SandboxMethod | None:
    """Return the first kind of sandbox that works for a workspace.

    Each is tried once in the life of this process, for all chats: a trial may take seconds.
    """
    with _probing:
        return next((method for method in methods if _works(method, root)), None)


@functools.cache
def _works(method: SandboxMethod, root: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="agentchat-") as temp:
        argv = (*method.wrap(root, temp, root), "true")
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


class Sandbox:
    """The user's setting of the sandbox for one workspace, and the method that implements it.

    Args:
        root: the workspace, absolute and resolved.
        setting: ``off``, ``auto`` (as well as it works) or ``required`` (without any network, or
            nothing runs).
        methods: the kinds of sandbox to try, in this order.
    """

    def __init__(
        self, root: str, setting: SandboxSetting = OFF, methods: Sequence[SandboxMethod] = METHODS
    ) -> None:
        self._root = root
        self.setting = setting
        self._methods = tuple(methods)
        self._temp = ""

    async def probe(self) -> None:
        """Find out which sandbox works here, unless the setting is ``off``."""
        if self.setting != OFF:
            await asyncio.to_thread(self._method)

    def describe(self) -> str:
        """Return how commands are confined, or why none will run; empty if they are not.

        Blocks for seconds if nothing was probed before.
        """
        if self.setting == OFF:
            return ""
        method = self._method()
        if method is not None:
            return method.description
        return IMPOSSIBLE if self.setting == REQUIRED else ""

    async def confine(self, command: Command) -> Command:
        """Return a command as it runs in the sandbox; raises ToolError if none fits the setting."""
        if self.setting == OFF:
            return command
        method = await asyncio.to_thread(self._method)
        if method is None and self.setting == REQUIRED:
            raise ToolError(f"Nothing was run: {IMPOSSIBLE}.")
        return command if method is None else self._wrap(method, command)

    def _wrap(self, method: SandboxMethod, command: Command) -> Command:
        temp = self._temporary()
        argv = (*method.wrap(self._root, temp, command.cwd), *command.argv)
        if method.own_temp:
            return replace(command, argv=argv)
        return replace(command, argv=argv, env={**(command.env or os.environ), "TMPDIR": temp})

    def _method(self) -> SandboxMethod | None:
        """Return the method to use, if one fits the setting."""
        method = find_working_method(self._root, self._methods)
        fits = method is not None and (method.whole or self.setting != REQUIRED)
        return method if fits else None

    def _temporary(self) -> str:
        """Return a folder for the temporary files of commands; removed when this process ends."""
        if not self._temp:
            self._temp = tempfile.mkdtemp(prefix="agentchat-")
            weakref.finalize(self, shutil.rmtree, self._temp, ignore_errors=True)
        return self._temp
