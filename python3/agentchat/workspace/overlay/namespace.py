"""Enters an overlay of the workspace, then runs the workspace server in it. Linux only.

The host runs the source of this module in a plain Python, which then reads its settings as JSON
(``launcher.OverlayLauncher.prelude``); so it imports nothing but the standard library. It makes, in
this order:

1. New user, mount, process, IPC and (unless asked otherwise) network namespaces. The user keeps
   their id; root keeps all ids of its own namespace.
2. A copy of the whole file system, read-only, without devices and setuid programs. In it: a private
   ``/dev`` and ``/proc``, and what ``mounts`` lists.
3. The copy becomes the root, and the real one is detached, so that no path leads to it.
4. All capabilities are dropped, so nothing that runs here can mount or unmount. Root keeps those
   about owners and modes of files.

Where ``bubblewrap`` did the first three, the settings have no mounts.

All processes end with the first one, and all mounts with the last process. A step that fails is
one line on standard error, ``FAILED step: reason``.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any, NoReturn

FAILED = "agentchat overlay failed to "

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
AT_RECURSIVE = 0x8000
SYS_MOUNT_SETATTR = 442
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
CAPABILITY_VERSION_3 = 0x20080522
FILE_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7)
"""What root keeps: chown, dac_override, fowner, fsetid, kill, setgid, setuid."""
LAST_CAPABILITY = 63
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

_libc = ctypes.CDLL(None, use_errno=True)


class StepFailed(Exception):
    """A step that failed: its name and the error."""


def step(name: str, call: Callable[[], int]) -> None:
    """Make a call of the C library; raises StepFailed."""
    if call() < 0:
        raise StepFailed(f"{name}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount something; raises StepFailed."""
    names = [os.fsencode(name) for name in (source, target, kind, options)]
    text = f"mount {kind or 'a part of the file system'} at {target}"
    step(text, lambda: _libc.mount(names[0], names[1], names[2], ctypes.c_ulong(flags), names[3]))


def restrict(target: str, flags: int, *, deep: bool = True) -> None:
    """Add flags to a mount and, if ``deep``, to all mounts below it; raises StepFailed."""
    attributes = struct.pack("QQQQ", flags, 0, 0, 0)
    depth = AT_RECURSIVE if deep else 0
    path = os.fsencode(target)
    step(
        f"make {target} read-only",
        lambda: _libc.syscall(SYS_MOUNT_SETATTR, -1, path, depth, attributes, len(attributes)),
    )


# --- namespaces -----------------------------------------------------------------------------------


def enter_namespaces(network: bool) -> None:
    """Move this process into new namespaces; its next child is the first process there."""
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC
    flags |= 0 if network else CLONE_NEWNET
    user, group = os.geteuid(), os.getegid()
    maps = _own_maps() if user == 0 else {"uid": f"{user} {user} 1", "gid": f"{group} {group} 1"}
    ready, go = os.pipe()
    helper = os.fork()
    if helper == 0:  # only a process outside may write a map of many ids
        os.close(go)
        os._exit(0 if os.read(ready, 1) and _write_maps(os.getppid(), maps) else 1)
    os.close(ready)
    try:
        step("create a user namespace", lambda: _libc.unshare(flags))
        if user != 0:
            _write_maps(os.getpid(), maps)
            os.close(go)
            go = -1
        else:
            os.write(go, b"1")
    finally:
        if go >= 0:
            os.close(go)
        status = os.waitpid(helper, 0)[1]
    if user == 0 and status:
        raise StepFailed("map the ids of users: Operation not permitted")


def _own_maps() -> dict[str, str]:
    """Return maps that leave every id of this namespace as it is."""
    maps = {}
    for kind in ("uid", "gid"):
        with open(f"/proc/self/{kind}_map") as file:
            rows = [line.split() for line in file]
        maps[kind] = "\n".join(f"{first} {first} {count}" for first, _, count in rows)
    return maps


def _write_maps(process: int, maps: dict[str, str]) -> bool:
    try:
        if os.geteuid() != 0:
            _write(f"/proc/{process}/setgroups", "deny")
        for kind, text in maps.items():
            _write(f"/proc/{process}/{kind}_map", text)
    except OSError as error:
        if process == os.getpid():
            raise StepFailed(f"map the ids of users: {error.strerror}") from error
        return False
    return True


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def fork_first_process() -> None:
    """Go on as the first process of the namespace; the parent waits for it and exits alike."""
    child = os.fork()
    if child:
        for fd in (0, 1):
            os.close(fd)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(code if code >= 0 else 128 - code)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def start_loopback() -> None:
    """Let programs of this namespace talk to one another by network, like tests do."""
    request = struct.pack("16sh22x", b"lo", IFF_UP)
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, SIOCSIFFLAGS, request)


# --- the file system ------------------------------------------------------------------------------


