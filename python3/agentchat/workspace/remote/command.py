"""Workspaces behind a command of the user's, like ``docker exec -i box``."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.workspace.remote.bootstrap import NO_PYTHON, OLDEST, start_script

PREFIX = "command:"
"""How the name of such a workspace begins; a list of words in JSON and the directory follow."""

FORM = 'command:["docker","exec","-i","box"]/path'


@frozen
class CommandLauncher:
    """Starts the workspace server with a command that runs the words appended to it.

    ``path`` is the directory there; empty for the one in which the command starts it. ``cwd`` is
    where the command itself runs, on this machine.
    """

    run: tuple[str, ...]
    path: str = ""
    cwd: str = "/"
    environment: Mapping[str, str] | None = None
    prelude: bytes = b""

    @property
    def machine(self) -> str:
        """The command, as the user knows it."""
        return shlex.join(self.run)

    def argv(self) -> tuple[str, ...]:
        """Return the command line that starts the server."""
        return (*self.run, "/bin/sh", "-c", start_script())

    def explain_missing(self, error: OSError) -> str:
        """Return a message for a program that cannot be started."""
        reason = error.strerror or str(error)
        return f"Cannot run {self.run[0]}: {reason}. Check workspace.run in g:agentchat."

    def explain_failure(self, output: str) -> str:
        """Return why no server answered, in one line."""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        if NO_PYTHON in lines:
            oldest = ".".join(map(str, OLDEST))
            return f"`{self.machine}` finds no Python {oldest} or newer. Install one there."
        if lines == ["timed out"]:
            return f"`{self.machine}` does not answer. Try it in a terminal."
        if lines:
            reason = lines[-1].rstrip(".")
            return f"`{self.machine}` failed ({reason}). Try it in a terminal."
        return (
            f"`{self.machine}` ended without an answer. It must pass on its input and output: "
            "docker, podman and kubectl need the option -i, and no -t."
        )


def read_command(
    place: str, cwd: str = "/", environment: Mapping[str, str] | None = None
) -> CommandLauncher:
    """Return the launcher for a place like ``FORM``; raises UserError for another form."""
    try:
        words, end = json.JSONDecoder().raw_decode(place.removeprefix(PREFIX))
    except ValueError as error:
        raise UserError(f"{place} names no workspace: write {FORM}.") from error
    path = place.removeprefix(PREFIX)[end:]
    is_command = isinstance(words, list) and words and all(isinstance(w, str) and w for w in words)
    if not is_command or (path and not path.startswith(("/", "~"))):
        raise UserError(f"{place} names no workspace: write {FORM}.")
    run = (os.path.expanduser(words[0]), *words[1:])
    return CommandLauncher(run, path, cwd=cwd, environment=environment)
