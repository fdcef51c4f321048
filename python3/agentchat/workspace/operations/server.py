"""The process in which operations of the user's run: a server of a workspace on this machine."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from functools import partial
from typing import BinaryIO

from agentchat.core.errors import DefinitionError
from agentchat.workspace.operations.port import check_operations
from agentchat.workspace.operations.workspace import open_operations
from agentchat.workspace.remote import server


def main(stream: BinaryIO, file: str) -> None:
    """Import the file and serve its operations until the input ends.

    What the file prints goes to standard error: standard output is the connection.
    """
    sys.stdout = sys.stderr
    try:
        operations = check_operations(runpy.run_path(file, run_name=os.path.basename(file)))
    except BaseException as error:
        sys.exit(_problem(file, error))
    server.main(stream, partial(open_operations, operations))


def _problem(file: str, error: BaseException) -> str:
    """Return where a file failed and why, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    number = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else str(error).partition("\n")[0]
    kind = "" if isinstance(error, DefinitionError) else f"{type(error).__name__}: "
    return f"{file}:{number}: {kind}{text}" if number else f"{file}: {kind}{text}"