class Root:
    """The new root: a copy of the whole file system below the folder ``top``."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._top: str = spec["top"]
        self._spec = spec
        self._temporary = f"size={spec['temporary']}"

    def build(self) -> None:
        """Mount everything; raises StepFailed."""
        mount("", "/", "", MS_REC | MS_PRIVATE)
        mount("/", self._top, "", MS_BIND | MS_REC)
        restrict(self._top, MS_RDONLY | MS_NOSUID | MS_NODEV)
        mount("tmpfs", self._spec["scratch"], "tmpfs", 0, f"mode=700,{self._temporary}")
        self._devices()
        make = {
            "private": self._private,
            "show": self._show,
            "hide": self._hide,
            "forget": self._forget,
            "stage": self._stage,
        }
        for kind, path in self._spec["mounts"]:
            make[kind](path)
        mount("proc", self._inside("/proc"), "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)

    def enter(self) -> None:
        """Make it the root of this process; raises StepFailed."""
        os.chdir(self._top)
        number = SYS_PIVOT_ROOT.get(os.uname().machine)
        if number is None:
            raise StepFailed(f"change the root: not known how on {os.uname().machine}")
        step("change the root", lambda: _libc.syscall(number, b".", b"."))
        step("detach the old root", lambda: _libc.umount2(b".", MNT_DETACH))
        os.chdir(self._spec["root"])

    def _inside(self, path: str) -> str:
        return self._top + path

    def _mount_point(self, path: str) -> str:
        """Return the folder to mount on, which a private or hidden folder may not have yet."""
        inside = self._inside(path)
        os.makedirs(inside, exist_ok=True)
        return inside

    def _private(self, path: str) -> None:
        options = f"mode=1777,{self._temporary}"
        mount("tmpfs", self._inside(path), "tmpfs", MS_NOSUID | MS_NODEV, options)

    def _show(self, path: str) -> None:
        inside = self._inside(path)
        if not os.path.lexists(inside):
            os.makedirs(inside)
        mount(path, inside, "", MS_BIND | MS_REC)
        restrict(inside, MS_RDONLY | MS_NOSUID | MS_NODEV)

    def _hide(self, path: str) -> None:
        if os.path.isdir(path):
            # Not read-only: the workspace may lie in it and need its mount point.
            options = "mode=755,size=64k"
            mount("tmpfs", self._mount_point(path), "tmpfs", MS_NOSUID | MS_NODEV, options)
        else:
            mount(self._spec["empty"], self._inside(path), "", MS_BIND)
            restrict(self._inside(path), MS_RDONLY, deep=False)

    def _forget(self, path: str) -> None:
        scratch = os.path.join(self._spec["scratch"], str(len(os.listdir(self._spec["scratch"]))))
        layers = [os.path.join(scratch, name) for name in ("upper", "work")]
        for folder in (scratch, *layers):
            os.mkdir(folder)
        os.chmod(layers[0], stat.S_IMODE(os.stat(path).st_mode))
        with contextlib.suppress(StepFailed):  # then it is read-only like the rest
            self._overlay(path, *layers)

    def _stage(self, path: str) -> None:
        self._overlay(path, self._spec["upper"], self._spec["work"])

    def _overlay(self, path: str, upper: str, work: str) -> None:
        """Mount an overlay over a folder; by numbers, since a path may contain any character."""
        layers = [os.open(folder, os.O_PATH) for folder in (path, upper, work)]
        options = "lowerdir={},upperdir={},workdir={},userxattr".format(
            *(f"/proc/self/fd/{fd}" for fd in layers)
        )
        inside = self._mount_point(path)
        try:
            mount("overlay", inside, "overlay", MS_NOSUID | MS_NODEV, f"{options},xino=on")
        except StepFailed:
            mount("overlay", inside, "overlay", MS_NOSUID | MS_NODEV, options)
        finally:
            for fd in layers:
                os.close(fd)

    def _devices(self) -> None:
        """Replace ``/dev`` by one with harmless devices only."""
        folder = self._inside("/dev")
        mount("tmpfs", folder, "tmpfs", MS_NOSUID, "mode=755,size=64k")
        for name in DEVICES:
            if os.path.exists(f"/dev/{name}"):
                with open(f"{folder}/{name}", "w"):
                    pass
                mount(f"/dev/{name}", f"{folder}/{name}", "", MS_BIND)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"/proc/self/fd/{number}", f"{folder}/{name}")
        os.symlink("/proc/self/fd", f"{folder}/fd")
        os.symlink("pts/ptmx", f"{folder}/ptmx")
        for name, kind, options in (
            ("pts", "devpts", "newinstance,ptmxmode=0666,mode=620"),
            ("shm", "tmpfs", f"mode=1777,{self._temporary}"),
        ):
            os.mkdir(f"{folder}/{name}")
            mount(kind, f"{folder}/{name}", kind, MS_NOSUID | MS_NOEXEC, options)


# --- privileges -----------------------------------------------------------------------------------


def drop_privileges(quota: int) -> None:
    """Give up all capabilities but those of root about files, and limit the size of a file."""
    kept = set(FILE_CAPABILITIES) if os.geteuid() == 0 else set[int]()
    for number in range(LAST_CAPABILITY + 1):
        if number not in kept:
            _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    mask = sum(1 << number for number in kept)
    header = struct.pack("II", CAPABILITY_VERSION_3, 0)
    data = struct.pack("IIIIII", mask, mask, 0, 0, 0, 0)
    step("drop privileges", lambda: _libc.capset(header, data))
    step("drop privileges", lambda: _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    # No command may read the memory or the connection of this process.
    _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (quota, quota))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def enter(spec: dict[str, Any]) -> None:
    """Enter the overlay; raises StepFailed or OSError."""
    enter_namespaces(spec["network"])
    fork_first_process()
    if not spec["network"]:
        start_loopback()
    root = Root(spec)
    root.build()
    root.enter()


def main() -> NoReturn:
    """Enter the overlay, then run what standard input sends: the workspace server."""
    stream = sys.stdin.buffer
    settings = json.loads(stream.read(int(stream.readline())))
    try:
        if "mounts" in settings:
            enter(settings)
        drop_privileges(settings["quota"])
    except (StepFailed, OSError) as error:
        os.write(2, f"{FAILED}{error}\n".encode("utf-8", "surrogateescape"))
        os._exit(1)
    exec(stream.read(int(stream.readline())), {"__name__": "__main__"})
    sys.exit()


if __name__ == "__main__":
    main()
