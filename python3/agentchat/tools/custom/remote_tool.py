"""The ``Tool`` of the plugin for a tool of the user's, built from its ``ToolSpec``.

Its commands run as those of ``bash`` do, its functions in a worker (see ``pool``).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS
from agentchat.core.tools.tool import (
    ArgumentError,
    Capability,
    Extra,
    Hooks,
    Metadata,
    Preview,
    Resolver,
    Result,
    Staged,
    Step,
    Tool,
    ToolContext,
    Touch,
    Undo,
    one_line,
)
from agentchat.rpc.errors import RemoteError
from agentchat.tools.custom.context import decode_result, encode_result
from agentchat.tools.custom.definition import ASKS, ToolSpec
from agentchat.tools.custom.pool import WorkerPool
from agentchat.tools.custom.template import Template, run_command
from agentchat.tools.custom.worker import CallLink, Worker, WorkerEnded

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


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """One tool of one file, whose functions run in workers; also its ``core.tool.Arguments``."""

    pool: WorkerPool
    file: str
    spec: ToolSpec

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

    async def run_functions(
        self, step: int, arguments: CallArguments, context: ToolContext, given: Sequence[str]
    ) -> tuple[Result, int]:
        """Run a step and the functions after it; return the result and the next step's number."""
        params = {**self._params(arguments, context), "step": step, "given": list(given)}
        answer = await self.pool.call(self.file, "run", params, self._link(context))
        return decode_result(answer), int(answer["next"])

    async def run_hook(self, role: str, arguments: CallArguments, context: ToolContext) -> Any:
        """Run a function among the options with the context of a call."""
        params = {**self._params(arguments, context), "role": role, "given": []}
        return await self.pool.call(self.file, "hook", params, self._link(context))

    def hook_params(
        self, role: str, arguments: Mapping[str, Any], cwd: str, given: Sequence[Any] = ()
    ) -> dict[str, Any]:
        """Return the request for a function among the options that only gets the arguments."""
        sent = arguments.sent if isinstance(arguments, CallArguments) else dict(arguments)
        about = {"name": self.spec.name, "arguments": sent, "role": role, "given": list(given)}
        return {**about, "cwd": cwd, "call_id": "", "flags": {}, "linked": False}

    def _params(self, arguments: CallArguments, context: ToolContext) -> dict[str, Any]:
        return {
            "name": self.spec.name,
            "arguments": arguments.sent,
            "cwd": context.cwd,
            "call_id": context.call_id,
            "flags": dict(context.flags),
            "linked": True,
        }

    def _link(self, context: ToolContext) -> CallLink:
        def stage(worker: Worker, params: Mapping[str, Any]) -> None:
            context.stage(StagedPreview(self, worker, context, params).staged())

        return CallLink(context, stage)


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

    def staged(self) -> Staged:
        """Return the preview; raises ToolError where it has no label."""
        if not self._label:
            raise ToolError("A preview needs a label that says what applying it does.")
        self._worker.previews.add(self._params["preview"])
        reject: Resolver | None = self._reject if self._params["has_reject"] else None
        preview = Preview(text=self._params["text"])
        return Staged(self._label, self._params["source"], self._apply, reject, preview)

    async def _apply(self, reason: str, extra: Extra) -> Result | None:
        try:
            result = await self._resolve("apply", reason, extra)
        except WorkerEnded as ended:
            again = f"{ended}. Discard the preview and call {self._tool.spec.name} again."
            raise RemoteError(again) from ended
        return result or Result(f"Applied: {self._label}.")

    async def _reject(self, reason: str, extra: Extra) -> Result | None:
        if not self._worker.alive:
            return None  # the callback is gone, and discarding needs nothing else
        return await self._resolve("reject", reason, extra)

    async def _resolve(self, action: str, reason: str, extra: Extra) -> Result | None:
        about = {**self._about, "action": action, "reason": reason}
        params = {**about, "extra": None if extra is None else dict(extra)}
        answer = await self._tool.pool.call_in(self._worker, "resolve", params)
        self._worker.previews.discard(self._params["preview"])
        return None if answer is None else decode_result(answer)


class Renderer:
    """Renders calls and results; a function that keeps a screen waiting is not asked again."""

    def __init__(self, tool: RemoteTool, cwd: str) -> None:
        self._tool = tool
        self._spec = tool.spec
        self._cwd = cwd
        self._slow = False

    def call(self, given: Mapping[str, Any]) -> str:
        """Return the call in one line, from whatever arguments have arrived."""
        plain = f"{self._spec.name} {one_line(given)}".rstrip()
        whole = {**self._spec.defaults, **given}
        if self._slow or "render_call" not in self._spec.hooks:
            return plain
        if not all(name in whole for name in self._spec.render_needs):
            return plain
        params = self._tool.hook_params("render_call", given, self._cwd)
        try:
            text = self._tool.pool.call_now(self._tool.file, "hook", params, RENDER_SECONDS)
        except Exception as error:
            self._note(error)
            return plain
        return str(text or plain)

    async def result(self, result: Result, given: Mapping[str, Any]) -> Result:
        """Return the result with what the user reads of it."""
        if self._slow or "render_result" not in self._spec.hooks:
            return result
        data = [encode_result(result)]
        params = self._tool.hook_params("render_result", given, self._cwd, data)
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                text = await self._tool.pool.call(self._tool.file, "hook", params)
        except Exception as error:
            self._note(error)
            return result
        return result if text is None else replace(result, shown=str(text))

    def _note(self, error: Exception) -> None:
        # Often the arguments are not complete: a call is shown while it arrives.
        log.info("%s could not be rendered: %r", self._spec.name, error)
        self._slow = self._slow or isinstance(error, TimeoutError)


