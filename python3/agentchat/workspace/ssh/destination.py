"""Where a workspace on another machine is, how ``ssh`` gets there, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from agentchat.core.errors import UserError
from agentchat.workspace.ssh.bootstrap import NO_PYTHON, OLDEST, start_command

_FORM = re.compile(
    # A name that began with a dash would be an option of ssh.
    r"ssh://(?:(?P<user>\w[\w.+-]*)@)?(?P<host>\w[\w.+-]*|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>\d{1,5}))?(?P<path>/\S*)?",
    re.ASCII,
)
URL_FORM = "ssh://[user@]host[:port]/path"


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
        raise UserError(f"{url} names no workspace: write {URL_FORM}.")
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port < 65536:
        raise UserError(f"{port} is no port: it is a number from 1 to 65535.")
    path = _path(unquote(found["path"] or ""))
    return Destination(found["host"].strip("[]"), path, found["user"] or "", port)


def _path(written: str) -> str:
    if written in ("", "/~"):
        return "~"
    return written[1:] if written.startswith("/~/") else written


CONNECT_SECONDS = 15
ALIVE_SECONDS = 15

_OPTIONS = (
    "BatchMode=yes",  # it never asks: nobody could answer
    "ControlMaster=no",  # a master of the user's is used, but none is left to others
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "PermitLocalCommand=no",
    f"ConnectTimeout={CONNECT_SECONDS}",
    f"ServerAliveInterval={ALIVE_SECONDS}",
    "ServerAliveCountMax=2",
)


@dataclass(frozen=True, slots=True)
class SshCommand:
    """The user's own ``ssh``: how to reach a machine.

    ``command`` is the program with options of the user's, which win over the plugin's.
    ``python`` is the interpreter there, if not the first that is new enough. ``environment`` is
    that of the program.
    """

    command: tuple[str, ...] = ("ssh",)
    python: str = ""
    environment: Mapping[str, str] | None = None

    def argv(self, where: Destination) -> tuple[str, ...]:
        """Return the command line that starts the workspace server."""
        options = [word for option in _OPTIONS for word in ("-o", option)]
        port = ("-p", str(where.port)) if where.port is not None else ()
        user = ("-l", where.user) if where.user else ()
        return (*self.command, *options, *port, *user, "--", where.host, start_command(self.python))

    def explain_missing(self, error: OSError) -> str:
        """Return why the program cannot be started, and what to do."""
        reason = error.strerror or str(error)
        hint = "Install the OpenSSH client, or set ssh.command in g:agentchat."
        return f"Cannot run {self.command[0]}: {reason}. {hint}"


_NO_TYPING = "Nothing can be typed here: use a key that ssh-agent holds."
_MEANINGS = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "Cannot trust {host}: its key is not the one it had. Find out why before you go on.",
    ),
    (
        "Host key verification failed",
        "Cannot trust {host}: its key is not known yet. Connect once with `{by_hand}` in a "
        "terminal and check it.",
    ),
    ("Permission denied", "{host} refused the login ({reason}). " + _NO_TYPING),
    ("Too many authentication failures", "{host} refused the login ({reason}). " + _NO_TYPING),
    ("Could not resolve hostname", "Cannot find the host {host}. Check its name."),
    ("Connection refused", "{host} refuses connections. Check the port, and that sshd runs."),
    ("timed out", "{host} does not answer. Check the network, and that it is up."),
    ("No route to host", "There is no way to {host}. Check the network."),
    ("Network is unreachable", "There is no way to {host}. Check the network."),
    (
        NO_PYTHON,
        "{host} has no Python " + ".".join(map(str, OLDEST)) + " or newer on its PATH. Install "
        "one, or name it: ssh.python in g:agentchat.",
    ),
)


def explain_failure(where: Destination, output: str) -> str:
    """Return why no connection came about, in one line that says what to do.

    Args:
        output: what ssh and the server wrote to standard error.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    for sign, meaning in _MEANINGS:
        found = next((line for line in lines if sign in line), None)
        if found is not None:
            reason = found.rpartition(": ")[2].rstrip(".")
            return meaning.format(host=where.machine, reason=reason, by_hand=_by_hand(where))
    reason = f" ({last.rstrip('.')})" if last else ""
    return f"Cannot connect to {where.machine}{reason}. Try `{_by_hand(where)}` in a terminal."


def _by_hand(where: Destination) -> str:
    port = f" -p {where.port}" if where.port is not None else ""
    user = f"{where.user}@" if where.user else ""
    return f"ssh{port} {user}{where.host}"
