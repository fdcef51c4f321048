"""What a process that was killed left beside the files it was changing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentchat.workspace.files.disk import FOLDER_LOCKS, Disk, directory
from agentchat.workspace.files.operation import TemporaryFile, parse_temporary_name

START_TOLERANCE_SECONDS = 2.0
"""How exactly it is known when a process began."""


def restore_originals(paths: Iterable[str], disk: Disk | None = None) -> None:
    """Give files that were set aside to be removed their names back, unless these are taken."""
    disk = disk or Disk()
    for folder, names in _by_folder(paths).items():
        with FOLDER_LOCKS.hold([folder]):
            for dir_fd, name, left in _left_in(folder):
                for target in names:
                    if left.aside and left.belongs_to(target):
                        with contextlib.suppress(OSError):
                            disk.link(name, target, dir_fd)
                            disk.unlink(name, dir_fd)


def remove_leftovers(made: Mapping[str, int], disk: Disk | None = None) -> None:
    """Remove temporary files beside these paths, and folders made for files that are not there.

    Args:
        made: how many folders above each path were made with it.
    """
    disk = disk or Disk()
    for folder in _by_folder(made):
        with FOLDER_LOCKS.hold([folder]):
            for dir_fd, name, _ in _left_in(folder):
                with contextlib.suppress(OSError):
                    disk.unlink(name, dir_fd)
    for path, folders in made.items():
        _remove_folders(disk, path, folders)


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the names in each folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder, name = os.path.split(path)
        found.setdefault(folder, []).append(name)
    return found


def _left_in(folder: str) -> Iterator[tuple[int, str, TemporaryFile]]:
    """Yield a handle on the folder, the name and its meaning of all that nobody owns any more."""
    with contextlib.suppress(OSError), directory(folder) as dir_fd:
        for name in os.listdir(dir_fd):
            left = parse_temporary_name(name)
            if left is not None and not _is_owned(left.owner, dir_fd, name):
                yield dir_fd, name, left


def _remove_folders(disk: Disk, path: str, folders: int) -> None:
    folder = os.path.dirname(path)
    for _ in range(folders):
        removed, (folder, name) = folder, os.path.split(folder)
        with (
            FOLDER_LOCKS.hold([removed]),
            contextlib.suppress(OSError),
            directory(folder) as dir_fd,
        ):
            disk.rmdir(name, dir_fd)


def _is_owned(owner: int, dir_fd: int, name: str) -> bool:
    """Whether the process that made a file may still need it; process ids are used again.

    This process does not: it changes nothing in a folder while it looks there.
    """
    if owner == os.getpid() or not _is_alive(owner):
        return False
    began = _began(owner)
    made = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ctime
    return began is None or began < made + START_TOLERANCE_SECONDS


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
