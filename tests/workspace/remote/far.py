"""Workspaces on the machine behind a test's SSH server."""

from __future__ import annotations

from pathlib import Path

from agentchat.workspace.remote.ssh import SshCommand, SshLauncher, read_destination
from agentchat.workspace.remote.workspace import RemoteWorkspace
from tests.support.sshd import Sshd


def far(server: Sshd, root: Path | str, host: str = "box", python: str = "") -> RemoteWorkspace:
    """Return a workspace in ``root``, not connected yet."""
    ssh = SshCommand(tuple(server.command), python)
    return RemoteWorkspace(SshLauncher(read_destination(f"ssh://{host}{root}"), ssh))
