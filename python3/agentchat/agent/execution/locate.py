"""Finds the files, directory and command of a call, without running it."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from agentchat.core.errors import ToolError, UserError
from agentchat.core.messages import ToolCall
from agentchat.core.shell.operands import CommandSurvey, describe_command
from agentchat.core.shell.parse import Part, Script
from agentchat.core.text import clip
from agentchat.core.tools.call import UNUSUAL_READS, CallTarget, ValidCall
from agentchat.core.tools.tool import Access, Condition, Tool
from agentchat.core.turn.chat import Chat
from agentchat.core.urls import parse_url
from agentchat.core.workspace import FileTarget, Workspace, Zone
from agentchat.tools.arguments import ToolArguments
from agentchat.workspace.shfmt import parse_shell

log = logging.getLogger(__name__)

LONGEST_PATH = 4096
"""Bytes: no system opens a longer path, and no error message needs to repeat one."""

MOST_NAMED = 3
"""Settings of git that a reason names."""

USAGE = "Name a tool and its argument, for example: bash git status, or edit src/a.py."


async def locate_call(
    call: ValidCall, workspace: Workspace, access: Access | None = None
) -> CallTarget:
    """Return the targets, directory and command of a call.

    Args:
        access: what the call touches, for a call without parsed arguments.

    Raises:
        ToolError: the call cannot act.
    """
    touch = access or _access(call)
    folder = (touch.cwd,) if touch.cwd else ()
    located = await _locate_paths((*touch.reads, *touch.writes, *folder), workspace)
    cwd = await _check_directory(located[touch.cwd], workspace) if touch.cwd else workspace.root
    script, survey = await _parse_command(touch.command, cwd, workspace)
    # A directory outside asks, as reading there does.
    reads = (*touch.reads, *(path for path in folder if located[path].zone in UNUSUAL_READS))
    unknown = access is not None and callable(call.tool.asks)
    target = CallTarget(
        cwd=cwd,
        reads=tuple(located[path] for path in reads),
        writes=tuple(located[path] for path in touch.writes),
        command=touch.command,
        urls=tuple(map(parse_url, touch.urls)),
        script=script,
        network=touch.network,
        direct=touch.direct,
        evidence=survey.fingerprints,
        unfixed=survey.unfixed,
        asks=None if unknown else await _asks(call),
        settings_ask=await _condition(call, "require_approval_before", in_doubt=True),
        allowed_in_yolo=await _condition(call, "allowed_in_yolo_mode", in_doubt=False),
        host=workspace.host,
        targets_by_path=located,
        resources=() if call.arguments is None else await _resources(call),
    )
    return replace(target, savable=await _savable(call, target, workspace))


async def locate_named_call(
    chat: Chat, workspace: Workspace, text: str
) -> tuple[ValidCall, CallTarget]:
    """Return the call that a text like ``bash git status`` names, and its target.

    Raises:
        UserError: no such tool.
        ToolError: the call cannot act.
    """
    name, _, argument = text.strip().partition(" ")
    tool = next((t for t in chat.toolset.all_tools() if name in _names(t)), None)
    if tool is None:
        raise UserError(f"There is no tool {name}. {USAGE}" if name else USAGE)
    access = _named_access(tool, argument.strip())
    given = _named_arguments(access)
    call = ValidCall(ToolCall("", tool.name, ""), tool, raw_arguments=given, arguments=None)
    return call, await locate_call(call, workspace, access)


def _access(call: ValidCall) -> Access:
    try:
        return call.tool.touches(call.arguments)
    except ToolError:
        raise
    except Exception as error:
        log.exception("%s could not name what it touches", call.tool.name)
        raise ToolError(f"{call.tool.name} failed: {clip(str(error))}") from error


async def _asks(call: ValidCall) -> bool | None:
    """Return whether the tool wants a question; a condition that raises means yes."""
    condition = call.tool.asks
    if not callable(condition):
        return condition
    try:
        wants = condition(call.arguments)
        return bool(await wants if inspect.isawaitable(wants) else wants)
    except Exception:
        log.exception("%s could not tell whether it asks", call.tool.name)
        return True


async def _condition(call: ValidCall, option: str, *, in_doubt: bool) -> bool | None:
    """Return what an option of the user says about a call; ``in_doubt`` if that fails.

    A function cannot be asked about a call without arguments: that is ``None``.
    """
    condition: Condition | None = getattr(call.tool.options, option)
    if not callable(condition):
        return condition
    if call.arguments is None and not call.raw_arguments:
        return None
    try:
        return bool(await condition(_plain_arguments(call)))
    except Exception:
        log.exception("tools.opts.%s.%s failed", call.tool.name, option)
        return in_doubt


def _plain_arguments(call: ValidCall) -> Mapping[str, Any]:
    """Return the arguments as JSON data, with the tool's defaults where they are known."""
    match call.arguments:
        case ToolArguments() as shape:
            fields = asdict(shape)
            return {name: value for name, value in fields.items() if value is not None}
        case Mapping() as arguments:
            return arguments
    return call.raw_arguments


