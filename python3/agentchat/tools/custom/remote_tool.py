"""The plugin's ``Tool`` for a tool of the user, made from its ``ToolSpec``.

Its commands run like those of ``bash``, its functions in a worker (see ``pool``).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS, RESULT_BYTES
from agentchat.core.messages import Status, ToolResult
from agentchat.core.text import clip
from agentchat.core.tools.call import CUSTOM
from agentchat.core.tools.tool import (
    Access,
    ArgumentError,
    CallOutcome,
    Capability,
    DryRunResult,
    Environment,
    Extra,
    Hooks,
    Metadata,
    StagedPreview,
    Step,
    Tool,
    ToolContext,
    ToolOutput,
    UndoCall,
)
from agentchat.rpc.frames import RemoteError
from agentchat.tools.builtin.bash import run_shell
from agentchat.tools.builtin.read import UndecodableImage, image_type, scale_down
from agentchat.tools.custom.declaration.spec import (
    ASKS,
    NO_OUTPUT,
    RESOURCES,
    ToolSpec,
    class_arguments,
)
from agentchat.tools.custom.declaration.template import Template
from agentchat.tools.custom.process.worker import CallServices, Worker, WorkerEnded
from agentchat.tools.custom.rendering import Renderer
from agentchat.tools.wording import OUTCOMES, list_arguments, with_question

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""How long checking arguments before the call may take; the call checks them again."""

