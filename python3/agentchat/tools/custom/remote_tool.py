"""The plugin's ``Tool`` for a tool of the user, made from its ``ToolSpec``.

Its commands run like those of ``bash``, its functions in a worker (see ``pool``).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS, RESULT_BYTES
from agentchat.core.text import clip
from agentchat.core.tools.call import CUSTOM
from agentchat.core.tools.tool import (
    Access,
    ArgumentError,
    Capability,
    DryRunResult,
    Extra,
    Hooks,
    Metadata,
    StagedChange,
    Step,
    Tool,
    ToolContext,
    ToolOutput,
    UndoCall,
    plain_title,
)
from agentchat.rpc.frames import RemoteError
from agentchat.tools.builtin.bash import run_shell
from agentchat.tools.custom.context import NO_OUTPUT
from agentchat.tools.custom.definition import ASKS, RESOURCES, ToolSpec
from agentchat.tools.custom.template import Template
from agentchat.tools.custom.worker import CallServices, Worker, WorkerEnded

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""How long checking arguments before the call may take; the call checks them again."""

RENDER_SECONDS = 0.25
HOOK_SECONDS = 30.0


class CallArguments(dict[str, Any]):
    """A call's arguments as JSON data, with the defaults; ``sent`` is what the model sent."""

    def __init__(self, sent: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
        super().__init__(plain)
        self.sent = dict(sent)


class Calls(Protocol):
    """Runs requests in workers: in any of them, or in one."""

    async def call(
        self,
        file: str,
        method: str,
        params: Mapping[str, Any],
        services: CallServices | None = None,
    ) -> Any:
        """Return the answer to a request about a file."""

    async def call_in(self, worker: Worker, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer of this very worker."""

    def call_now(self, file: str, method: str, params: Mapping[str, Any], seconds: float) -> Any:
        """Block until an idle worker answers; raises TimeoutError or RemoteError."""


class RemoteTool:
    """A tool of one file in one chat; also its ``core.tools.tool.Arguments``.

    Args:
        file: the key of the file.
        cwd: the workspace of the chat.
    """

    def __init__(self, pool: Calls, file: str, spec: ToolSpec, cwd: str) -> None:
        self.pool = pool
        self.file = file
        self.spec = spec
        self._cwd = cwd
        self._renders_slowly = False

    def tool(self, digest: str) -> Tool:
        """Return the tool; another ``digest`` of its file makes it another tool."""
        spec, hooks = self.spec, self.spec.hooks
        undoable = "undo" in hooks
        return Tool(
            name=spec.name,
            description=spec.description,
            arguments=self,
            steps=(self._run,),
            metadata=Metadata(
                aliases=spec.aliases, **{"permission_class": CUSTOM, **spec.metadata}
            ),
            capability=Capability(
                dry_run="dry_run" in hooks,
                reversible=undoable,
                min_confidence=spec.min_confidence,
            ),
            touches=self._touches,
            dry_run=self._dry_run if "dry_run" in hooks else None,
            render_call=self._render_call,
            snippet=spec.prompt_snippet or spec.description.split("\n", 1)[0],
            label=spec.label,
            system_prompt=spec.system_prompt,
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
            undo=self._reverting("undo") if undoable else None,
            redo=self._reverting("redo") if "redo" in hooks else None,
            source=digest,
            affected_resources=self._resources if RESOURCES in hooks else spec.resources,
        )

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema that the model is given."""
        return self.spec.schema

    async def parse(self, value: Mapping[str, Any]) -> CallArguments:
        """Return the arguments, checked by the type hints; raises ArgumentError.

        If no worker can check them now, the call does.
        """
        params = {"name": self.spec.name, "arguments": dict(value)}
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                answer = await self.pool.call(self.file, "check", params)
        except Exception as error:
            log.info("the arguments of %s are not checked yet: %s", self.spec.name, error)
            answer = {"plain": value}
        if "problems" in answer:
            raise ArgumentError(tuple((name, reason) for name, reason in answer["problems"]))
        return CallArguments(value, {**self.spec.defaults, **answer["plain"]})

    async def call(
        self,
        method: str,
        arguments: Mapping[str, Any],
        context: ToolContext | None = None,
        **more: Any,
    ) -> Any:
        """Call functions of the tool; without a context they receive only the arguments."""
        params = self._params(arguments, context, **more)
        services = None if context is None else CallServices(context, self._staged_change)
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

    def _staged_change(
        self, worker: Worker, context: ToolContext, params: Mapping[str, Any]
    ) -> StagedChange:
        """Return a preview whose callbacks are in the worker that staged it."""
        label = " ".join(params["label"].split())
        if not label:
            raise ToolError("A preview needs a label that says what applying it does.")
        preview, name = params["preview"], self.spec.name
        target = {
            "file": self.file,
            "preview": preview,
            "name": name,
            "cwd": context.cwd,
            "call_id": context.call_id,
        }
        worker.previews.add(preview)

        async def resolve(action: str, reason: str, extra: Extra) -> ToolOutput | None:
            data = None if extra is None else dict(extra)
            request = {**target, "action": action, "reason": reason, "extra": data}
            answer = await self.pool.call_in(worker, "resolve", request)
            worker.previews.discard(preview)
            return None if answer is None else _output(answer)

        async def apply(reason: str, extra: Extra) -> ToolOutput:
            try:
                return await resolve("apply", reason, extra) or ToolOutput(f"Applied: {label}.")
            except WorkerEnded as error:
                message = f"{error}. Discard the preview and call {name} again."
                raise RemoteError(message) from error

        async def reject(reason: str, extra: Extra) -> ToolOutput | None:
            # Without its worker the callback is gone, and discarding needs nothing else.
            return await resolve("reject", reason, extra) if worker.alive else None

        return StagedChange(
            label=label,
            source=params["source"],
            apply=apply,
            reject=reject if params["has_reject"] else None,
            preview=DryRunResult(text=params["text"]),
        )

    async def _run(self, arguments: CallArguments, context: ToolContext) -> ToolOutput:
        """Run the steps: consecutive functions in one request to a worker, commands here."""
        step, given = 0, list[str]()
        while True:
            command = self.spec.command(step)
            if command is None:
                answer = await self.call("run", arguments, context, step=step, given=given)
                result, step = _output(answer["result"]), answer["next"]
            else:
                result = await self._run_command(command, arguments, context, given)
                step += 1
            if result.is_error or step == len(self.spec.steps):
                return await self._rendered(result, arguments)
            context.progress(f"{result.text}\n")
            given = [result.text]

    async def _run_command(
        self, command: Template, arguments: CallArguments, context: ToolContext, given: list[str]
    ) -> ToolOutput:
        timeout = BASH_SECONDS if self.spec.timeout is None else None
        stdin = given[0].encode() if given else None
        result = await run_shell(command.fill(arguments), context, timeout, stdin)
        flags = {self.spec.flag: result.code == 0} if self.spec.flag and not given else {}
        context.flags.update(flags)
        output = result.tool_output()
        return (
            replace(output, details={**(output.details or {}), "flags": flags}) if flags else output
        )

    def _hook(self, role: str) -> Step | None:
        if role not in self.spec.hooks:
            return None

        async def hook(arguments: CallArguments, context: ToolContext) -> None:
            await self.call("hook", arguments, context, role=role)

        return hook

    def _reverting(self, role: str) -> Step:
        """Return the step that undoes or redoes a call, whose output is the last output."""

        async def step(arguments: CallArguments, context: ToolContext) -> ToolOutput:
            last = context.last_output
            given = [{"text": last.text, "details": last.details}]
            result = await self.call("hook", arguments, context, role=role, given=given)
            return ToolOutput(NO_OUTPUT) if result is None else _output(result)

        return step

    def _undo_record(self, arguments: CallArguments, result: ToolOutput) -> UndoCall:
        """Return how the tool's ``undo`` takes the call back."""
        return UndoCall(
            f"{self.spec.name} takes it back",
            tool=self.spec.name,
            arguments=arguments.sent,
            result={"text": clip(result.text, RESULT_BYTES), "details": result.details},
        )

    def _touches(self, arguments: Mapping[str, Any]) -> Access:
        command = self.spec.command(0)
        return Access(
            reads=_texts(self.spec.reads, arguments),
            writes=_texts(self.spec.writes, arguments),
            command=None if command is None else command.fill(arguments),
            urls=_texts(self.spec.urls, arguments),
        )

    async def _dry_run(self, arguments: CallArguments, context: ToolContext) -> DryRunResult:
        work = self.call("hook", arguments, context, role="dry_run")
        result = dict(await self._limited(work, "dry_run"))
        # The text is the tool's own; the arguments are what runs.
        given = json.dumps(arguments, indent=2, ensure_ascii=False, default=str)
        text = f"{result.pop('preview')}\n\nArguments:\n{given}".lstrip("\n")
        return DryRunResult(**{**result, "would_affect": tuple(result["would_affect"])}, text=text)

    async def _resources(self, arguments: CallArguments) -> tuple[str, ...]:
        return tuple(await self._limited(self.call("hook", arguments, role=RESOURCES), RESOURCES))

    async def _asks(self, arguments: CallArguments) -> bool:
        return bool(await self._limited(self.call("hook", arguments, role=ASKS), ASKS))

    async def _limited(self, work: Awaitable[Any], role: str) -> Any:
        """Await a function that has no timeout of its own."""
        try:
            async with asyncio.timeout(HOOK_SECONDS):
                return await work
        except TimeoutError:
            late = f"{self.spec.name}: {role} timed out after {HOOK_SECONDS:g} s."
            raise ToolError(late) from None

    def _render_call(self, arguments: Mapping[str, Any]) -> str:
        """Return the call in one line, from the arguments that have arrived."""
        plain = plain_title(self.spec.label or self.spec.name, arguments)
        names = self.spec.defaults.keys() | arguments.keys()
        if not self._renders("render_call") or not names >= set(self.spec.render_needs):
            return plain
        params = self._params(arguments, role="render_call")
        try:
            rendered = self.pool.call_now(self.file, "hook", params, RENDER_SECONDS)
            return plain if rendered is None else str(rendered["text"] or plain)
        except Exception as error:
            self._note_render_error(error)
            return plain

    async def _rendered(self, result: ToolOutput, arguments: CallArguments) -> ToolOutput:
        """Return the result with the text that the user reads."""
        if not self._renders("render_result"):
            return result
        given = [{name: getattr(result, name) for name in ("text", "details", "is_error")}]
        given[0]["shown"] = result.display_text
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                rendered = await self.call("hook", arguments, role="render_result", given=given)
        except Exception as error:
            self._note_render_error(error)
            return result
        return result if rendered is None else replace(result, display_text=str(rendered["text"]))

    def _renders(self, role: str) -> bool:
        """Whether to call a function that renders; not again after it was slow."""
        return role in self.spec.hooks and not self._renders_slowly

    def _note_render_error(self, error: Exception) -> None:
        # Often the arguments are incomplete: a call is shown while it arrives.
        log.info("%s could not be rendered: %r", self.spec.name, error)
        self._renders_slowly = self._renders_slowly or isinstance(error, TimeoutError)


def _texts(names: tuple[str, ...], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of arguments that are texts or lists of texts."""
    texts: list[Any] = []
    for name in names:
        value = arguments.get(name)
        texts += [] if value is None else value if isinstance(value, list) else [value]
    return tuple(map(str, texts))


def _output(result: Mapping[str, Any]) -> ToolOutput:
    """Return what a worker sent as the result of a function."""
    fields = {name: value for name, value in result.items() if name != "shown"}
    return ToolOutput(**fields, display_text=result["shown"])
