"""Runs one call of a tool through its steps."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.execution.previews import Staging
from agentchat.agent.execution.result_store import Storage
from agentchat.core.errors import Stale, ToolError
from agentchat.core.messages import Status, ToolResult
from agentchat.core.text import masked
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.ports import Frontend, Target, Workspace
from agentchat.core.tools.tool import Preview, Result, Staged, Step, Tool, ToolContext, no_store
from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.effects import Moved, Ready
from agentchat.core.turn.view import Block, Screen
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

PHRASE_SECONDS = 2.0


class Phrasing:
    """Applies the ``result`` hook of tools, once to the result of each call.

    A hook changes what is said, never which call ended how. One that raises, takes too long or
    returns something else changes nothing.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._done: set[str] = set()

    async def phrased(self, result: ToolResult) -> ToolResult:
        """Return the result as its tool says it."""
        tool = self._toolbox.find(result.name)
        if result.call_id in self._done or tool is None or tool.hooks.result is None:
            return result
        self._done.add(result.call_id)
        try:
            said = await _said(tool, result)
        except Exception:
            log.exception("%s could not say its result", tool.name)
            return result
        return replace(
            result, text=said.text, shown=said.shown, details=said.details, images=said.images
        )


async def _said(tool: Tool, result: ToolResult) -> ToolResult:
    hook = tool.hooks.result
    assert hook is not None
    said: Any = await asyncio.wait_for(asyncio.to_thread(hook, result), PHRASE_SECONDS)
    if not isinstance(said, ToolResult) or not isinstance(said.text, str):
        raise TypeError(f"the hook returned {type(said).__name__}, no result")
    phrased: ToolResult = said
    return phrased


HOOK_SECONDS = 30.0
STAGED = "Staged as a preview - nothing has been changed yet."


class Runner:
    """Runs tools in one workspace and turns whatever they do into one result."""

    def __init__(
        self,
        workspace: Workspace,
        screen: Screen,
        scribe: JournalWriter,
        staging: Staging,
        storage: Storage,
        *,
        toolbox: Toolbox,
        frontend: Frontend | None = None,
    ) -> None:
        self._workspace = workspace
        self._toolbox = toolbox
        self._frontend = frontend
        self._scribe = scribe
        self._screen = screen
        self._staging = staging
        self._storage = storage
        self._flags: dict[str, bool] = {}

    async def run(self, ready: Ready) -> ToolResult | Moved:
        """Run a call; never raises but for being cancelled."""
        call = ready.call
        staged: list[Staged] = []
        context = self._context(call, staged.append, ready.preview, ready.place)
        try:
            result = await _guarded(call.tool, call.arguments, context)
        except Stale as stale:
            return Moved(stale.path, str(stale))
        await self._staging.stage(call, staged)
        if _status(result) is Status.SUCCESS:
            await self._note_undo(call, result)
        return self._settled(call, result, bool(staged))

    async def set_up(self, call: Call) -> str | None:
        """Run the set-up hook; return why it failed, if it did."""
        return await self._hook(call, call.tool.hooks.setup)

    async def tear_down(self, call: Call) -> None:
        """Run the exit hook; what fails in it goes to the log only."""
        await self._hook(call, call.tool.hooks.exit)

    async def _hook(self, call: Call, hook: Step | None) -> str | None:
        if hook is None:
            return None
        context = self._context(call, no_store, None)
        try:
            await asyncio.wait_for(_stepped(hook, call.arguments, context), HOOK_SECONDS)
        except ToolError as error:
            return str(error)
        except asyncio.TimeoutError:
            return f"{call.tool.name} timed out after {HOOK_SECONDS:g} s."
        except Exception as error:
            log.exception("a hook of %s failed", call.tool.name)
            return f"{call.tool.name} failed: {error}"
        return None

    async def _note_undo(self, call: Call, result: Result) -> None:
        """Write down how a call can be taken back; a failure at it fails nothing else."""
        hook = call.tool.hooks.undo
        if hook is None:
            return
        try:
            noting = asyncio.to_thread(hook, call.arguments, result)
            undo = await asyncio.wait_for(noting, HOOK_SECONDS)
            if undo is not None:
                self._scribe.record_undo_offered(call.call.id, undo)
        except Exception:
            log.exception("%s did not say how to undo its call", call.tool.name)

    async def preview(self, call: Call, place: Place) -> Preview | str:
        """Return what a call would do, or why it cannot work."""
        if call.tool.dry_run is None:
            return Preview()
        context = self._context(call, no_store, None, place)
        try:
            return await call.tool.dry_run(call.arguments, context)
        except ToolError as error:
            return str(error)
        except Exception as error:
            log.exception("%s failed to preview", call.tool.name)
            return f"{call.tool.name} failed: {error}"

    def _context(
        self,
        call: Call,
        stage: Callable[[Staged], None],
        preview: Preview | None,
        place: Place | None = None,
    ) -> ToolContext:
        def progress(text: str) -> None:
            self._screen.block(call.call.id, Block(tool=call.tool.name, append=text))

        return ToolContext(
            workspace=cast(
                "Workspace",
                JournaledWorkspace(
                    self._workspace, self._scribe, call.call.id, located=_located(call, place)
                ),
            ),
            cwd=self._workspace.root,
            call_id=call.call.id,
            progress=progress,
            stage=stage,
            store=self._storage.keep,
            overflow=self._storage.free_path(),
            preview=preview,
            collected=self._staging.collected(),
            frontend=self._frontend,
            toolbox=self._toolbox,
            flags=self._flags,
        )

    def _settled(self, call: Call, result: Result, staged: bool) -> ToolResult:
        said = masked(result.text)
        full = f"{STAGED}\n{said}" if staged else said
        text, stored = self._storage.bounded(call.tool.name, full)
        return ToolResult(
            call_id=call.call.id,
            name=call.tool.name,
            text=text,
            status=_status(result),
            details=result.details,
            images=result.images,
            shown=result.shown,
            stored=result.stored or stored,
        )


