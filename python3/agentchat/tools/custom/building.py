"""From a definition to a tool of one chat: its functions run in threads, its commands in shells."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS
from agentchat.core.tool import (
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
from agentchat.tools.custom.binding import Bound
from agentchat.tools.custom.command import run_shell
from agentchat.tools.custom.context import Context
from agentchat.tools.custom.context import Result as OwnResult
from agentchat.tools.custom.definition import Definition, Work
from agentchat.tools.custom.link import CallLink, finished
from agentchat.tools.custom.outcome import result_of
from agentchat.tools.custom.rendering import Renderer
from agentchat.tools.custom.template import Template

HOOK_SECONDS = 30.0


def build(definition: Definition, source: str, cwd: str) -> Tool:
    """Return the tool of one chat.

    Args:
        source: a hash of the file it was read from; another one makes it another tool.
        cwd: the workspace of the chat.
    """
    options = definition.options
    renderer = Renderer(definition, cwd)
    return Tool(
        name=definition.name,
        description=definition.description,
        arguments=definition.parameters,
        steps=_steps(definition, renderer),
        metadata=Metadata(
            concurrency_safe=options.concurrency_safe,
            read_only=options.read_only,
            destructive=options.destructive,
            aliases=definition.aliases,
            search_hint=options.search_hint,
            permission_class="custom",
            requires_checkpoint=options.requires_checkpoint,
            requires_reverse_thinking=options.requires_reverse_thinking,
        ),
        capability=Capability(
            dry_run=definition.dry_run is not None,
            reversible=definition.undo is not None,
            undo_method=definition.name if definition.undo is not None else "",
            undo_tool=definition.name if definition.undo is not None else "",
            min_confidence=options.min_confidence,
        ),
        touches=lambda given: _touch(definition, given),
        dry_run=_dry_run(definition),
        render_call=renderer.call,
        snippet=definition.description.split("\n", 1)[0],
        guidelines=definition.guidelines,
        timeout=options.timeout,
        hooks=_hooks(definition),
        always_load=options.always_load,
        asks=_asks(definition, cwd),
        undo=_taking_back(definition),
        source=source,
    )


def _steps(definition: Definition, renderer: Renderer) -> tuple[Step, ...]:
    last = len(definition.works) - 1
    return tuple(
        _step(definition, work, renderer, is_first=number == 0, is_last=number == last)
        for number, work in enumerate(definition.works)
    )


def _step(
    definition: Definition, work: Work, renderer: Renderer, *, is_first: bool, is_last: bool
) -> Step:
    async def step(given: Any, context: ToolContext) -> Any:
        first = () if is_first else (context.given,)
        value, result = await _worked(definition, work, given, context, first)
        if is_last or result.is_error:
            return renderer.result(result, given)
        context.progress(f"{result.text}\n")
        return value

    return step


async def _worked(
    definition: Definition, work: Work, given: Any, context: ToolContext, first: tuple[Any, ...]
) -> tuple[Any, Result]:
    """Run one function or command; return what the next one gets, and the same as a result."""
    options = definition.options
    if isinstance(work, Template):
        result = await run_shell(
            work.fill(given),
            context,
            timeout=None if options.timeout is not None else BASH_SECONDS,
            stdin=first[0] if first else None,
            flag="" if first else options.flag,
        )
        return result.text, result

    def finish(value: Any) -> tuple[Any, Result]:
        solid = list(value) if isinstance(value, Iterator) else value
        result = result_of(solid, definition.name)
        return (result.text if isinstance(solid, (Result, OwnResult)) else solid), result

    found: tuple[Any, Result] = await _called(
        definition, work, given, context, *first, finish=finish
    )
    return found


async def _called(
    definition: Definition,
    bound: Bound,
    given: Mapping[str, Any],
    context: ToolContext,
    *first: Any,
    finish: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """Run one function of the user's with the call's context, in a thread of its own."""
    link = CallLink(definition.name, context)
    try:
        return await finished(
            lambda: bound.call(given, link.context(), *first),
            finish,
            context.cwd,
            link.progress_text.add,
        )
    finally:
        await link.close()


def _hook(definition: Definition, bound: Bound | None) -> Step | None:
    if bound is None:
        return None

    async def hook(given: Any, context: ToolContext) -> None:
        await _called(definition, bound, given, context)

    return hook


def _taking_back(definition: Definition) -> Step | None:
    bound = definition.undo
    if bound is None:
        return None

    async def undo(given: Any, context: ToolContext) -> Result:
        finish = partial(result_of, name=definition.name)
        result: Result = await _called(definition, bound, given, context, finish=finish)
        return result

    return undo


def _hooks(definition: Definition) -> Hooks:
    return Hooks(
        setup=_hook(definition, definition.setup),
        exit=_hook(definition, definition.on_exit),
        once=definition.options.setup_once,
        undo=None if definition.undo is None else lambda given, result: _undo(definition, given),
    )


def _undo(definition: Definition, given: Mapping[str, Any]) -> Undo:
    """Return the record of a call that can be taken back by the tool's own ``undo``."""
    plain = to_jsonable_python(dict(given), serialize_unknown=True)
    return Undo(f"{definition.name} takes it back", tool=definition.name, given=plain)


def _touch(definition: Definition, given: Mapping[str, Any]) -> Touch:
    first = definition.works[0]
    return Touch(
        reads=_paths(definition.reads, given),
        writes=_paths(definition.writes, given),
        command=first.fill(given) if isinstance(first, Template) else None,
    )


def _paths(names: tuple[str, ...], given: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        value = given.get(name)
        found += [] if value is None else value if isinstance(value, list) else [value]
    return tuple(str(path) for path in found)


def _dry_run(definition: Definition) -> Callable[[Any, ToolContext], Awaitable[Preview]] | None:
    bound = definition.dry_run
    if bound is None:
        return None

    async def dry_run(given: Any, context: ToolContext) -> Preview:
        text = await _limited(
            _called(
                definition, bound, given, context,
                finish=lambda value: result_of(value, definition.name).text,
            ),
            f"{definition.name}: dry_run",
        )  # fmt: skip
        # The words are the tool's own; the arguments are what will really run.
        shown = json.dumps(dict(given), indent=2, ensure_ascii=False, default=str)
        return Preview(text=f"{text}\n\nArguments:\n{shown}")

    return dry_run


def _asks(definition: Definition, cwd: str) -> bool | Callable[[Any], Awaitable[bool]] | None:
    bound = definition.asks
    if not isinstance(bound, Bound):
        return bound

    async def asks(given: Any) -> bool:
        work = finished(lambda: bound.call(given, Context(cwd)), bool, cwd, lambda text: None)
        return bool(await _limited(work, f"{definition.name}: require_approval_before"))

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
