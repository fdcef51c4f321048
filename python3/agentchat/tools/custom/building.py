"""From a description to a tool of one chat: its functions and its commands run elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS
from agentchat.core.tools.tool import (
    Capability,
    Hooks,
    Metadata,
    Preview,
    Result,
    Step,
    Tool,
    ToolContext,
    Touch,
    Undo,
)
from agentchat.tools.custom.calling import Calling, Sent
from agentchat.tools.custom.command import run_shell
from agentchat.tools.custom.description import Described
from agentchat.tools.custom.rendering import Renderer
from agentchat.tools.custom.template import Template
from agentchat.tools.custom.wire import result_heard

HOOK_SECONDS = 30.0


def build(calling: Calling, source: str, cwd: str) -> Tool:
    """Return the tool of one chat.

    Args:
        calling: how its functions are called.
        source: a hash of the file it was read from; another one makes it another tool.
        cwd: the workspace of the chat.
    """
    told = calling.tool
    renderer = Renderer(calling, cwd)
    undoable = "undo" in told.hooks
    return Tool(
        name=told.name,
        description=told.description,
        arguments=calling,
        steps=_steps(calling, renderer),
        metadata=Metadata(
            concurrency_safe=told.concurrency_safe,
            read_only=told.read_only,
            destructive=told.destructive,
            aliases=told.aliases,
            search_hint=told.search_hint,
            permission_class="custom",
            requires_checkpoint=told.requires_checkpoint,
            requires_reverse_thinking=told.requires_reverse_thinking,
        ),
        capability=Capability(
            dry_run="dry_run" in told.hooks,
            reversible=undoable,
            undo_method=told.name if undoable else "",
            undo_tool=told.name if undoable else "",
            min_confidence=told.min_confidence,
        ),
        touches=lambda given: _touch(told, given),
        dry_run=_dry_run(calling) if "dry_run" in told.hooks else None,
        render_call=renderer.call,
        snippet=told.description.split("\n", 1)[0],
        guidelines=told.guidelines,
        timeout=told.timeout,
        hooks=Hooks(
            setup=_hook(calling, "setup"),
            exit=_hook(calling, "on_exit"),
            once=told.setup_once,
            undo=(lambda given, result: _undo(told, given)) if undoable else None,
        ),
        always_load=told.always_load,
        asks=_asks(calling, cwd),
        undo=_taking_back(calling) if undoable else None,
        source=source,
    )


def _steps(calling: Calling, renderer: Renderer) -> tuple[Step, ...]:
    works = range(len(calling.tool.works))
    return tuple(_step(calling, number, renderer) for number in works)


def _step(calling: Calling, number: int, renderer: Renderer) -> Step:
    is_last = number == len(calling.tool.works) - 1

    async def step(given: Sent, context: ToolContext) -> Any:
        passed, result = await _worked(calling, number, given, context)
        if is_last or result.is_error:
            return await asyncio.to_thread(renderer.result, result, given)
        context.progress(f"{result.text}\n")
        return passed

    return step


async def _worked(
    calling: Calling, number: int, given: Sent, context: ToolContext
) -> tuple[list[Any], Result]:
    """Run one function or command; return how the next one gets its value, and the result."""
    command = calling.tool.template(number)
    first = [] if number == 0 else [context.given]
    if command is not None:
        result = await _command(calling.tool, command, given, context, first)
        return ["text", result.text], result
    following = calling.tool.works[number + 1 : number + 2]
    told = await calling.run(
        "work", given, context,
        number=number, first=[said[:2] for said in first], keep=following == (None,),
    )  # fmt: skip
    result = result_heard(told)
    return ["kept", told["kept"], result.text], result


async def _command(
    told: Described, command: Template, given: Sent, context: ToolContext, first: list[Any]
) -> Result:
    return await run_shell(
        command.fill(given),
        context,
        timeout=None if told.timeout is not None else BASH_SECONDS,
        stdin=first[0][-1] if first else None,
        flag="" if first else told.flag,
    )


def _hook(calling: Calling, role: str) -> Step | None:
    if role not in calling.tool.hooks:
        return None

    async def hook(given: Sent, context: ToolContext) -> None:
        await calling.run(role, given, context)

    return hook


def _taking_back(calling: Calling) -> Step:
    async def undo(given: Sent, context: ToolContext) -> Result:
        return result_heard(await calling.run("undo", given, context))

    return undo


def _undo(told: Described, given: Sent) -> Undo:
    """Return the record of a call that can be taken back by the tool's own ``undo``."""
    return Undo(f"{told.name} takes it back", tool=told.name, given=given.sent)


def _touch(told: Described, given: Mapping[str, Any]) -> Touch:
    command = told.template(0)
    return Touch(
        reads=_paths(told.reads, given),
        writes=_paths(told.writes, given),
        command=None if command is None else command.fill(given),
    )


def _paths(names: tuple[str, ...], given: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        value = given.get(name)
        found += [] if value is None else value if isinstance(value, list) else [value]
    return tuple(str(path) for path in found)


def _dry_run(calling: Calling) -> Callable[[Any, ToolContext], Awaitable[Preview]]:
    async def dry_run(given: Sent, context: ToolContext) -> Preview:
        work = calling.run("dry_run", given, context)
        text = await _limited(work, f"{calling.tool.name}: dry_run")
        # The words are the tool's own; the arguments are what will really run.
        shown = json.dumps(given, indent=2, ensure_ascii=False, default=str)
        return Preview(text=f"{text}\n\nArguments:\n{shown}")

    return dry_run


def _asks(calling: Calling, cwd: str) -> bool | Callable[[Any], Awaitable[bool]] | None:
    said = calling.tool.asks
    if not isinstance(said, str):
        return said

    async def asks(given: Sent) -> bool:
        work = calling.ask("asks", given, cwd)
        return bool(await _limited(work, f"{calling.tool.name}: require_approval_before"))

    return asks


async def _limited(work: Awaitable[Any], what: str) -> Any:
    """Wait for a hook that has no time limit of its own."""
    try:
        return await asyncio.wait_for(work, HOOK_SECONDS)
    except asyncio.TimeoutError:
        raise ToolError(f"{what} timed out after {HOOK_SECONDS:g} s.") from None


def with_source(made: Tool, source: str) -> Tool:
    """Return a tool that a file made by itself, bound to that file."""
    return replace(made, source=source)
