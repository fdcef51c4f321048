"""Which processes a test has started, and whether they are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path


def table() -> dict[int, tuple[int, str, str]]:
    """All living processes: pid to (parent's pid, state, command)."""
    proc = Path("/proc")
    if (proc / "self/stat").exists():
        found = ((int(folder.name), _read(folder)) for folder in proc.glob("[0-9]*"))
        return {pid: row for pid, row in found if row}
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = (line.split(None, 3) for line in listing.stdout.splitlines())
    return {int(row[0]): (int(row[1]), row[2], row[3] if len(row) > 3 else "") for row in rows}


def _read(folder: Path) -> tuple[int, str, str] | None:
    """One process of Linux, or None if it has just gone; much cheaper than `ps`."""
    try:
        state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    return int(parent), state, command.strip()


def descendants(root: int, adopted: Mapping[int, int] | None = None) -> list[int]:
    """All children of ``root``, their children, and so on; parents come first.

    Args:
        adopted: processes that count as children of another one than their parent, by pid.
    """
    parents = {pid: parent for pid, (parent, _, _) in table().items()}
    parents |= {pid: parent for pid, parent in (adopted or {}).items() if pid in parents}
    found = [root]
    for known in found:
        found.extend(pid for pid, parent in parents.items() if parent == known)
    return found[1:]


def living(pids: Iterable[int]) -> dict[int, str]:
    """Those of ``pids`` that still run (a zombie does not), with their commands."""
    now = table()
    return {pid: now[pid][2] for pid in pids if pid in now and not now[pid][1].startswith("Z")}


def wait_gone(pids: Iterable[int], seconds: float) -> dict[int, str]:
    """Wait until ``pids`` are gone; return what still runs after ``seconds``."""
    pids = list(pids)
    until = time.monotonic() + seconds
    while pids and (left := living(pids)) and time.monotonic() < until:
        pids = list(left)
        time.sleep(0.02)
    return living(pids) if pids else {}


def kill(pids: Iterable[int]) -> None:
    """Kill these, and nothing else."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
