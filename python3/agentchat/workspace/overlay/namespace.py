"""System calls that make a part of this machine's file system and processes private. Linux only.

``server`` makes with them what a command in an overlay sees: namespaces, a root of its own, and
few privileges. It runs in a plain Python, so all modules that it imports need nothing but the
standard library. A step that fails raises StepFailed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
AT_RECURSIVE = 0x8000
SYS_MOUNT_SETATTR = 442
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
JOIN_SESSION_KEYRING = 1
CAPABILITY_VERSION_3 = 0x20080522
FILE_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7)
"""What root keeps: chown, dac_override, fowner, fsetid, kill, setgid, setuid."""
LAST_CAPABILITY = 63
CALLS = {
    "x86_64": (56, 155, 250),
    "aarch64": (220, 41, 219),
    "riscv64": (220, 41, 219),
    "ppc64le": (120, 203, 271),
    "s390x": (120, 217, 280),
}
"""The numbers of ``clone``, ``pivot_root`` and ``keyctl``; later calls have one everywhere."""

_libc = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock, also across ``clone``


class StepFailed(Exception):
    """A step that failed: its name and the error."""


def step(name: str, call: Callable[[], int]) -> int:
    """Make a call of the C library and return its result; raises StepFailed."""
    result = call()
    if result < 0:
        raise StepFailed(f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def _number(call: int) -> int:
    machine = os.uname().machine
    if machine not in CALLS:
        raise StepFailed(f"make system calls: not known how on {machine}")
    return CALLS[machine][call]


# --- mounts ---------------------------------------------------------------------------------------


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


def change_root(folder: str) -> None:
    """Make a mounted folder the root of this process, and detach the real one."""
    os.chdir(folder)
    number = _number(1)
    step("change the root", lambda: _libc.syscall(number, b".", b"."))
    step("detach the old root", lambda: _libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


# --- namespaces -----------------------------------------------------------------------------------


def enter_user_namespace() -> None:
    """Move this process into new user and mount namespaces, where it may mount.

    The user keeps their id; root keeps all ids but the last, whose files it cannot open then.
    """
    user, group = os.geteuid(), os.getegid()
    maps = own_maps() if user == 0 else {"uid": f"{user} {user} 1", "gid": f"{group} {group} 1"}
    ready, go = os.pipe()
    helper = os.fork()
    if helper == 0:  # only a process outside may write a map of many ids
        os.close(go)
        os._exit(0 if os.read(ready, 1) and _write_maps(os.getppid(), maps) else 1)
    os.close(ready)
    try:
        step("create a user namespace", lambda: _libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
        if user != 0:
            _write_maps(os.getpid(), maps)
        else:
            os.write(go, b"1")
    finally:
        os.close(go)
        status = os.waitpid(helper, 0)[1]
    if user == 0 and status:
        raise StepFailed("map the ids of users: Operation not permitted")
    mount("", "/", "", MS_REC | MS_PRIVATE)


def own_maps() -> dict[str, str]:
    """Return maps that leave every id of this namespace as it is, and leave out the last one."""
    maps = {}
    for kind in ("uid", "gid"):
        with open(f"/proc/self/{kind}_map") as file:
            rows = [[int(number) for number in line.split()] for line in file]
        if rows[-1][2] > 1:
            rows[-1][2] -= 1
        maps[kind] = "\n".join(f"{first} {first} {count}" for first, _, count in rows)
    return maps


def nobodys_id() -> int:
    """Return the id that ``own_maps`` leaves out."""
    first, _, count = own_maps()["uid"].splitlines()[-1].split()
    return int(first) + int(count)


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


def fork_into(flags: int) -> int:
    """Fork a child into new namespaces; return its process id, 0 in the child."""
    words = [ctypes.c_long(flags | signal.SIGCHLD), *[ctypes.c_long(0)] * 4]
    if os.uname().machine == "s390x":
        words[0], words[1] = words[1], words[0]
    number = _number(0)
    return step("create namespaces", lambda: _libc.syscall(ctypes.c_long(number), *words))


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def start_loopback() -> None:
    """Let programs of this namespace talk to one another by network, like tests do."""
    request = struct.pack("16sh22x", b"lo", IFF_UP)
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, SIOCSIFFLAGS, request)


# --- privileges -----------------------------------------------------------------------------------


def hide_memory() -> None:
    """Let no command read the memory or the open files of this process."""
    _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def drop_privileges() -> None:
    """Give up all capabilities but those of root about files, and the keys of the session."""
    kept = set(FILE_CAPABILITIES) if os.geteuid() == 0 else set[int]()
    for number in range(LAST_CAPABILITY + 1):
        if number not in kept:
            _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    mask = sum(1 << number for number in kept)
    header = struct.pack("II", CAPABILITY_VERSION_3, 0)
    data = struct.pack("IIIIII", mask, mask, 0, 0, 0, 0)
    step("drop privileges", lambda: _libc.capset(header, data))
    step("drop privileges", lambda: _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _libc.syscall(ctypes.c_long(_number(2)), ctypes.c_long(JOIN_SESSION_KEYRING), None)


def limit_resources(*, processes: int, memory: int, file_size: int) -> None:
    """Limit what each process may use: of the user's processes, bytes of memory and of a file.

    The kernel allows more processes than may be, so that who counts them sees that they are.
    """
    for kind, most in (
        (resource.RLIMIT_NPROC, 2 * processes),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        lowered = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (lowered, lowered))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