HOOK_SECONDS = 30.0
DESCRIBE_SECONDS = 1.0
"""How long a function may take to describe its tool."""


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
        self._cwd = os.path.normpath(os.path.join(cwd, spec.cwd))
        self._description: str | None = None
        self._renderer = Renderer(spec, self.call, self._call_now)

    def tool(self, digest: str) -> Tool:
        """Return the tool; another ``digest`` of its file makes it another tool."""
        spec, hooks = self.spec, self.spec.hooks
        undoable = "undo" in hooks
        return Tool(
            name=spec.name,
            description=spec.description,
            describe=self._describe if "description" in hooks else None,
            arguments=self,
            steps=(self._run,),
            metadata=self._metadata(),
            capability=Capability(
                dry_run="dry_run" in hooks,
                reversible=undoable or spec.undo_method == "tool",
                min_confidence=spec.min_confidence,
                undo_method=spec.undo_method,
                undo_tool=spec.undo_tool,
                undo_description=spec.undo_description,
            ),
            touches=self._touches,
            dry_run=self._dry_run if {"dry_run", "prompt"} & set(hooks) else None,
            render_call=self._renderer.render_call,
            snippet=spec.prompt_snippet or spec.description.split("\n", 1)[0],
            label=spec.label,
            system_prompt=spec.system_prompt,
            guidelines=spec.guidelines,
            timeout=spec.timeout,
            hooks=Hooks(
                setup=self._hook("setup"),
                exit=self._hook("on_exit"),
                once=spec.setup_once,
                result=self._formatted if set(OUTCOMES.values()) & set(hooks) else None,
                undo=self._undo_record if undoable or spec.undo_method else None,
            ),
            always_load=spec.always_load,
            asks=self._asks if ASKS in hooks else spec.asks,
            undo=self._reverting("undo") if undoable else None,
            redo=self._reverting("redo") if "redo" in hooks else None,
            source=digest,
            affected_resources=self._resources if RESOURCES in hooks else spec.resources,
        )

    def _metadata(self) -> Metadata:
        spec = self.spec
        declared = {"permission_class": CUSTOM, **spec.metadata}
        if declared["permission_class"] == "readonly":
            declared["read_only"] = True
        # Functions run in a worker, which no overlay confines; each isolated command has its own.
        only_commands = not spec.hooks and len(spec.steps) == 1 and spec.steps[0] is not None
        return Metadata(
            aliases=spec.aliases, confined=only_commands, runs_commands=only_commands, **declared
        )

    def _describe(self, environment: Environment) -> str:
        """Return the description for this chat: what the function says first, as long as it lives.

        A description that changes would make the model server read everything again.
        """
        if self._description is None:
            answer = self._call_now({}, "description", {}, DESCRIBE_SECONDS)
            self._description = str(answer["text"]).strip() if answer else ""
        return self._description or self.spec.description

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
            "cwd": self._cwd,
            "call_id": "" if context is None else context.call_id,
            "flags": {} if context is None else dict(context.flags),
            "linked": context is not None,
            "given": [],
            "values": {},
            **more,
        }

    def _staged_change(
        self, worker: Worker, context: ToolContext, params: Mapping[str, Any]
    ) -> StagedPreview:
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
            "standing": params["standing"],
        }
        worker.previews.add(preview)

        async def resolve(action: str, reason: str, extra: Extra) -> ToolOutput | None:
            data = None if extra is None else dict(extra)
            request = {**target, "action": action, "reason": reason, "extra": data}
            if action == "reject" and not params["standing"]:
                worker.previews.discard(preview)
            answer = await self.pool.call_in(worker, "resolve", request)
            if not params["standing"]:
                worker.previews.discard(preview)
            return None if answer is None else _output(answer)

        async def apply(reason: str, extra: Extra) -> ToolOutput:
            try:
                return await resolve("apply", reason, extra) or ToolOutput(f"Applied: {label}.")
            except WorkerEnded as error:
                advice = "Call" if params["standing"] else "Discard the preview and call"
                message = f"{error}. {advice} {name} again."
                raise RemoteError(message) from error

        async def reject(reason: str, extra: Extra) -> ToolOutput | None:
            # Without its worker the callback is gone, and discarding needs nothing else.
            return await resolve("reject", reason, extra) if worker.alive else None

        return StagedPreview(
            label=label,
            source=params["source"],
            apply=apply,
            reject=reject if params["has_reject"] else None,
            preview=DryRunResult(text=params["text"]),
            details=params["details"],
            is_standing=params["standing"],
            is_gone=lambda: not worker.alive,
        )

    async def _run(self, arguments: CallArguments, context: ToolContext) -> ToolOutput:
        """Run the steps, with live output as the tool renders it."""
        context = replace(context, cwd=self._cwd)
        live = self._renderer.live_output(arguments, context)
        if live is None:
            return await self._run_steps(arguments, context)
        try:
            return await self._run_steps(arguments, replace(context, progress=live.add))
        finally:
            live.close()

    async def _run_steps(self, arguments: CallArguments, context: ToolContext) -> ToolOutput:
        """Run the steps: consecutive functions in one request to a worker, commands here."""
        step, given = 0, list[str]()
        while True:
            command = self.spec.command(step)
            if command is None:
                answer = await self.call("run", arguments, context, step=step, given=given)
                result, step = await _output_with_images(answer["result"]), answer["next"]
            else:
                result = await self._run_command(command, arguments, context, given)
                step += 1
            if result.is_error or step == len(self.spec.steps):
                return await self._renderer.render_result(result, arguments, context.call_id)
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
            values = {"result": {"text": last.text, "details": last.details}}
            result = await self.call("hook", arguments, context, role=role, values=values)
            return ToolOutput(NO_OUTPUT) if result is None else _output(result)

        return step

    def _undo_record(self, arguments: CallArguments, result: ToolOutput) -> UndoCall:
        """Return how the tool's ``undo``, another tool or the user takes the call back."""
        spec = self.spec
        if spec.undo_method == "manual":
            return UndoCall("", irreversible=True, guide=spec.undo_description)
        return UndoCall(
            spec.undo_description or f"{spec.undo_tool or spec.name} takes it back",
            tool=spec.undo_tool or spec.name,
            arguments=arguments.sent,
            result={"text": clip(result.text, RESULT_BYTES), "details": result.details},
        )

    def _touches(self, arguments: Mapping[str, Any]) -> Access:
        """Return what a call touches: as declared, else by the permission class."""
        spec, command = self.spec, self.spec.command(0)
        kind, named = spec.metadata.get("permission_class"), class_arguments(spec)
        values = _texts(named, arguments)
        is_file = kind == "file" and not (spec.reads or spec.writes)
        reads = values if is_file and spec.metadata.get("read_only") else ()
        writes = values if is_file and not reads else ()
        line = command.fill(arguments) if command is not None else None
        if line is None and kind == "bash":
            line = "\n".join(values)
        return Access(
            reads=(*_texts(spec.reads, arguments), *reads),
            writes=(*_texts(spec.writes, arguments), *writes),
            command=line,
            urls=_texts(spec.urls, arguments) or (values if kind == "webfetch" else ()),
            cwd=spec.cwd if line is not None else "",
        )

    async def _formatted(self, outcome: CallOutcome) -> ToolResult:
        """Return a result with the text of the function for this outcome."""
        result = outcome.result
        role = OUTCOMES.get(result.status, "")
        if role not in self.spec.hooks or outcome.arguments is None:
            return result
        given = {"text": result.text, "details": result.details, "shown": result.display_text}
        values = {
            "result": {**given, "is_error": result.status is Status.ERROR},
            "reason": outcome.reason,
        }
        answer = await self.call("hook", outcome.arguments, role=role, values=values)
        if answer is None:
            return result
        rendered = result.display_text if "render_result" in self.spec.hooks else None
        return replace(
            result,
            text=answer["text"],
            display_text=rendered if answer["shown"] is None else answer["shown"],
            details=result.details if answer["details"] is None else answer["details"],
        )

    async def _dry_run(self, arguments: CallArguments, context: ToolContext) -> DryRunResult:
        """Return what the question shows: the text of ``dry_run``, and that of ``prompt``."""
        found = DryRunResult()
        if "dry_run" in self.spec.hooks:
            found = await self._computed(arguments, context)
        return with_question(found, await self._question(arguments, context), arguments)

    async def _question(self, arguments: CallArguments, context: ToolContext) -> str:
        """Return the question in the tool's own words, if it has some."""
        if "prompt" not in self.spec.hooks:
            return ""
        try:
            work = self.call("hook", arguments, context, role="prompt")
            answer = await self._limited(work, "prompt")
        except Exception as error:
            log.warning("%s could not phrase its question: %s", self.spec.name, error)
            return ""
        return "" if answer is None else str(answer["text"]).strip()

    async def _computed(self, arguments: CallArguments, context: ToolContext) -> DryRunResult:
        work = self.call("hook", arguments, context, role="dry_run")
        result = dict(await self._limited(work, "dry_run"))
        text = list_arguments(arguments, result.pop("preview"))
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

    def _call_now(
        self, arguments: Mapping[str, Any], role: str, values: Mapping[str, Any], seconds: float
    ) -> Any:
        params = self._params(arguments, role=role, values=values)
        return self.pool.call_now(self.file, "hook", params, seconds)


def _texts(names: tuple[str, ...], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of arguments that are texts or lists of texts."""
    texts: list[Any] = []
    for name in names:
        value = arguments.get(name)
        texts += [] if value is None else value if isinstance(value, list) else [value]
    return tuple(map(str, texts))


async def _output_with_images(result: Mapping[str, Any]) -> ToolOutput:
    """Return what a worker sent as the result of a call, with its images made to fit."""
    output, notes, images = _output(result), [], []
    for number, data in enumerate(result.get("images") or (), 1):
        kind = image_type(data)
        try:
            if kind is None:
                raise UndecodableImage("it is no PNG, JPEG, GIF or WebP")
            image, note = await asyncio.to_thread(scale_down, data, kind)
        except UndecodableImage as error:
            notes.append(f"[image {number} is left out: {error}]")
            continue
        images.append(image)
        notes += [note] if note else []
    return replace(output, text="\n".join((output.text, *notes)), images=tuple(images))


def _output(result: Mapping[str, Any]) -> ToolOutput:
    """Return what a worker sent as the result of a function."""
    fields = {name: value for name, value in result.items() if name not in ("shown", "images")}
    return ToolOutput(**fields, display_text=result["shown"])
