"""Ends programs that outlive their run, or the host itself.

Programs that left their process group are found by a mark in their environment. If the host is
killed, a small shell at the other end of a pipe kills the groups that still run: the pipe closes
whatever the reason.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Mapping

MARK = "AGENTCHAT_RUN"
SEARCH_ROUNDS = 3
"""How often is looked again, since a process may start another while it is looked for."""


def mark_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
    """Return the environment with a mark in it that nothing else has, and the mark."""
    token = secrets.token_hex(8)
    return {**environment, MARK: token}, f"{MARK}={token}".encode()


def kill_orphans(mark: bytes) -> None:
    """Kill every process with the mark, where the system lets us see them (Linux)."""
    for _ in range(SEARCH_ROUNDS):
        found = _with(mark)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _with(mark: bytes) -> list[int]:
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []
    return [pid for pid in pids if mark in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    """Return the environment of a process; nothing for a dead or another user's one."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


SCRIPT = """
groups=
while read -r sign group; do
  kept=
  for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done
  groups=$kept
  [ "$sign" = - ] || groups="$groups $group"
done
for one in $groups; do kill -s KILL -- "-$one"; done
"""


class Watchdog:
    """Knows the process groups that run; starts its shell with the first."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Kill this group when the host is gone."""
        self._tell(f"+ {group}\n")

    def remove(self, group: int) -> None:
        """Forget a group that is dead."""
        self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # without a keeper programs run all the same
            if self._shell is None or self._shell.poll() is not None:
                self._start()
            if self._shell is not None and self._shell.stdin is not None:
                self._shell.stdin.write(line.encode())

    def _start(self) -> None:
        self._shell = subprocess.Popen(
            ("/bin/sh", "-c", SCRIPT),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        atexit.register(self.close)

    def close(self) -> None:
        """Let the shell kill what is left, and end."""
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._shell.stdin.close()
                self._shell.wait(1)
            self._shell = None
