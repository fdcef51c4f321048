"""ripgrep, if there is one: on the PATH, or installed beside this Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import Command, ProcessResult, Workspace

SECONDS = 60
"""A search that takes longer is given up."""

WALKING = ("--no-config", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git")
"""Which files: hidden ones too, ignore files obeyed, whatever the user's own settings."""


def programs() -> tuple[str, str]:
    """Return where it may be, in the order they are tried."""
    return "rg", os.path.join(os.path.dirname(sys.executable), "rg")


async def run(
    arguments: tuple[str, ...],
    folder: str,
    workspace: Workspace,
    stdin: bytes | None = None,
    on_output: Callable[[bytes], None] | None = None,
    capture: int = 64 * 1024 * 1024,
) -> ProcessResult | None:
    """Run ripgrep in a folder; return ``None`` if there is none.

    Raises:
        ToolError: it took too long.
    """
    for program in programs():
        command = Command(
            (program, *arguments),
            folder,
            stdin=stdin,
            timeout=SECONDS,
            capture=capture,
            own=program != "rg",
        )
        try:
            finished = await workspace.run(command, on_output)
        except ToolError:
            continue
        if finished.code is None:
            raise ToolError(f"The search took more than {SECONDS} s. Narrow path or pattern.")
        return finished
    return None


async def list_files(
    folder: str, workspace: Workspace, options: tuple[str, ...] = ()
) -> list[str] | None:
    """Return the files below a folder, relative to it; ``None`` if there is no ripgrep."""
    finished = await run(("--files", "--null", *WALKING, *options, "--", "./"), folder, workspace)
    if finished is None:
        return None
    names = finished.head.split(b"\0")[:-1]
    return [os.fsdecode(name).removeprefix("./") for name in names]