def build(remote: RemoteTool, source: str, cwd: str) -> Tool:
    """Return the tool of one chat.

    Args:
        source: a hash of the file it was loaded from; another one makes it another tool.
        cwd: the workspace of the chat.
    """
    spec = remote.spec
    renderer = Renderer(remote, cwd)
    undoable = "undo" in spec.hooks
    return Tool(
        name=spec.name,
        description=spec.description,
        arguments=remote,
        steps=(_run(remote, renderer),),
        metadata=Metadata(
            concurrency_safe=spec.concurrency_safe,
            read_only=spec.read_only,
            destructive=spec.destructive,
            aliases=spec.aliases,
            search_hint=spec.search_hint,
            permission_class="custom",
            requires_checkpoint=spec.requires_checkpoint,
            requires_reverse_thinking=spec.requires_reverse_thinking,
        ),
        capability=Capability(
            dry_run="dry_run" in spec.hooks,
            reversible=undoable,
            undo_method=spec.name if undoable else "",
            undo_tool=spec.name if undoable else "",
            min_confidence=spec.min_confidence,
        ),
        touches=lambda given: _touch(spec, given),
        dry_run=_dry_run(remote) if "dry_run" in spec.hooks else None,
        render_call=renderer.call,
        snippet=spec.description.split("\n", 1)[0],
        guidelines=spec.guidelines,
        timeout=spec.timeout,
        hooks=Hooks(
            setup=_hook(remote, "setup"),
            exit=_hook(remote, "on_exit"),
            once=spec.setup_once,
            undo=(lambda given, result: _undo_record(spec, given)) if undoable else None,
        ),
        always_load=spec.always_load,
        asks=_asks(remote, cwd),
        undo=_undo(remote) if undoable else None,
        source=source,
    )


def _run(remote: RemoteTool, renderer: Renderer) -> Step:
    steps = len(remote.spec.steps)

    async def run(arguments: CallArguments, context: ToolContext) -> Result:
        step, given = 0, list[str]()
        while True:
            command = remote.spec.command(step)
            if command is None:
                result, step = await remote.run_functions(step, arguments, context, given)
            else:
                result = await _run_command(remote.spec, command, arguments, context, given)
                step += 1
            if result.is_error or step == steps:
                return await renderer.result(result, arguments)
            context.progress(f"{result.text}\n")
            given = [result.text]

    return run


async def _run_command(
    spec: ToolSpec,
    command: Template,
    arguments: CallArguments,
    context: ToolContext,
    given: Sequence[str],
) -> Result:
    return await run_command(
        command.fill(arguments),
        context,
        timeout=None if spec.timeout is not None else BASH_SECONDS,
        stdin=given[0] if given else None,
        flag="" if given else spec.flag,
    )


def _hook(remote: RemoteTool, role: str) -> Step | None:
    if role not in remote.spec.hooks:
        return None

    async def hook(arguments: CallArguments, context: ToolContext) -> None:
        await remote.run_hook(role, arguments, context)

    return hook


def _undo(remote: RemoteTool) -> Step:
    async def undo(arguments: CallArguments, context: ToolContext) -> Result:
        return decode_result(await remote.run_hook("undo", arguments, context))

    return undo


def _undo_record(spec: ToolSpec, arguments: CallArguments) -> Undo:
    """Return the record of a call that the tool's own ``undo`` can take back."""
    return Undo(f"{spec.name} takes it back", tool=spec.name, given=arguments.sent)


def _touch(spec: ToolSpec, arguments: Mapping[str, Any]) -> Touch:
    command = spec.command(0)
    return Touch(
        reads=_paths(spec.reads, arguments),
        writes=_paths(spec.writes, arguments),
        command=None if command is None else command.fill(arguments),
    )


def _paths(names: tuple[str, ...], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for name in names:
        value = arguments.get(name)
        found += [] if value is None else value if isinstance(value, list) else [value]
    return tuple(str(path) for path in found)


def _dry_run(remote: RemoteTool) -> Callable[[Any, ToolContext], Awaitable[Preview]]:
    async def dry_run(arguments: CallArguments, context: ToolContext) -> Preview:
        work = remote.run_hook("dry_run", arguments, context)
        text = await _limited(work, f"{remote.spec.name}: dry_run")
        # The text is the tool's own; the arguments are what will really run.
        shown = json.dumps(arguments, indent=2, ensure_ascii=False, default=str)
        return Preview(text=f"{text}\n\nArguments:\n{shown}")

    return dry_run


def _asks(remote: RemoteTool, cwd: str) -> bool | Callable[[Any], Awaitable[bool]] | None:
    if not isinstance(remote.spec.asks, str):
        return remote.spec.asks

    async def asks(arguments: CallArguments) -> bool:
        work = remote.pool.call(remote.file, "hook", remote.hook_params(ASKS, arguments, cwd))
        return bool(await _limited(work, f"{remote.spec.name}: {ASKS}"))

    return asks


async def _limited(work: Awaitable[Any], what: str) -> Any:
    """Wait for a hook that has no time limit of its own."""
    try:
        async with asyncio.timeout(HOOK_SECONDS):
            return await work
    except TimeoutError:
        raise ToolError(f"{what} timed out after {HOOK_SECONDS:g} s.") from None
