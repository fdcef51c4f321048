"""A process that has imported what a host imports, and forks a host from itself on request.

    python prefork_server.py FOLDER RPLUGIN_FOLDER LISTENING_SOCKET

It serves the socket, a file descriptor, until its standard input ends, and then removes the folder.
A file `FOLDER/hosts/PARENT-PID` stands for each host that runs. Modules that a host imported later
are imported here when it has ended, so that the next one finds them loaded.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

PRELOADED = ("pynvim", "agentchat_rplugin")


@dataclass
class Host:
    """A forked host: the connection of the process that stands for it, and its files."""

    connection: socket.socket
    entry: Path


class PreforkServer:
    """Forks hosts and tells each one's client how it ended."""

    def __init__(self, folder: Path, listener: socket.socket) -> None:
        self._folder = folder
        self._hosts: dict[int, Host] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        self._wakeup, self._woken = socket.socketpair()
        for end in (self._wakeup, self._woken):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._woken.fileno())

    def serve(self) -> None:
        """Serve until standard input ends; then kill the hosts that are left."""
        for source in (0, self._listener, self._wakeup):
            self._selector.register(source, selectors.EVENT_READ)
        while all(self._handle(key.fileobj) for key, _ in self._selector.select()):
            continue
        for pid in self._hosts:
            os.kill(pid, signal.SIGKILL)

    def _handle(self, source: Any) -> bool:
        """Handle what can be read from ``source``; return whether to go on."""
        if source is self._listener:
            self._start(self._listener.accept()[0])
        elif source is self._wakeup:
            self._wakeup.recv(4096)
            self._reap()
        elif source == 0:
            return bool(os.read(0, 1))
        else:
            self._forward_signal(source)
        return True

    def _start(self, connection: socket.socket) -> None:
        try:
            parent, arguments, cwd, environment, streams = receive(connection)
        except (OSError, EOFError, ValueError):  # the client was killed in the middle
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            self._close_all(connection)
            become_host(arguments, cwd, environment, streams, self._folder)
        for stream in streams:
            os.close(stream)
        entry = self._folder / "hosts" / f"{parent}-{pid}"
        entry.touch()
        self._hosts[pid] = Host(connection, entry)
        self._selector.register(connection, selectors.EVENT_READ)

    def _close_all(self, connection: socket.socket) -> None:
        """Close, in a new host, what belongs to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        others = [host.connection for host in self._hosts.values()]
        for end in (self._listener, self._wakeup, self._woken, connection, *others):
            end.close()

    def _forward_signal(self, connection: socket.socket) -> None:
        """Send a host the signal its client got; a client that is gone was killed."""
        for pid, host in self._hosts.items():
            if host.connection is connection:
                try:
                    number = connection.recv(1)
                except OSError:  # the client was killed
                    number = b""
                if not number:
                    self._selector.unregister(connection)
                os.kill(pid, number[0] if number else signal.SIGKILL)
                return

    def _reap(self) -> None:
        while self._hosts:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._finish(pid, os.waitstatus_to_exitcode(status))

    def _finish(self, pid: int, status: int) -> None:
        host = self._hosts.pop(pid)
        host.entry.unlink()
        with contextlib.suppress(KeyError):
            self._selector.unregister(host.connection)
        with contextlib.suppress(OSError):
            host.connection.sendall(status.to_bytes(4, "big", signed=True))
        host.connection.close()
        import_also(self._folder / f"modules-{pid}")


def receive(connection: socket.socket) -> tuple[int, list[str], str, dict[bytes, bytes], list[int]]:
    """Read a request of `prefork_client.py`, with the standard streams it passes."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as file:
        parent, arguments, cwd, environment = marshal.loads(file.read(int.from_bytes(size, "big")))
    return parent, arguments, cwd, environment, streams


def become_host(
    arguments: list[str],
    cwd: str,
    environment: dict[bytes, bytes],
    streams: list[int],
    folder: Path,
) -> None:
    """Run ``-c CODE ARGUMENTS`` as a new Python would, and end this process."""
    os.setsid()
    os.chdir(cwd)
    os.environb.clear()
    os.environb.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = ["-c", *arguments[2:]]
    known = set(sys.modules)
    status = run(compile(arguments[1], "<string>", "exec"))
    later = [name for name in sys.modules if name not in known]
    (folder / f"modules-{os.getpid()}").write_text("\n".join(later))
    os._exit(status)


def run(code: CodeType) -> int:
    """Run code as a script and what is to run at exit; return the exit code."""
    status = 0
    try:
        exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def import_also(names: Path) -> None:
    """Import the modules that a host has imported; a host that was killed left no list."""
    if names.exists():
        for name in names.read_text().split():
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        names.unlink()
        gc.freeze()


def main() -> None:
    """Serve until standard input ends."""
    folder, rplugin, listener = sys.argv[1:]
    sys.path.append(rplugin)
    server = PreforkServer(Path(folder), socket.socket(fileno=int(listener)))
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    server.serve()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
