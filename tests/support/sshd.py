"""A real OpenSSH server on loopback, for the user that runs the tests."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

INSTALL_SECONDS = 45
"""Less than a test may take."""

PACKAGES = ("openssh-server", "openssh-client")
_SERVER_FOLDERS = "/usr/sbin:/usr/local/sbin:/sbin:/opt/homebrew/sbin"


class Missing(Exception):
    """There is no OpenSSH here; says what to install."""


class Sshd:
    """A server with keys of its own; ``config`` is what ``ssh -F`` takes to reach it as ``box``."""

    def __init__(self, folder: Path, *, host_key_known: bool = True, path: str = "") -> None:
        self.folder = folder
        self.config = folder / "ssh_config"
        self._program = server_program()
        self.port = _free_port()
        folder.mkdir(mode=0o700)
        self.home = folder / "home"
        self.home.mkdir()
        for name in ("host", "user", "other"):
            _keygen(folder / name)
        (folder / "authorized").write_text((folder / "user.pub").read_text())
        self._write_server_config(path)
        self.write_config()
        self.know(host_key_known)
        self.process = self._start()

    @property
    def command(self) -> list[str]:
        """The ``ssh.command`` of the settings."""
        return ["ssh", "-F", str(self.config)]

    def write_config(self, key: str = "user") -> None:
        """Write the client's side: the host is called ``box``."""
        self.config.write_text(
            f"Host box\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self.folder / key}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.folder / 'known'}\n  GlobalKnownHostsFile /dev/null\n"
            "Host gone\n  HostName 127.0.0.1\n  Port 1\n"
        )

    def know(self, known: bool, key: str = "host") -> None:
        """Write down which key the host is known by."""
        public = (self.folder / f"{key}.pub").read_text()
        line = f"[127.0.0.1]:{self.port} {public}" if known else ""
        (self.folder / "known").write_text(line)

    def sessions(self) -> list[int]:
        """Return the processes that serve one connection each."""
        listed = subprocess.run(("ps", "-A", "-o", "pid=,ppid="), capture_output=True, text=True)
        pairs = [line.split() for line in listed.stdout.splitlines()]
        return [int(pid) for pid, parent in pairs if int(parent) == self.process.pid]

    def close(self) -> None:
        """End the server and its connections."""
        for pid in (*self.sessions(), self.process.pid):
            try:
                os.kill(pid, 15)
            except ProcessLookupError:
                continue
        self.process.wait(5)

    def _write_server_config(self, path: str) -> None:
        # Not the developer's own home: what a shell start-up file does there is not tested.
        variables = f"SetEnv HOME={self.home}" + (f" PATH={path}" if path else "")
        (self.folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.folder / 'host'}\n"
            f"AuthorizedKeysFile {self.folder / 'authorized'}\nPidFile none\nUsePAM no\n"
            "StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
            f"KbdInteractiveAuthentication no\n{variables}\n"
        )

    def _start(self) -> subprocess.Popen[bytes]:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
        log = (self.folder / "log").open("wb")
        process = subprocess.Popen(
            [self._program, "-D", "-e", "-f", str(self.folder / "sshd_config")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        log.close()
        limit = time.monotonic() + 10
        while not _listens(self.port):
            if process.poll() is not None or time.monotonic() > limit:
                raise Missing(f"sshd does not start: {(self.folder / 'log').read_text()}")
            time.sleep(0.02)
        return process


@functools.lru_cache(1)
def server_program() -> str:
    """Return the path of ``sshd``, installing it first where that disturbs nobody.

    Raises:
        Missing: it is not there.
    """
    if not _found() and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
    found = _found()
    if not found or not shutil.which("ssh"):
        raise Missing(
            "no OpenSSH server and client here, so nothing of ssh workspaces is tested: "
            f"apt-get install {' '.join(PACKAGES)}"
        )
    return found


def _found() -> str | None:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:{_SERVER_FOLDERS}")


def _install() -> None:
    """Install OpenSSH as root, that is in a container; the server is not started.

    One process at a time. A slow installation is left to go on by itself: killing it would leave
    the system's packages in disorder, and the next run has what it needs.
    """
    install = f"apt-get install -qq -y --no-install-recommends {' '.join(PACKAGES)}"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    with Path(tempfile.gettempdir(), "agentchat-tests-openssh.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _found():
            return
        installing = subprocess.Popen(
            ("sh", "-c", f"{install} || {{ apt-get update -qq && {install}; }}"),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            installing.wait(INSTALL_SECONDS)


def _keygen(path: Path) -> None:
    subprocess.run(
        ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)),
        check=True,
        stdin=subprocess.DEVNULL,
    )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
