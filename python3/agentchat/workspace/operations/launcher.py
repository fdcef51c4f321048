"""Starts a process with the operations of a file of the user's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen

PREFIX = "operations:"
"""How the name of such a workspace begins; a list with the file in JSON and the directory follow.
"""

FORM = 'operations:["/path/of/file.py"]/directory'
PACKAGES = str(Path(__file__).resolve().parents[3])
BOOT = """
import importlib, json, os, sys
stream = os.fdopen(os.dup(0), "rb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # programs that it starts must not read the connection
for _ in range(2):
    stream.read(int(stream.readline()))  # the code for machines without the plugin
sys.path[:] = json.loads(sys.argv[1])
importlib.import_module("agentchat.workspace.operations.server").main(stream, sys.argv[2])
"""


@frozen
class OperationsLauncher:
    """Starts the workspace server with the operations of a file, in ``cwd`` on this machine."""

    file: str
    path: str = ""
    cwd: str = "/"
    environment: Mapping[str, str] | None = None
    prelude: bytes = b""

    @property
    def machine(self) -> str:
        """The name of the file."""
        return os.path.basename(self.file)

    def argv(self) -> tuple[str, ...]:
        """Return the command line that starts the server."""
        search = [PACKAGES, *(entry for entry in sys.path if entry not in ("", PACKAGES))]
        return (sys.executable, "-X", "utf8", "-c", BOOT, json.dumps(search), self.file)

    def explain_missing(self, error: OSError) -> str:
        """Return a message for an interpreter that cannot be started."""
        return f"Cannot run {sys.executable}: {error.strerror or error}."

    def explain_failure(self, output: str) -> str:
        """Return why the file has no operations, in one line."""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        if lines == ["timed out"]:
            return f"{self.file} is not imported in time."
        reason = lines[-1].rstrip(".") if lines else f"{self.file}: its process ended"
        return f"{reason}. Correct the file, and send again."


def read_operations(
    place: str, cwd: str = "/", environment: Mapping[str, str] | None = None
) -> OperationsLauncher:
    """Return the launcher for a place like ``FORM``; raises UserError for another form."""
    try:
        words, end = json.JSONDecoder().raw_decode(place.removeprefix(PREFIX))
        (file,) = words
        if not os.path.isabs(file):
            raise ValueError(file)
    except (TypeError, ValueError) as error:
        raise UserError(f"{place} names no workspace: write {FORM}.") from error
    return OperationsLauncher(file, place.removeprefix(PREFIX)[end:], cwd, environment)
