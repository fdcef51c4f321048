"""Finds out where a call would act, without acting."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from agentchat.core.calls import Call, Place
from agentchat.core.errors import ToolError
from agentchat.core.ports import Target, Workspace


async def survey(call: Call, workspace: Workspace) -> Place | str:
    """Return the targets, directory and program of a call, or why it cannot act."""
    touch = call.tool.touches(call.arguments)
    try:
        reads = await _located(touch.reads, workspace)
        writes = await _located(touch.writes, workspace)
    except (ToolError, OSError) as error:
        return str(error)
    program = _program(touch.command) if touch.command is not None else None
    return Place(workspace.root, reads, writes, touch.command, program)


async def _located(paths: Iterable[str], workspace: Workspace) -> tuple[Target, ...]:
    return tuple([await workspace.locate(path) for path in paths])


def _program(command: str) -> str | None:
    """Return the file behind a command's first word: a grant is void when that changes."""
    words = command.split(maxsplit=1)
    return shutil.which(words[0]) if words else None
