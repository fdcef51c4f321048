"""Cleans up what a killed process left beside the files that it was changing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentchat.core.diff.aspects import entry_of
from agentchat.workspace.files.disk import FOLDER_LOCKS, Disk, directory
from agentchat.workspace.files.operation import TemporaryFile, parse_temporary_name

START_TOLERANCE_SECONDS = 2.0
"""The start of a process is known to this precision."""


def restore_originals(paths: Iterable[str], disk: Disk | None = None) -> None:
    """Restore the names of files that were set aside for removal, where no other file has them."""
    disk = disk or Disk()
    for folder, names in _by_folder(paths).items():
        with FOLDER_LOCKS.hold([folder]):
            for dir_fd, name, leftover in _leftovers(folder):
                for target in names:
                    if leftover.aside and leftover.belongs_to(target):
                        with contextlib.suppress(OSError):
                            disk.link(name, target, dir_fd)
                            disk.unlink(name, dir_fd)


def remove_leftovers(folders_made: Mapping[str, int], disk: Disk | None = None) -> None:
    """Remove temporary files beside these paths, and folders made for files that do not exist.

    Args:
        folders_made: by path, how many folders above the file were made with it.
    """
    disk = disk or Disk()
    for folder in _by_folder(folders_made):
        with FOLDER_LOCKS.hold([folder]):
            for dir_fd, name, _ in _leftovers(folder):
                with contextlib.suppress(OSError):
                    disk.unlink(name, dir_fd)
    for path, folders in folders_made.items():
        _remove_folders(disk, path, folders)


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the file names of each folder."""
    names: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder, name = os.path.split(entry_of(path))
        names.setdefault(folder, []).append(name)
    return names


def _leftovers(folder: str) -> Iterator[tuple[int, str, TemporaryFile]]:
    """Yield each temporary file without a living owner: its folder's handle, name and meaning."""
    with contextlib.suppress(OSError), directory(folder) as dir_fd:
        for name in os.listdir(dir_fd):
            leftover = parse_temporary_name(name)
            if leftover is not None and not _is_owned(leftover.owner, dir_fd, name):
                yield dir_fd, name, leftover


def _remove_folders(disk: Disk, path: str, folders: int) -> None:
    folder = os.path.dirname(entry_of(path))
    for _ in range(folders):
        removed, (folder, name) = folder, os.path.split(folder)
        with (
            FOLDER_LOCKS.hold([removed]),
            contextlib.suppress(OSError),
            directory(folder) as dir_fd,
        ):
            disk.rmdir(name, dir_fd)


def _is_owned(owner: int, dir_fd: int, name: str) -> bool:
    """Whether the process that made a file may still need it; process ids are reused.

    This process does not need it: it holds the lock of the folder.
    """
    if owner == os.getpid() or not _is_alive(owner):
        return False
    started = _start_time(owner)
    created = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ctime
    return started is None or started < created + START_TOLERANCE_SECONDS


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _start_time(process: int) -> float | None:
    """Return when a process started, in unix seconds; ``None`` where there is no ``/proc``."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        lines = Path("/proc/stat").read_text().splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return booted + ticks / os.sysconf("SC_CLK_TCK")
