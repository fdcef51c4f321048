"""Finds out where a call would act, without acting."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable

from agentchat.core.errors import ToolError, UserError
from agentchat.core.messages import ToolCall
from agentchat.core.shell.parse import Script
from agentchat.core.text import clip
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.ports import FileTarget, Workspace
from agentchat.core.tools.tool import Access, Tool
from agentchat.core.turn.chat import Chat
from agentchat.workspace.shfmt import parse_shell

log = logging.getLogger(__name__)

LONGEST_PATH = 4096
"""Bytes: no system opens a longer one, and no error needs to repeat it."""


async def locate_call(
    call: ValidCall, workspace: Workspace, supposed: Access | None = None
) -> CallTarget:
    """Return the targets, directory and command of a call.

    With ``supposed`` the call has no arguments: it is about what it would touch.

    Raises:
        ToolError: the call cannot act.
    """
    touch = supposed or _touched(call)
    located = await _located((*touch.reads, *touch.writes), workspace)
    script, evidence = await _command(touch.command, workspace)
    unsure = supposed is not None and callable(call.tool.asks)
    return CallTarget(
        cwd=workspace.root,
        reads=tuple(located[path] for path in touch.reads),
        writes=tuple(located[path] for path in touch.writes),
        command=touch.command,
        script=script,
        evidence=evidence,
        asks=None if unsure else await _asks(call),
        host=workspace.host,
        located=located,
    )


async def survey(
    call: ValidCall, workspace: Workspace, supposed: Access | None = None
) -> CallTarget | str:
    """The old form of ``locate_call``, until every room uses the new one."""
    try:
        return await locate_call(call, workspace, supposed)
    except ToolError as error:
        return str(error)


def _touched(call: ValidCall) -> Access:
    try:
        return call.tool.touches(call.arguments)
    except ToolError:
        raise
    except Exception as error:
        log.exception("%s could not name what it touches", call.tool.name)
        raise ToolError(f"{call.tool.name} failed: {clip(str(error))}") from error


async def _asks(call: ValidCall) -> bool | None:
    """Return what the tool says about asking; a condition that fails means asking."""
    condition = call.tool.asks
    if not callable(condition):
        return condition
    try:
        wants = condition(call.arguments)
        return bool(await wants if inspect.isawaitable(wants) else wants)
    except Exception:
        log.exception("%s could not tell whether it asks", call.tool.name)
        return True


async def _located(paths: Iterable[str], workspace: Workspace) -> dict[str, FileTarget]:
    found: dict[str, FileTarget] = {}
    for path in paths:
        if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
            raise ToolError(f"The path is too long: {clip(path)}")
        try:
            found[path] = await workspace.locate(path)
        except OSError as error:
            raise ToolError(f"Cannot read {clip(path)}: {error.strerror or error}.") from error
    return found


async def _command(
    command: str | None, workspace: Workspace
) -> tuple[Script | None, tuple[str, ...]]:
    """Return what a command consists of, and the state of what it would run."""
    if command is None:
        return None, ()
    script = await parse_shell(command)
    commands = [part.texts for part in script.parts if part.words]
    return script, await workspace.fingerprint(commands, command, workspace.root)


USAGE = "Name a tool and what it would get, like: bash git status, or edit src/a.py."


async def suppose(
    chat: Chat, workspace: Workspace, text: str
) -> tuple[ValidCall, CallTarget | str]:
    """Return the call that a text names, with its place, or why it would have none.

    Raises:
        UserError: no such tool, or nothing that it would get.
    """
    name, _, rest = text.strip().partition(" ")
    tool = next((t for t in chat.toolbox.all_tools() if name in _names(t)), None)
    if tool is None:
        raise UserError(f"There is no tool {name}. {USAGE}" if name else USAGE)
    touch = _touch(tool, rest.strip())
    call = ValidCall(ToolCall("", tool.name, ""), tool, given={}, arguments=None)
    return call, await survey(call, workspace, touch)


def _names(tool: Tool) -> tuple[str, ...]:
    return (tool.name, *tool.metadata.aliases)


def _touch(tool: Tool, rest: str) -> Access:
    """Return what a call would touch, if its command or path were ``rest``."""
    fields = tool.arguments.schema().get("properties") or {}
    if not rest:
        return Access()
    if "command" in fields:
        return Access(command=rest)
    if "path" not in fields:
        return Access()
    return Access(reads=(rest,)) if tool.metadata.read_only else Access(writes=(rest,))
