"""Builds the file system that a command in an overlay sees, out of the mounts of ``mounts``.

It begins empty, so what is not listed is not there. Folders of this machine are shown through an
overlay of their own: a socket or a pipe that lies there is then another one than that of the
machine, so nothing can be reached through it. All that is temporary is in one file system in
memory, whose size is the limit of all of it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agentchat.workspace.overlay.namespace import (
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    MS_REC,
    StepFailed,
    change_root,
    mount,
    restrict,
)

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
MASKS = "/dev/.hidden"
HARMLESS = MS_NOSUID | MS_NODEV


class Root:
    """A new root for this process.

    Args:
        spec: ``top``, an empty folder to mount it on; ``size``, the most bytes of what is
            temporary; ``masks``, a folder with files for the places of hidden ones;
            ``mounts``.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._scratch: str = spec["top"]
        self._top = f"{self._scratch}/root"
        self._empty = f"{self._scratch}/empty"
        self._spec = spec
        self._layers = 0

    def build(self) -> None:
        """Mount everything; raises StepFailed or OSError."""
        mount("tmpfs", self._scratch, "tmpfs", HARMLESS, f"mode=755,size={self._spec['size']}")
        for folder in (self._top, self._empty):
            os.mkdir(folder, 0o755)
        mount(self._top, self._top, "", MS_BIND)
        self._devices()
        make: dict[str, Callable[..., None]] = {
            "temporary": self._temporary,
            "show": self._show,
            "hide": self._hide,
            "forget": self._forget,
            "stage": self._stage,
            "link": self._link,
            "file": self._file,
        }
        for kind, path, *details in self._spec["mounts"]:
            make[kind](path, *details)
        os.makedirs(f"{self._top}/proc")
        _mount_proc(self._top)
        restrict(self._top, MS_RDONLY, deep=False)

    def enter(self) -> None:
        """Make it the root of this process, without a way back; raises StepFailed."""
        change_root(self._top)

    def _folder(self, path: str) -> str:
        inside = self._top + path
        os.makedirs(inside, exist_ok=True)
        return inside

    def _file_below(self, path: str) -> str:
        inside = self._top + path
        if not os.path.lexists(inside):
            os.makedirs(os.path.dirname(inside), exist_ok=True)
            with open(inside, "x"):
                pass
        return inside

    def _temporary(self, path: str, mode: int = 0o755) -> None:
        inside = self._folder(path)
        os.chmod(inside, mode)
        mount(inside, inside, "", MS_BIND)

    def _show(self, path: str) -> None:
        if not os.path.isdir(path):
            inside = self._file_below(path)
            mount(path, inside, "", MS_BIND)
            restrict(inside, MS_RDONLY | HARMLESS)
            return
        inside = self._folder(path)
        try:
            self._overlay(inside, (path, self._empty), MS_RDONLY | HARMLESS)
        except StepFailed:  # something else is mounted below it
            mount(path, inside, "", MS_BIND | MS_REC)
            restrict(inside, MS_RDONLY | HARMLESS)

    def _hide(self, path: str, mask: str) -> None:
        hide(self._top, path, mask)

    def _forget(self, path: str) -> None:
        self._layers += 1
        layers = [f"{self._scratch}/{self._layers}-{name}" for name in ("upper", "work")]
        for folder in layers:
            os.mkdir(folder)
        os.chmod(layers[0], stat.S_IMODE(os.stat(path).st_mode))
        try:
            self._overlay(self._folder(path), (path,), HARMLESS, *layers)
        except StepFailed:  # the kernel is too old for an upper folder in memory
            self._show(path)

    def _stage(self, path: str, lower: Sequence[str], upper: str, work: str) -> None:
        inside = self._folder(path)
        # Without "volatile" the kernel writes the whole disk's cache out when the command ends.
        for more in (",xino=on,volatile", ",volatile"):
            with contextlib.suppress(StepFailed):
                self._overlay(inside, (*lower, path), HARMLESS, upper, work, more)
                return
        self._overlay(inside, (*lower, path), HARMLESS, upper, work)

    def _overlay(
        self,
        inside: str,
        lower: Sequence[str],
        flags: int,
        upper: str = "",
        work: str = "",
        more: str = "",
    ) -> None:
        """Mount an overlay; by numbers of folders, since a path may contain any character."""
        opened = [os.open(folder, os.O_PATH) for folder in (*lower, upper, work) if folder]
        names = [f"/proc/self/fd/{fd}" for fd in opened]
        options = f"lowerdir={':'.join(names[: len(lower)])},userxattr{more}"
        if upper:
            options += f",upperdir={names[-2]},workdir={names[-1]}"
        try:
            mount("overlay", inside, "overlay", flags, options)
        finally:
            for fd in opened:
                os.close(fd)

    def _link(self, path: str, target: str) -> None:
        inside = self._top + path
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        os.symlink(target, inside)

    def _file(self, path: str, text: str) -> None:
        inside = self._file_below(path)
        with open(inside, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)

    def _devices(self) -> None:
        """Make ``/dev`` with harmless devices only."""
        folder = self._folder("/dev")
        for name in DEVICES:
            if os.path.exists(f"/dev/{name}"):
                mount(f"/dev/{name}", self._file_below(f"/dev/{name}"), "", MS_BIND)
        mount(self._spec["masks"], self._folder(MASKS), "", MS_BIND)
        restrict(self._top + MASKS, MS_RDONLY | HARMLESS, deep=False)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"/proc/self/fd/{number}", f"{folder}/{name}")
        os.symlink("/proc/self/fd", f"{folder}/fd")
        os.symlink("pts/ptmx", f"{folder}/ptmx")
        options = "newinstance,ptmxmode=0666,mode=620"
        mount("devpts", self._folder("/dev/pts"), "devpts", MS_NOSUID | MS_NOEXEC, options)
        self._temporary("/dev/shm", 0o1777)


def cover(mounts: Iterable[Sequence[str]]) -> None:
    """Change the root of another process for a new one: other processes, and more is hidden."""
    _mount_proc("")
    for _, path, mask in mounts:
        hide("", path, mask)


def hide(top: str, path: str, mask: str) -> None:
    """Put an empty folder, or a file that cannot be opened, in the place of what is there."""
    inside = top + path
    if not os.path.lexists(inside):
        return
    if os.path.isdir(inside):
        mount("tmpfs", inside, "tmpfs", MS_RDONLY | HARMLESS, "mode=555,size=4k")
    else:
        mount(f"{top}{MASKS}/{mask}", inside, "", MS_BIND)


def _mount_proc(top: str) -> None:
    flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
    mount("proc", f"{top}/proc", "proc", flags)
