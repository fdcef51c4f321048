"""Hosts that start within milliseconds: forked from a process that has imported their modules.

Importing takes nine tenths of the time from the start of a host to its first request. A scenario
that is about starting, installing or the end of a host runs the real interpreter instead, and
``AGENTCHAT_REAL_HOSTS=1`` runs it everywhere.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts import nvim

SUPPORT = Path(__file__).parent
RPLUGIN = nvim.ROOT / "rplugin" / "python3"

CLIENT = """\
#!/bin/sh
exec {python} -IS {client} {python} {socket} "$@"
"""


class Prefork:
    """A prefork server; ``python`` is the interpreter to name in the settings."""

    def __init__(self) -> None:
        # The path of a socket must be short.
        self._folder = Path(tempfile.mkdtemp(prefix="prefork-"))
        (self._folder / "hosts").mkdir()
        self.python = self._write_client()
        self._server = self._start()

    def parents(self) -> dict[int, int]:
        """The hosts that run: pid to the pid of the process that stands for it below Neovim."""
        pairs = (entry.name.split("-") for entry in (self._folder / "hosts").iterdir())
        return {int(host): int(parent) for parent, host in pairs}

    def close(self) -> None:
        """End the server and what it forked; it removes its folder."""
        self._server.communicate()

    def _write_client(self) -> str:
        path = self._folder / "python"
        parts = {
            "python": sys.executable,
            "client": str(SUPPORT / "prefork_client.py"),
            "socket": str(self._folder / "socket"),
        }
        quoted = {name: shlex.quote(part) for name, part in parts.items()}
        path.write_text(CLIENT.format(**quoted))
        path.chmod(0o755)
        return str(path)

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._folder / "socket"))
            listener.listen(16)
            number = listener.fileno()
            return subprocess.Popen(
                [sys.executable, SUPPORT / "prefork_server.py", self._folder, RPLUGIN, str(number)],
                stdin=subprocess.PIPE,
                pass_fds=[number],
                cwd=nvim.ROOT,
                env=environment,
            )
