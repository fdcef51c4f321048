"""Workspaces on the machine behind a test's SSH server."""

from __future__ import annotations

from pathlib import Path

from agentchat.workspace.ssh.destination import SshCommand, read_destination
from agentchat.workspace.ssh.workspace import SshWorkspace
from tests.support.sshd import Sshd


def far(server: Sshd, root: Path | str, host: str = "box", python: str = "") -> SshWorkspace:
    """Return a workspace in ``root``, not connected yet."""
    ssh = SshCommand(tuple(server.command), python)
    return SshWorkspace(read_destination(f"ssh://{host}{root}"), ssh)
