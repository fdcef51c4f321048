"""The folder on disk that keeps the changes of an overlay, between turns and after a crash."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from agentchat.workspace.overlay.namespace import nobodys_id

LOCK_TRIES, LOCK_SECONDS = 10, 0.1

OLD = "old-"
"""Begins the name of a folder that is being removed."""


class OverlayFolder:
    """The folder of one chat's overlay, below the state folder of the plugin.

    ``upper`` holds what was changed. ``work`` belongs to the kernel, ``top`` is a mount point. A
    process that uses the folder holds a lock on it, so that no other one does.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def upper(self) -> Path:
        """The changes: files as they are now, and marks for what was deleted."""
        return self.path / "upper"

    def prepare(self, root: str) -> None:
        """Make what is missing for a mount over ``root``, which needs an empty work folder."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._wait_for_lock():
            raise BlockingIOError(errno.EWOULDBLOCK, "another Neovim uses it", str(self.path))
        remove_tree(self.path / "work")
        for name in ("upper", "work", "top", "scratch"):
            (self.path / name).mkdir(mode=0o755, exist_ok=True)
        if not any(self.upper.iterdir()):
            # The upper folder lends the root its mode and owner.
            shutil.copystat(root, self.upper)
            status = os.stat(root)
            with contextlib.suppress(PermissionError):
                os.chown(self.upper, status.st_uid, status.st_gid)
        self.masks.mkdir(mode=0o755, exist_ok=True)

    @property
    def masks(self) -> Path:
        """Files to show in the place of secret ones, see ``mask``."""
        return self.path / "masks"

    def mask(self, path: str) -> str:
        """Return the name of a file for the place of another one, which no command can open.

        It has no mode, and for root it belongs to nobody. Size and time are the same, so that git
        takes a file that it knows for unchanged.
        """
        try:
            status = os.stat(path)
            size, time_ns = status.st_size, status.st_mtime_ns
        except OSError:
            size = time_ns = 0
        mask = self.masks / f"{size}-{time_ns}"
        if not mask.exists():
            mask.touch(mode=0o600)
            os.truncate(mask, size)
            os.utime(mask, ns=(time_ns, time_ns))
            mask.chmod(0)
            if os.geteuid() == 0:
                os.chown(mask, nobodys_id(), nobodys_id())
        return mask.name

    def hide(self, paths: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return the mounts that hide files and folders."""
        return [("hide", path, self.mask(path)) for path in paths]

    def clear(self) -> None:
        """Forget all changes; removing many files goes on in the background."""
        if not self.upper.is_dir():
            return
        old = self.path / f"{OLD}{uuid.uuid4().hex}"
        self.upper.rename(old)
        threading.Thread(target=remove_tree, args=(old,), name="clearing", daemon=True).start()

    def holds_changes(self) -> bool:
        """Whether something was changed and neither applied nor discarded."""
        return self.upper.is_dir() and any(self.upper.iterdir())

    def lock(self) -> bool:
        """Take the lock, until ``unlock`` or the end of the process; return whether it was free."""
        if self._lock is None:
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                return False
            self._lock = lock
        return True

    def _wait_for_lock(self) -> bool:
        """Take the lock, even if ``sweep`` has it for a moment."""
        for _ in range(LOCK_TRIES):
            if self.lock():
                return True
            time.sleep(LOCK_SECONDS)
        return self.lock()

    def unlock(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remove(self) -> None:
        """Remove the folder."""
        remove_tree(self.path)
        self.unlock()


def remove_tree(path: Path) -> None:
    """Remove a folder, also where modes forbid that; what cannot be removed stays."""
    try:
        shutil.rmtree(path, ignore_errors=True)
    except RecursionError:  # this program does not remove by recursion
        subprocess.run(("/bin/rm", "-rf", "--", path), stderr=subprocess.DEVNULL, env={})
    if not os.path.lexists(path):
        return
    for folder, names, _ in os.walk(path):
        for name in names:
            below = os.path.join(folder, name)
            if not os.path.islink(below):
                with contextlib.suppress(OSError):  # another thread may remove it, too
                    os.chmod(below, 0o700)
    shutil.rmtree(path, ignore_errors=True)


def sweep(overlays: Path, *, keeps_changes: bool = True) -> None:
    """Remove what killed processes left of overlays.

    Args:
        keeps_changes: whether folders with changes stay for their chats.

    Mounts and processes end with the process that made them, so only files can be left.
    """
    for path in overlays.iterdir() if overlays.is_dir() else ():
        folder = OverlayFolder(path)
        try:
            if not folder.lock():
                continue
            _sweep(folder, keeps_changes=keeps_changes)
        except OSError:
            continue
        finally:
            folder.unlock()


def _sweep(folder: OverlayFolder, *, keeps_changes: bool) -> None:
    if not (keeps_changes and folder.holds_changes()):
        folder.remove()
        return
    for name in os.listdir(folder.path):
        if name == "work" or name.startswith(OLD):
            remove_tree(folder.path / name)
