"""Runs a program that may write in some folders only.

``python landlock.py NETWORK FOLDER… -- ARGV``; ``NETWORK`` is ``none``, ``no-tcp`` or ``open``.

It is a process of its own, so that the host does nothing of this between fork and exec. It uses
the standard library only. If the kernel cannot enforce all of it, it exits with ``IMPOSSIBLE`` and
runs nothing.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

NONE, NO_TCP, OPEN = "none", "no-tcp", "open"
"""The access to the network: none (a namespace of its own), all but TCP, all of it."""

IMPOSSIBLE = 125
LEAST_ABI = 3
"""Earlier versions cannot forbid to truncate files."""

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH = 1
GET_VERSION = 1
NO_NEW_PRIVILEGES = 38
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
SET_FLAGS, UP = 0x8914, 0x1

WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
WRITING = WRITE_FILE | TRUNCATE | sum(1 << bit for bit in range(4, 14))
"""Write, truncate, create, remove and move. Reading and executing stay allowed."""

TCP = 0b11
SCOPED = 0b11
"""Abstract sockets and signals reach no process outside."""

SINKS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    """Confine this process and execute the program; return only if that fails."""
    split = arguments.index("--")
    network, *folders = arguments[:split]
    try:
        if network == NONE:
            leave_network()
        confine(folders, network)
        os.execvp(arguments[split + 1], arguments[split + 1 :])
    except OSError as error:
        sys.stderr.write(f"agentchat: the sandbox failed: {error}\n")
    return IMPOSSIBLE


def abi() -> int:
    """Return the version of Landlock in the kernel; raises OSError if there is none."""
    return _call(CREATE_RULESET, None, ctypes.c_size_t(0), GET_VERSION)


def confine(folders: list[str], network: str) -> None:
    """Allow this process, and all it starts, to write below ``folders`` only; raises OSError."""
    version = abi()
    if version < LEAST_ABI or (network == NO_TCP and version < 4):
        raise OSError(f"Landlock version {version} is too old")
    ruleset = _call(CREATE_RULESET, *_attributes(version, network), 0)
    for folder in folders:
        _allow(ruleset, folder, WRITING)
    for sink in filter(os.path.exists, SINKS):
        _allow(ruleset, sink, WRITE_FILE | TRUNCATE)
    if _libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "privileges cannot be dropped")
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def leave_network() -> None:
    """Move into a network namespace that has only a loopback; raises OSError."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(NEW_NETWORK if user == 0 else NEW_USER | NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "no network namespace can be created")
    if user != 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))


def _attributes(version: int, network: str) -> tuple[ctypes.Array[ctypes.c_char], ctypes.c_size_t]:
    """Return the ruleset struct, in the length that this version knows, and that length."""
    tcp = TCP if network == NO_TCP else 0
    whole = struct.pack("=QQQ", WRITING, tcp, SCOPED)
    size = 8 if version < 4 else 16 if version < 6 else 24
    return ctypes.create_string_buffer(whole[:size], size), ctypes.c_size_t(size)


def _allow(ruleset: int, path: str, access: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, handle), 12)
        _call(ADD_RULE, ruleset, PATH_BENEATH, rule, 0)
    finally:
        os.close(handle)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock is missing or refuses")
    return result


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