def _located(call: Call, place: Place | None) -> dict[str, Target]:
    """Return what was judged by the path as the model wrote it."""
    if place is None:
        return {}
    touch = call.tool.touches(call.arguments)
    pairs = [*zip(touch.reads, place.reads, strict=False)]
    return dict([*pairs, *zip(touch.writes, place.writes, strict=False)])


def _status(result: Result) -> Status:
    if result.cancelled:
        return Status.CANCELLED
    return Status.ERROR if result.is_error else Status.SUCCESS


async def _guarded(tool: Tool, arguments: Any, context: ToolContext) -> Result:
    """Run the steps; every failure but Stale becomes an error result."""
    try:
        # No task of its own: a change that was finished though cancelled has a result to return.
        async with asyncio.timeout(tool.timeout):
            return await _steps(tool, arguments, context)
    except Stale:
        raise
    except ToolError as error:
        return Result(str(error), is_error=True)
    except asyncio.TimeoutError:
        return Result(f"{tool.name} timed out after {tool.timeout:g} s.", is_error=True)
    except Exception as error:
        log.exception("%s failed", tool.name)
        return Result(f"{tool.name} failed: {error}", is_error=True)


async def _steps(tool: Tool, arguments: Any, context: ToolContext) -> Result:
    output: Any = None
    for step in tool.steps:
        output = await _stepped(step, arguments, context)
        if isinstance(output, Result) and output.is_error:
            break
        context = replace(context, given=output)
    return as_result(output)


async def _stepped(step: Step, arguments: Any, context: ToolContext) -> Any:
    if inspect.iscoroutinefunction(step):
        return await step(arguments, context)
    # A plain function may take its time; the loop serves every chat.
    return await asyncio.to_thread(step, arguments, context)


async def parsed(tool: Tool, given: Mapping[str, Any]) -> Any:
    """Return the arguments as the tool takes them; raises ArgumentError."""
    if tool.source:
        # Those of the user's own tools are checked in another process, which may be busy.
        return await asyncio.to_thread(tool.arguments.parse, given)
    return tool.arguments.parse(given)


def as_result(output: Any) -> Result:
    """Return what a step returned as a result: a Result, text, or a value shown as JSON."""
    if isinstance(output, Result):
        return output
    if output is None:
        return Result("(no output)")
    if isinstance(output, str):
        return Result(output)
    return Result(json.dumps(output, ensure_ascii=False, default=str))
