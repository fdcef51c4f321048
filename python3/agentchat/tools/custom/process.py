"""Starts a process in which tools run: a group of its own, with nothing of the plugin's."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from agentchat.tools.builtin.bash import environment
from agentchat.tools.custom.worker import Worker

PACKAGES = str(Path(__file__).resolve().parents[3])
BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from agentchat.tools.custom.serving import main
main(int(sys.argv[1]))
"""


class Groups(Protocol):
    """Knows the process groups that must not outlive the plugin."""

    def add(self, group: int) -> None:
        """Kill this group when the plugin is gone."""

    def remove(self, group: int) -> None:
        """Forget a group that is dead."""


class Spawned:
    """A process that leads a group."""

    def __init__(self, popen: subprocess.Popen[bytes], groups: Groups) -> None:
        self._popen = popen
        self._groups = groups
        groups.add(popen.pid)

    def kill(self) -> None:
        """End it with its group. Its id is its own until it was waited for."""
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)

    def wait(self) -> str:
        """Wait for its end; return how it ended."""
        code = self._popen.wait()
        self._groups.remove(self._popen.pid)
        return f"ended (killed by signal {-code})" if code < 0 else f"ended (exit code {code})"


def spawn(groups: Groups) -> Worker:
    """Start a process; raises OSError if that is impossible.

    Its environment is that of a command of ``bash``, and it can import what the plugin can.
    """
    ours, theirs = socket.socketpair()
    path = [PACKAGES, *(entry for entry in sys.path if entry not in ("", PACKAGES))]
    with theirs:
        popen = subprocess.Popen(
            [sys.executable, "-c", BOOT, str(theirs.fileno()), json.dumps(path)],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # Without it, it would import plugins of pydantic, which takes time.
            env={**environment(os.environ), "PYDANTIC_DISABLE_PLUGINS": "__all__"},
            start_new_session=True,
        )
    return Worker(ours, Spawned(popen, groups))
