"""The ``Tool`` of the plugin for a tool of the user's, built from its ``ToolSpec``.

Its commands run as those of ``bash`` do, its functions in a worker (see ``pool``).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS
from agentchat.core.tools.tool import (
    Access,
    ArgumentError,
    Capability,
    DryRunResult,
    Extra,
    Hooks,
    Metadata,
    PreviewCallback,
    StagedChange,
    Step,
    Tool,
    ToolContext,
    ToolOutput,
    UndoCall,
    summarize_arguments,
)
from agentchat.rpc.errors import RemoteError
from agentchat.tools.custom.context import NOTHING
from agentchat.tools.custom.definition import ASKS, ToolSpec
from agentchat.tools.custom.pool import WorkerPool
from agentchat.tools.custom.template import Template, run_command
from agentchat.tools.custom.worker import CallServices, Worker, WorkerEnded

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
"""How long arguments may take to be checked before the call; the call checks them again."""

RENDER_SECONDS = 0.25
HOOK_SECONDS = 30.0


class CallArguments(dict[str, Any]):
    """A call's arguments as plain data, the defaults filled in; ``sent`` is what the model sent."""

    def __init__(self, sent: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
        super().__init__(plain)
        self.sent = dict(sent)


class RemoteTool:
    """A tool of one file in one chat; also its ``core.tool.Arguments``.

    Args:
        file: the key of the file.
        cwd: the workspace of the chat.
    """

    def __init__(self, pool: WorkerPool, file: str, spec: ToolSpec, cwd: str) -> None:
        self.pool = pool
        self.file = file
        self.spec = spec
        self._cwd = cwd
        self._renders_slowly = False

    def tool(self, digest: str) -> Tool:
        """Return the tool; ``digest`` is of its file: another one makes it another tool."""
        spec, hooks = self.spec, self.spec.hooks
        undoable = spec.name if "undo" in hooks else ""
        return Tool(
            name=spec.name,
            description=spec.description,
            arguments=self,
            steps=(self._run,),
            metadata=Metadata(aliases=spec.aliases, permission_class="custom", **spec.metadata),
            capability=Capability(
                dry_run="dry_run" in hooks,
                reversible=bool(undoable),
                undo_method=undoable,
                undo_tool=undoable,
                min_confidence=spec.min_confidence,
            ),
            touches=self._touches,
            dry_run=self._dry_run if "dry_run" in hooks else None,
            render_call=self._render_call,
            snippet=spec.description.split("\n", 1)[0],
            guidelines=spec.guidelines,
            timeout=spec.timeout,
            hooks=Hooks(
                setup=self._hook("setup"),
                exit=self._hook("on_exit"),
                once=spec.setup_once,
                undo=self._undo_record if undoable else None,
            ),
            always_load=spec.always_load,
            asks=self._asks if ASKS in hooks else spec.asks,
            undo=self._undo if undoable else None,
            source=digest,
        )

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return self.spec.schema

    def parse(self, value: Mapping[str, Any]) -> CallArguments:
        """Return the arguments, checked by the type hints; raises ArgumentError.

        Where no worker can check them now, that is left to the call.
        """
        params = {"name": self.spec.name, "arguments": dict(value)}
        try:
            found = self.pool.call_now(self.file, "check", params, CHECK_SECONDS)
        except Exception as error:
            log.info("the arguments of %s are not checked yet: %s", self.spec.name, error)
            found = {"plain": value}
        if "problems" in found:
            raise ArgumentError(tuple((name, reason) for name, reason in found["problems"]))
        return CallArguments(value, {**self.spec.defaults, **found["plain"]})

    async def call(
        self,
        method: str,
        arguments: Mapping[str, Any],
        context: ToolContext | None = None,
        **more: Any,
    ) -> Any:
        """Call functions of the tool; without a context they get nothing but the arguments."""
        params = self._params(arguments, context, **more)
        services = None if context is None else self._services(context)
        return await self.pool.call(self.file, method, params, services)

    def _params(
        self, arguments: Mapping[str, Any], context: ToolContext | None = None, **more: Any
    ) -> dict[str, Any]:
        return {
            "name": self.spec.name,
            "arguments": getattr(arguments, "sent", arguments),
            "cwd": self._cwd if context is None else context.cwd,
            "call_id": "" if context is None else context.call_id,
            "flags": {} if context is None else dict(context.flags),
            "linked": context is not None,
            "given": [],
            **more,
        }

    def _services(self, context: ToolContext) -> CallServices:
        def stage(worker: Worker, params: Mapping[str, Any]) -> None:
            context.stage(StagedPreview(self, worker, context, params).staged())

        return CallServices(context, stage)

    async def _run(self, arguments: CallArguments, context: ToolContext) -> ToolOutput:
        """Run the steps: functions that follow each other in one request, commands here."""
        step, given = 0, list[str]()
        while True:
            command = self.spec.command(step)
            if command is not None:
                result = await self._run_command(command, arguments, context, given)
                step += 1
            else:
                answer = await self.call("run", arguments, context, step=step, given=given)
                result, step = ToolOutput(**answer["result"]), answer["next"]
            if result.is_error or step == len(self.spec.steps):
                return await self._rendered(result, arguments)
            context.progress(f"{result.text}\n")
            given = [result.text]

    async def _run_command(
        self, command: Template, arguments: CallArguments, context: ToolContext, given: list[str]
    ) -> ToolOutput:
        return await run_command(
            command.fill(arguments),
            context,
            seconds=None if self.spec.timeout is not None else BASH_SECONDS,
            stdin=given[0] if given else None,
            flag="" if given else self.spec.flag,
        )

    def _hook(self, role: str) -> Step | None:
        if role not in self.spec.hooks:
            return None

        async def hook(arguments: CallArguments, context: ToolContext) -> None:
            await self.call("hook", arguments, context, role=role)

        return hook

    async def _undo(self, arguments: CallArguments, context: ToolContext) -> ToolOutput:
        result = await self.call("hook", arguments, context, role="undo")
        return ToolOutput(NOTHING) if result is None else ToolOutput(**result)

    def _undo_record(self, arguments: CallArguments, result: ToolOutput) -> UndoCall:
        """Return the record of a call that the tool's own ``undo`` can take back."""
        name = self.spec.name
        return UndoCall(f"{name} takes it back", tool=name, given=arguments.sent)

    def _touches(self, arguments: Mapping[str, Any]) -> Access:
        command = self.spec.command(0)
        return Access(
            reads=_paths(self.spec.reads, arguments),
            writes=_paths(self.spec.writes, arguments),
            command=None if command is None else command.fill(arguments),
        )

    async def _dry_run(self, arguments: CallArguments, context: ToolContext) -> DryRunResult:
        work = self.call("hook", arguments, context, role="dry_run")
        result = await self._limited(work, "dry_run")
        text = NOTHING if result is None else result["text"]
        # The text is the tool's own; the arguments are what will really run.
        shown = json.dumps(arguments, indent=2, ensure_ascii=False, default=str)
        return DryRunResult(text=f"{text}\n\nArguments:\n{shown}")

    async def _asks(self, arguments: CallArguments) -> bool:
        return bool(await self._limited(self.call("hook", arguments, role=ASKS), ASKS))

    async def _limited(self, work: Awaitable[Any], role: str) -> Any:
        """Wait for a function that has no time limit of its own."""
        try:
            async with asyncio.timeout(HOOK_SECONDS):
                return await work
        except TimeoutError:
            late = f"{self.spec.name}: {role} timed out after {HOOK_SECONDS:g} s."
            raise ToolError(late) from None

    def _render_call(self, arguments: Mapping[str, Any]) -> str:
        """Return the call in one line, from whatever arguments have arrived."""
        plain = f"{self.spec.name} {summarize_arguments(arguments)}".rstrip()
        there = self.spec.defaults.keys() | arguments.keys()
        if not self._renders("render_call") or not there >= set(self.spec.render_needs):
            return plain
        params = self._params(arguments, role="render_call")
        try:
            rendered = self.pool.call_now(self.file, "hook", params, RENDER_SECONDS)
            return plain if rendered is None else str(rendered["text"] or plain)
        except Exception as error:
            self._note_render_error(error)
            return plain

    async def _rendered(self, result: ToolOutput, arguments: CallArguments) -> ToolOutput:
        """Return the result with what the user reads of it."""
        if not self._renders("render_result"):
            return result
        names = ("text", "details", "is_error", "shown")
        given = [{name: getattr(result, name) for name in names}]
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                rendered = await self.call("hook", arguments, role="render_result", given=given)
        except Exception as error:
            self._note_render_error(error)
            return result
        return result if rendered is None else replace(result, shown=str(rendered["text"]))

    def _renders(self, role: str) -> bool:
        """Whether there is a function for it; one that was slow is not called again."""
        return role in self.spec.hooks and not self._renders_slowly

    def _note_render_error(self, error: Exception) -> None:
        # Often the arguments are not complete: a call is shown while it arrives.
        log.info("%s could not be rendered: %r", self.spec.name, error)
        self._renders_slowly = self._renders_slowly or isinstance(error, TimeoutError)


def _paths(names: tuple[str, ...], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        value = arguments.get(name)
        found += [] if value is None else value if isinstance(value, list) else [value]
    return tuple(str(path) for path in found)


class StagedPreview:
    """A preview whose callbacks are in the process that staged it."""

    def __init__(
        self, tool: RemoteTool, worker: Worker, context: ToolContext, params: Mapping[str, Any]
    ) -> None:
        self._tool = tool
        self._worker = worker
        self._params = params
        self._label = " ".join(params["label"].split())
        self._about = {
            "preview": params["preview"],
            "name": tool.spec.name,
            "cwd": context.cwd,
            "call_id": context.call_id,
        }

    def staged(self) -> StagedChange:
        """Return the preview; raises ToolError where it has no label."""
        if not self._label:
            raise ToolError("A preview needs a label that says what applying it does.")
        self._worker.previews.add(self._params["preview"])
        reject: PreviewCallback | None = self._reject if self._params["has_reject"] else None
        preview = DryRunResult(text=self._params["text"])
        return StagedChange(self._label, self._params["source"], self._apply, reject, preview)

    async def _apply(self, reason: str, extra: Extra) -> ToolOutput | None:
        try:
            result = await self._resolve("apply", reason, extra)
        except WorkerEnded as ended:
            again = f"{ended}. Discard the preview and call {self._tool.spec.name} again."
            raise RemoteError(again) from ended
        return result or ToolOutput(f"Applied: {self._label}.")

    async def _reject(self, reason: str, extra: Extra) -> ToolOutput | None:
        if not self._worker.alive:
            return None  # the callback is gone, and discarding needs nothing else
        return await self._resolve("reject", reason, extra)

    async def _resolve(self, action: str, reason: str, extra: Extra) -> ToolOutput | None:
        about = {**self._about, "action": action, "reason": reason}
        params = {**about, "extra": None if extra is None else dict(extra)}
        answer = await self._tool.pool.call_in(self._worker, "resolve", params)
        self._worker.previews.discard(self._params["preview"])
        return None if answer is None else ToolOutput(**answer)