async def _savable(
    call: ValidCall, target: CallTarget, workspace: Workspace
) -> tuple[FileTarget, ...]:
    """Return the files to save before a call that needs a checkpoint.

    None if it declares that it affects anything else, or a file that must not be stored.
    """
    if not call.tool.metadata.requires_checkpoint:
        return ()
    files = {file.path: file for file in target.writes}
    for resource in target.resources:
        try:
            file = await workspace.locate(resource)
        except (ToolError, OSError):
            return ()
        if file.path not in files and await workspace.kind(file.path) != "file":
            return ()
        files[file.path] = file
    storable = all(file.zone is not Zone.SECRET for file in files.values())
    return tuple(files.values()) if storable else ()


async def _resources(call: ValidCall) -> tuple[str, ...]:
    """Return what the tool says that the call affects."""
    declared = call.tool.affected_resources
    if not callable(declared):
        return declared
    try:
        return await declared(call.arguments)
    except Exception as error:
        log.exception("%s could not name what it affects", call.tool.name)
        return (f"unknown: affected_resources failed: {clip(str(error))}",)


async def _locate_paths(paths: Iterable[str], workspace: Workspace) -> dict[str, FileTarget]:
    targets: dict[str, FileTarget] = {}
    for path in paths:
        if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
            raise ToolError(f"The path is too long: {clip(path)}")
        try:
            targets[path] = await workspace.locate(path)
        except OSError as error:
            raise ToolError(f"Cannot read {clip(path)}: {error.strerror or error}.") from error
    return targets


async def _check_directory(target: FileTarget, workspace: Workspace) -> str:
    if await workspace.kind(target.path) != "directory":
        raise ToolError(f"Working directory not found: {target.display_path}. Nothing was run.")
    return target.path


async def _parse_command(
    command: str | None, cwd: str, workspace: Workspace
) -> tuple[Script | None, CommandSurvey]:
    """Return the parts of a command with what they name on disk, and all that was found there."""
    if command is None:
        return None, CommandSurvey()
    script = await parse_shell(command, workspace.root)
    script = await _doubt_git(script, cwd, workspace)
    commands = [describe_command(part) for part in script.parts if part.words]
    survey = await workspace.survey(commands, command, cwd)
    found = iter(survey.operands)
    parts = (replace(part, operands=next(found)) if part.words else part for part in script.parts)
    return replace(script, parts=tuple(parts)), survey


async def _doubt_git(script: Script, cwd: str, workspace: Workspace) -> Script:
    """Let no rule cover git where settings of the repository may run a program."""
    if not any(map(_uses_git, script.parts)):
        return script
    named = await workspace.repository_programs(cwd)
    if not named:
        return script
    problem = f"git: the repository sets {', '.join(named[:MOST_NAMED])}, which may run a program"
    parts = (replace(p, obscure=p.obscure or problem) if _uses_git(p) else p for p in script.parts)
    return replace(script, parts=tuple(parts))


def _uses_git(part: Part) -> bool:
    names = (word.rpartition("/")[2] for word in part.texts)
    return any(name == "git" or name.startswith("git-") for name in names)


def _names(tool: Tool) -> tuple[str, ...]:
    return (tool.name, *tool.metadata.aliases)


def _named_arguments(access: Access) -> dict[str, str]:
    if access.command is not None:
        return {"command": access.command}
    paths = (*access.reads, *access.writes)
    return {"path": paths[0]} if paths else {}


def _named_access(tool: Tool, argument: str) -> Access:
    """Return what a call touches whose command, address or path is ``argument``."""
    fields = tool.arguments.schema().get("properties") or {}
    if argument and "command" in fields:
        return Access(command=argument)
    if argument and "url" in fields:
        return Access(urls=(argument,))
    if argument and "path" in fields:
        is_read = tool.metadata.read_only
        return Access(reads=(argument,)) if is_read else Access(writes=(argument,))
    return Access()
