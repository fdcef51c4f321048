"""Processes that left their group to go on by themselves, found by a mark in their environment."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Mapping

MARK = "AGENTCHAT_RUN"
ROUNDS = 3
"""How often is looked again, since a process may start another while it is looked for."""


def mark_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
    """Return the environment with a mark in it that nothing else has, and the mark."""
    token = secrets.token_hex(8)
    return {**environment, MARK: token}, f"{MARK}={token}".encode()


def kill_orphans(mark: bytes) -> None:
    """Kill every process with the mark, where the system lets us see them (Linux)."""
    for _ in range(ROUNDS):
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
