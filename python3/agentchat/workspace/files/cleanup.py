"""What a process that was killed left beside the files it was changing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentchat.workspace.files.disk import FOLDER_LOCKS, Disk, directory
from agentchat.workspace.files.operation import Leftover, leftover

SLACK_SECONDS = 2.0
"""How exactly it is known when a process began."""


def put_back(paths: Iterable[str], disk: Disk | None = None) -> None:
    """Give files that were set aside to be removed their names back, unless these are taken."""
    disk = disk or Disk()
    for folder, names in _by_folder(paths).items():
        with FOLDER_LOCKS.hold([folder]):
            for at, name, left in _left_in(folder):
                for target in names:
                    if left.aside and left.is_of(target):
                        with contextlib.suppress(OSError):
                            disk.link(name, target, at)
                            disk.unlink(name, at)


def sweep(made: Mapping[str, int], disk: Disk | None = None) -> None:
    """Remove temporary files beside these paths, and folders made for files that are not there.

    Args:
        made: how many folders above each path were made with it.
    """
    disk = disk or Disk()
    for folder in _by_folder(made):
        with FOLDER_LOCKS.hold([folder]):
            for at, name, _ in _left_in(folder):
                with contextlib.suppress(OSError):
                    disk.unlink(name, at)
    for path, folders in made.items():
        _remove_folders(disk, path, folders)


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the names in each folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder, name = os.path.split(path)
        found.setdefault(folder, []).append(name)
    return found


def _left_in(folder: str) -> Iterator[tuple[int, str, Leftover]]:
    """Yield a handle on the folder, the name and its meaning of all that nobody owns any more."""
    with contextlib.suppress(OSError), directory(folder) as at:
        for name in os.listdir(at):
            left = leftover(name)
            if left is not None and not _is_owned(left.owner, at, name):
                yield at, name, left


def _remove_folders(disk: Disk, path: str, folders: int) -> None:
    folder = os.path.dirname(path)
    for _ in range(folders):
        removed, (folder, name) = folder, os.path.split(folder)
        with FOLDER_LOCKS.hold([removed]), contextlib.suppress(OSError), directory(folder) as at:
            disk.rmdir(name, at)


def _is_owned(owner: int, at: int, name: str) -> bool:
    """Whether the process that made a file may still need it; process ids are used again.

    This process does not: it changes nothing in a folder while it looks there.
    """
    if owner == os.getpid() or not _is_alive(owner):
        return False
    began = _began(owner)
    made = os.stat(name, dir_fd=at, follow_symlinks=False).st_ctime
    return began is None or began < made + SLACK_SECONDS


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _began(process: int) -> float | None:
    """Return when a process began, in unix seconds, where the system tells (Linux)."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        lines = Path("/proc/stat").read_text().splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return booted + ticks / os.sysconf("SC_CLK_TCK")
