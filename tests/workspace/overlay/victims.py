"""What commands of the tests attack: listeners, secrets and files of a machine, and its processes.

Everything is real, and notes what reached it. Nothing may be reached.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
import subprocess
import threading
import uuid
from pathlib import Path

SECRET = "open-sesame"
MARK = f"victim-{uuid.uuid4().hex[:8]}"
INSIDE = f"{MARK}-inside"
"""An argument of every process that a command of the tests leaves behind."""

SECRETS = (
    ".ssh/id_rsa", ".aws/credentials", "notes.txt", ".cargo/credentials.toml", ".netrc",
    ".config/gh/hosts.yml", "work/beside.txt", ".local/share/keyrings/login",
    "work/project/.env", "work/project/deep/server.key", "work/project/.ssh/config",
)  # fmt: skip
TOOLS = (".local/bin/tool", ".cargo/bin/tool", ".cache/pip/page", ".rustup/settings")
SYSTEM = ("/tmp", "/run", "/opt", "/var/lib", "/usr/local/share")


class Listeners:
    """Sockets and pipes that note the name of each that was reached."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self.sockets: dict[int, tuple[str, socket.socket]] = {}
        self.pipes: dict[int, str] = {}
        self._stop, self._stopping = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def names(self) -> list[str]:
        """The addresses: a path, ``@NAME`` for an abstract one, or ``tcp:HOST:PORT``."""
        return [*(name for name, _ in self.sockets.values()), *self.pipes.values()]

    def listen(self, address: str, kind: socket.SocketKind) -> None:
        """Listen at a path or an abstract name."""
        end = socket.socket(socket.AF_UNIX, kind)
        if address.startswith("@"):
            end.bind("\0" + address[1:])
        else:
            os.chdir(os.path.dirname(address))  # a longer path than 107 bytes cannot be bound
            end.bind(os.path.basename(address))
            os.chmod(address, 0o777)
            os.chdir("/")
        self._add(address, end)

    def listen_on_loopback(self, family: socket.AddressFamily, host: str) -> None:
        """Listen for TCP and UDP, if the machine has such addresses."""
        for kind, protocol in ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")):
            end = socket.socket(family, kind)
            try:
                end.bind((host, 0))
            except OSError:
                end.close()
                continue
            self._add(f"{protocol}:{host}:{end.getsockname()[1]}", end)

    def pipe(self, path: str) -> None:
        """Make a pipe in the file system, and read it."""
        os.mkfifo(path)
        os.chmod(path, 0o666)
        self.pipes[os.open(path, os.O_RDWR | os.O_NONBLOCK)] = path

    def start(self) -> None:
        """Begin to note."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and remove what is in the file system."""
        os.close(self._stopping)
        self._thread.join()
        for name in self.names:
            if name.startswith("/"):
                os.unlink(name)
        for _, end in self.sockets.values():
            end.close()
        for fd in (*self.pipes, self._stop):
            os.close(fd)

    def _add(self, name: str, end: socket.socket) -> None:
        if end.type == socket.SOCK_STREAM:
            end.listen()
        self.sockets[end.fileno()] = (name, end)

    def _watch(self) -> None:
        while True:
            ready = select.select([*self.sockets, *self.pipes, self._stop], (), ())[0]
            if self._stop in ready:
                return
            for fd in ready:
                self.reached.append(self._take(fd))

    def _take(self, fd: int) -> str:
        if fd in self.pipes:
            os.read(fd, 4096)
            return self.pipes[fd]
        name, end = self.sockets[fd]
        if end.type == socket.SOCK_STREAM:
            end.accept()[0].close()
        else:
            end.recv(4096)
        return name


class Machine:
    """A home with a project, and beside it what a command must not reach.

    Root has listeners in folders of the system, too.
    """

    def __init__(self, top: Path) -> None:
        self.top, self.home, self.state = top / "top", top / "top/home", top / "state"
        self.project = self.home / "work/project"
        self.secrets = [self.home / name for name in SECRETS]
        self.secrets += [self.state / "journal", self.top / "disk/data.txt"]
        for path in (*self.secrets, *(self.home / name for name in TOOLS)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("tool\n" if path not in self.secrets else f"{SECRET}\n")
        (self.project / "a.txt").write_text("text\n")
        (self.project / "out").symlink_to(self.home / "notes.txt")
        (self.project / "up").symlink_to("../..")
        self.process = subprocess.Popen(("sleep", "3600"))
        self.listeners = Listeners()
        self._listen()
        self._before = self._outside()

    def _listen(self) -> None:
        tools = [(self.home / name).parent for name in TOOLS]
        folders = [self.home, *tools, self.project, self.project / "deep", self.top]
        folders += [Path(path) for path in SYSTEM if os.access(path, os.W_OK)]
        for folder in folders:
            self.listeners.listen(f"{folder}/{MARK}.s", socket.SOCK_STREAM)
            self.listeners.listen(f"{folder}/{MARK}.d", socket.SOCK_DGRAM)
            self.listeners.pipe(f"{folder}/{MARK}.p")
        self.listeners.listen(f"@{MARK}", socket.SOCK_STREAM)
        self.listeners.listen_on_loopback(socket.AF_INET, "127.0.0.1")
        self.listeners.listen_on_loopback(socket.AF_INET6, "::1")
        self.listeners.start()

    def _outside(self) -> dict[str, tuple[int, ...]]:
        """Return the status of all that a command could have changed."""
        found: dict[str, tuple[int, ...]] = {}
        for top in (str(self.top), "/etc", "/srv", "/mnt", "/usr/local/bin"):
            for folder, folders, files in os.walk(top):
                for name in (".", *folders, *files):
                    path = os.path.join(folder, name)
                    with contextlib.suppress(OSError):
                        status = os.lstat(path)
                        time = 0 if stat.S_ISFIFO(status.st_mode) else status.st_mtime_ns
                        times = (time, status.st_size, status.st_ino)
                        found[path] = (status.st_mode, status.st_uid, *times)
        return found

    def effects(self) -> list[str]:
        """Return what a command reached, changed or left; empty as it should be."""
        found = [f"reached {name}" for name in self.listeners.reached]
        self.listeners.reached.clear()
        outside = self._outside()
        changed = {path for path, _ in self._before.items() ^ outside.items()}
        found += [f"changed {path}" for path in sorted(changed)]
        self._before = outside
        if self.process.poll() is not None:
            found.append("ended a process of the machine")
            self.process = subprocess.Popen(("sleep", "3600"))
        left = subprocess.run(("pgrep", "-f", INSIDE), capture_output=True).stdout.split()
        found += [f"left the process {int(pid)}" for pid in left]
        for pid in left:
            os.kill(int(pid), 9)
        return found

    def close(self) -> None:
        """End all of it."""
        self.process.kill()
        self.process.wait()
        self.listeners.close()
