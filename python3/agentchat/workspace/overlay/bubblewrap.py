"""Enters an overlay by the program bubblewrap, ``bwrap``, from 0.11 on.

What commands see is the same as with ``namespace``. It is preferred where it is installed, since
a system that forbids user namespaces to most programs (AppArmor on Ubuntu) allows them to this
one. Not for root: of all users it shows only one, so files of others would have no owner.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable

from agentchat.workspace.overlay.mounts import Mount

OLDEST = (0, 11)
"""The first version with overlays."""
VERSION_SECONDS = 5

ISOLATION = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--as-pid-1",
)  # fmt: skip
SYSTEM = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")
HIDDEN = 64 * 1024
"""The most bytes of an empty folder, in which the workspace may lie."""


def find_bubblewrap(user: int = os.geteuid()) -> str:
    """Return the path of the program; empty if none is new enough, or for root."""
    program = shutil.which("bwrap") or ""
    return program if program and user != 0 and _version(program) >= OLDEST else ""


@functools.cache
def _version(program: str) -> tuple[int, ...]:
    """Return the version of a program; empty if it does not say."""
    argv = (program, "--version")
    try:
        done = subprocess.run(argv, capture_output=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(map(int, re.findall(rb"\d+", done.stdout)))


def options(
    mounts: Iterable[Mount], *, upper: str, work: str, empty: str, temporary: int, network: bool
) -> tuple[str, ...]:
    """Return the options for an overlay whose changes are in ``upper``.

    Args:
        empty: the file to show in the place of hidden ones.
        temporary: the most bytes of a private folder.
    """
    words = [*ISOLATION, *(() if network else ("--unshare-net",)), *SYSTEM]
    words += _folder("/dev/shm", temporary, "1777")
    for kind, path in mounts:
        if kind == "private":
            words += _folder(path, temporary, "1777")
        elif kind == "show":
            words += ["--ro-bind", path, path]
        elif kind == "forget":
            words += ["--overlay-src", path, "--tmp-overlay", path]
        elif kind == "stage":
            words += ["--overlay-src", path, "--overlay", upper, work, path, "--chdir", path]
        elif os.path.isdir(path):
            words += _folder(path, HIDDEN, "755")
        else:
            words += ["--ro-bind", empty, path]
    return tuple(words)


def _folder(path: str, size: int, mode: str) -> list[str]:
    return ["--perms", mode, "--size", str(size), "--tmpfs", path]
