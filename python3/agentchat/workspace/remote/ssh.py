"""Addresses of workspaces on other machines, the ``ssh`` command for them, and its errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.workspace.remote.bootstrap import NO_PYTHON, OLDEST, start_command

_FORM = re.compile(
    # A name must not begin with a dash: ssh would read it as an option.
    r"ssh://(?:(?P<user>\w[\w.+-]*)@)?(?P<host>\w[\w.+-]*|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>\d{1,5}))?(?P<path>/\S*)?",
    re.ASCII,
)
URL_PREFIX = "ssh://"
URL_FORM = "ssh://[user@]host[:port]/path"


@frozen
class Destination:
    """A directory on another machine; ``path`` is absolute, or begins with ``~``."""

    host: str
    path: str
    user: str = ""
    port: int | None = None

    @property
    def machine(self) -> str:
        """The name of the machine for the user, like ``dev@host``."""
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}:{self.port}" if self.port is not None else f"{user}{host}"


def read_destination(url: str) -> Destination:
    """Return the directory a URL names; without a path, the home directory.

    ``/~/x`` is ``x`` below the home directory, ``%20`` a blank.

    Raises:
        UserError: the URL has another form.
    """
    match = _FORM.fullmatch(url)
    if match is None:
        raise UserError(f"{url} names no workspace: write {URL_FORM}.")
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 65536:
        raise UserError(f"{port} is not a port: write a number from 1 to 65535.")
    return Destination(
        host=match["host"].strip("[]"),
        path=_path(unquote(match["path"] or "")),
        user=match["user"] or "",
        port=port,
    )


def _path(written: str) -> str:
    if written in ("", "/~"):
        return "~"
    return written[1:] if written.startswith("/~/") else written


CONNECT_SECONDS = 15
ALIVE_SECONDS = 15

_OPTIONS = (
    "BatchMode=yes",  # never ask: there is no terminal
    "ControlMaster=no",  # use a master of the user, start none
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


@frozen
class SshCommand:
    """The ``ssh`` of the user.

    ``command`` is the program with options of the user, which override those of the plugin.
    ``python`` is the interpreter on the other machine; empty for the first that is new enough.
    ``environment`` is that of ``ssh``.
    """

    command: tuple[str, ...] = ("ssh",)
    python: str = ""
    environment: Mapping[str, str] | None = None


@frozen
class SshLauncher:
    """Starts the workspace server in a directory of another machine."""

    destination: Destination
    ssh: SshCommand = SshCommand()
    cwd: str = "/"
    prelude: bytes = b""

    @property
    def machine(self) -> str:
        """The name of the machine for the user."""
        return self.destination.machine

    @property
    def path(self) -> str:
        """The directory."""
        return self.destination.path

    @property
    def environment(self) -> Mapping[str, str] | None:
        """The variables of ``ssh``."""
        return self.ssh.environment

    def argv(self) -> tuple[str, ...]:
        """Return the command line that starts the server."""
        destination = self.destination
        options = [word for option in _OPTIONS for word in ("-o", option)]
        port = ("-p", str(destination.port)) if destination.port is not None else ()
        user = ("-l", destination.user) if destination.user else ()
        remote = ("--", destination.host, start_command(self.ssh.python))
        return (*self.ssh.command, *options, *port, *user, *remote)

    def explain_missing(self, error: OSError) -> str:
        """Return a message for a program that cannot be started."""
        reason = error.strerror or str(error)
        hint = "Install the OpenSSH client, or set ssh.command in g:agentchat."
        return f"Cannot run {self.ssh.command[0]}: {reason}. {hint}"

    def explain_failure(self, output: str) -> str:
        """Return why the connection failed and what to do, in one line."""
        return explain_failure(self.destination, output)


_NO_PASSWORD = "No password can be typed here: use a key in ssh-agent."
_MESSAGES = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "Cannot trust {host}: its key has changed. Find out why before you connect again.",
    ),
    (
        "Host key verification failed",
        "Cannot trust {host}: its key is unknown. Connect once with `{by_hand}` in a "
        "terminal and check the key.",
    ),
    ("Permission denied", "{host} refused the login ({reason}). " + _NO_PASSWORD),
    ("Too many authentication failures", "{host} refused the login ({reason}). " + _NO_PASSWORD),
    ("Could not resolve hostname", "Cannot find the host {host}. Check its name."),
    ("Connection refused", "{host} refuses connections. Check the port, and that sshd runs."),
    ("timed out", "{host} does not answer. Check the network, and that it is up."),
    ("No route to host", "There is no route to {host}. Check the network."),
    ("Network is unreachable", "There is no route to {host}. Check the network."),
    (
        NO_PYTHON,
        "{host} has no Python " + ".".join(map(str, OLDEST)) + " or newer on its PATH. Install "
        "one, or name it: ssh.python in g:agentchat.",
    ),
)


def explain_failure(destination: Destination, output: str) -> str:
    """Return why the connection failed and what to do, in one line.

    Args:
        output: the standard error of ssh and the server.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    for pattern, message in _MESSAGES:
        line = next((line for line in lines if pattern in line), None)
        if line is not None:
            return message.format(
                host=destination.machine,
                reason=line.rpartition(": ")[2].rstrip("."),
                by_hand=_by_hand(destination),
            )
    reason = f" ({last.rstrip('.')})" if last else ""
    by_hand = _by_hand(destination)
    return f"Cannot connect to {destination.machine}{reason}. Try `{by_hand}` in a terminal."


def _by_hand(destination: Destination) -> str:
    port = f" -p {destination.port}" if destination.port is not None else ""
    user = f"{destination.user}@" if destination.user else ""
    return f"ssh{port} {user}{destination.host}"
