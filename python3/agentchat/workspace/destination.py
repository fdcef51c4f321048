"""Where a workspace on another machine is: ``ssh://[user@]host[:port]/path``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from agentchat.core.errors import UserError

_FORM = re.compile(
    # A name that began with a dash would be an option of ssh.
    r"ssh://(?:(?P<user>\w[\w.+-]*)@)?(?P<host>\w[\w.+-]*|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>\d{1,5}))?(?P<path>/\S*)?",
    re.ASCII,
)
EXPECTED = "ssh://[user@]host[:port]/path"


@dataclass(frozen=True, slots=True)
class Destination:
    """A directory on another machine; ``path`` is absolute, or begins with ``~``."""

    host: str
    path: str
    user: str = ""
    port: int | None = None

    @property
    def machine(self) -> str:
        """How the user calls the machine, like ``dev@host``."""
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}:{self.port}" if self.port is not None else f"{user}{host}"


def read_destination(url: str) -> Destination:
    """Return the directory a URL names; without a path, the home directory.

    ``/~/x`` is ``x`` below the home directory, ``%20`` a blank.

    Raises:
        UserError: it is not of this form.
    """
    found = _FORM.fullmatch(url)
    if found is None:
        raise UserError(f"{url} names no workspace: write {EXPECTED}.")
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port < 65536:
        raise UserError(f"{port} is no port: it is a number from 1 to 65535.")
    path = _path(unquote(found["path"] or ""))
    return Destination(found["host"].strip("[]"), path, found["user"] or "", port)


def _path(written: str) -> str:
    if written in ("", "/~"):
        return "~"
    return written[1:] if written.startswith("/~/") else written
