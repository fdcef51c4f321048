"""Kills programs that outlive their run or the host.

Programs that left their process group are found by a mark in their environment. If the host is
killed, a small shell at the other end of a pipe kills the groups that still run: the pipe closes,
however the host ended.
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
"""How often processes are searched, since one may start another during a search."""


def mark_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
    """Return the environment with a unique mark in it, and the mark."""
    token = secrets.token_hex(8)
    return {**environment, MARK: token}, f"{MARK}={token}".encode()


def count_marked(mark: bytes) -> int:
    """Return the number of live processes with the mark; 0 where there is no ``/proc``."""
    return len(_marked_processes(mark))


def kill_orphans(mark: bytes) -> None:
    """Kill every process with the mark, where there is ``/proc`` (Linux)."""
    for _ in range(SEARCH_ROUNDS):
        pids = _marked_processes(mark)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _marked_processes(mark: bytes) -> list[int]:
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []
    return [pid for pid in pids if mark in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    """Return the environment of a process; empty if it is dead or of another user."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


SCRIPT = """
groups=
while read -r sign group; do
  others=
  for other in $groups; do [ "$other" = "$group" ] || others="$others $other"; done
  groups=$others
  [ "$sign" = - ] || groups="$groups $group"
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Watchdog:
    """Kills the registered process groups when the host ends; its shell starts with the first."""

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None

    def add(self, group: int) -> None:
        """Register a group."""
        self._send(f"+ {group}\n")

    def remove(self, group: int) -> None:
        """Unregister a group that is dead."""
        self._send(f"- {group}\n")

    def _send(self, line: str) -> None:
        with contextlib.suppress(OSError):  # programs run even without a watchdog
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
        """Let the shell kill the remaining groups and end."""
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._shell.stdin.close()
                self._shell.wait(1)
            self._shell = None
