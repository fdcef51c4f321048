"""Finds out where a call would act, without acting."""

from __future__ import annotations

import inspect
import logging
import shutil
from collections.abc import Iterable

from agentchat.core.calls import Call, Place
from agentchat.core.errors import ToolError
from agentchat.core.ports import Target, Workspace

log = logging.getLogger(__name__)


async def survey(call: Call, workspace: Workspace) -> Place | str:
    """Return the targets, directory and program of a call, or why it cannot act."""
    touch = call.tool.touches(call.arguments)
    try:
        reads = await _located(touch.reads, workspace)
        writes = await _located(touch.writes, workspace)
    except (ToolError, OSError) as error:
        return str(error)
    program = _program(touch.command) if touch.command is not None else None
    asks = await _asks(call)
    return Place(workspace.root, reads, writes, touch.command, program, asks)


async def _asks(call: Call) -> bool | None:
    """Return what the tool says about asking; a condition that fails means asking."""
    condition = call.tool.asks
    if not callable(condition):
        return condition
    try:
        wants = condition(call.arguments)
        return bool(await wants if inspect.isawaitable(wants) else wants)
    except Exception:
        log.exception("%s could not say whether it asks", call.tool.name)
        return True


async def _located(paths: Iterable[str], workspace: Workspace) -> tuple[Target, ...]:
    return tuple([await workspace.locate(path) for path in paths])


def _program(command: str) -> str | None:
    """Return the file behind a command's first word: a grant is void when that changes."""
    words = command.split(maxsplit=1)
    return shutil.which(words[0]) if words else None
