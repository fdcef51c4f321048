"""Faults from outside, by strace: the process under test is the real one, unmodified."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

EFFECTS = (
    "write", "pwrite64", "fsync", "ftruncate", "rename", "renameat", "renameat2", "link", "linkat",
    "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "fchmod", "fchown", "fsetxattr",
)  # fmt: skip
_CALL = re.compile(r"(\d+) +([a-z0-9_]+)\((.*)")
STRACE = shutil.which("strace")


@dataclass(frozen=True, slots=True)
class Point:
    """The ``number``-th call (from 1) of one kind that a thread makes."""

    call: str
    number: int


@dataclass(frozen=True, slots=True)
class Traced:
    """How a run ended: its exit code, and a line for each effect in order."""

    code: int
    lines: tuple[str, ...]

    @property
    def fired(self) -> bool:
        """Whether the fault happened."""
        return any("(INJECTED)" in line or "killed by SIGKILL" in line for line in self.lines)

    def points(self) -> list[Point]:
        """Return every place where a fault can be put, in order."""
        counts: Counter[tuple[str, str]] = Counter()
        points: dict[Point, None] = {}
        for match in filter(None, map(_CALL.match, self.lines)):
            thread, call = match[1], match[2]
            counts[thread, call] += 1
            points[Point(call, counts[thread, call])] = None
        return list(points)


def traced(
    what: str, root: Path, state: Path, point: Point | None = None, fault: str = "signal=KILL"
) -> Traced:
    """Run the driver and put the fault at its place."""
    assert STRACE is not None
    log = state.parent / "strace.log"
    # With --seccomp-bpf it would be faster, and inject no signals.
    command = [STRACE, "-f", "-y", "-qq", "-o", str(log)]
    command += ["-e", f"trace={','.join(EFFECTS)}"]
    if point is not None:
        command += ["-e", f"inject={point.call}:{fault}:when={point.number}"]
    command += [sys.executable, "-m", "tests.faults.driver", what, str(root), str(state)]
    code = _run(command)
    return Traced(code, tuple(log.read_text(errors="replace").splitlines()))


def _run(command: Sequence[str]) -> int:
    environment: Mapping[str, str] = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        timeout=60, cwd=Path(__file__).parents[2],
    ).returncode  # fmt: skip
