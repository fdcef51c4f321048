"""Unix sockets in a folder that only their owner can enter: a process listens, others find it.

Each process that listens has one socket, named after its process id. A socket whose process is
gone refuses connections and is removed by whoever finds it.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentchat.rpc.peer import IncomingRequest, Peer

SUFFIX = ".sock"
LONGEST_ADDRESS = 100
"""Bytes of a path that every system takes as the address of a socket."""

BACKLOG = 16


def listen(folder: Path) -> socket.socket:
    """Return a listening socket of this process in ``folder``, which is made if it is missing.

    Raises OSError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    sweep(folder)
    path = socket_path(folder)
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            listening.bind(address)
        path.chmod(0o600)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def stop(listening: socket.socket, folder: Path) -> None:
    """Close the listening socket of this process, and remove it."""
    socket_path(folder).unlink(missing_ok=True)
    listening.close()


def socket_path(folder: Path) -> Path:
    """Return the path of the socket of this process."""
    return folder / f"{os.getpid()}{SUFFIX}"


def connect(path: Path) -> socket.socket:
    """Return a connection to a process of the same user; raises OSError."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            connected.connect(address)
        check_owner(connected)
    except OSError:
        connected.close()
        raise
    return connected


def find(folder: Path) -> list[Path]:
    """Return the sockets in a folder, the newest first; none if it is another user's."""
    try:
        if folder.stat().st_uid != os.getuid():
            return []
        paths = {path: path.stat().st_mtime for path in folder.glob(f"*{SUFFIX}")}
    except OSError:
        return []
    return sorted(paths, key=lambda path: paths[path], reverse=True)


def sweep(folder: Path) -> None:
    """Remove the sockets that nobody listens on."""
    for path in find(folder):
        try:
            connect(path).close()
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            continue


def check_owner(connected: socket.socket) -> None:
    """Raise PermissionError if another user is at the other end.

    Where the system cannot say who it is, the folder keeps others out.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return
    credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    if user != os.getuid():
        raise PermissionError(f"the process at the other end belongs to user {user}")


def make_peer(
    connected: socket.socket, serve: Callable[[IncomingRequest], None] | None = None
) -> Peer:
    """Return a peer that owns the connection; it is not started."""
    connected.setblocking(True)
    source = connected.makefile("rb")
    sink = os.dup(connected.fileno())
    peer = Peer(source, sink, serve)
    peer.end_reason.add_done_callback(lambda _: _shut_down(connected))
    return peer


def _shut_down(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)  # ends the read that the other thread is in
    connected.close()


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """Yield the address of a socket: its path, or a shorter one that leads to the same file."""
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
