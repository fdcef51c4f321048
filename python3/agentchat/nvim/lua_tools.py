"""Tools that Lua registers while Neovim runs; Lua also runs them.

Lua declares all of them in one event, whenever one is registered or unregistered and when the host
has started. A call is a notification to Lua; its result comes back as an event, so nothing waits
in Neovim. Only the short functions around a call are requests.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import Status, ToolResult
from agentchat.core.tools.call import CUSTOM
from agentchat.core.tools.registry import Group
from agentchat.core.tools.tool import (
    Access,
    CallOutcome,
    Capability,
    DryRunResult,
    Hooks,
    Metadata,
    Step,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.nvim.lua_api import LuaApi
from agentchat.tools.json_schema import JsonSchemaArguments
from agentchat.tools.wording import OUTCOMES, list_arguments, with_question

log = logging.getLogger(__name__)

Declaration = Mapping[str, Any]
"""The fields of ``register_tool`` that are data; ``hooks`` names those that are functions."""

Arguments = Mapping[str, Any]

SECONDS = 120.0
"""How long a call may take, unless the tool says so."""

METADATA = (
    "concurrency_safe", "read_only", "destructive", "search_hint", "permission_class",
    "audit_operation",
)  # fmt: skip
FUNCTION = "function"


@frozen
class LuaRun:
    """One call that Lua runs."""

    answer: asyncio.Future[ToolOutput]
    progress: Callable[[str], None]


class LuaTools:
    """The registered tools of this Neovim; a ``EditorTools`` of ``app.tool_sources``."""

    path = Path("register_tool")
    groups: tuple[Group, ...] = ()

    def __init__(self, lua: LuaApi) -> None:
        self._lua = lua
        self._declared: Sequence[Declaration] = ()
        self._running: dict[str, LuaRun] = {}

    @property
    def lines(self) -> tuple[int, ...]:
        """A place for each tool, which none has."""
        return (0,) * len(self._declared)

    @property
    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """A value that differs if a tool was registered or unregistered."""
        return tuple((tool["name"], tool["revision"], 0) for tool in self._declared)

    def replace(self, declared: Sequence[Declaration]) -> None:
        """Replace all declarations."""
        self._declared = declared

    def tools(self, cwd: str, chat: str = "") -> list[Tool]:
        """Return the tools for a chat."""
        return [LuaTool(self, declared, chat).tool() for declared in self._declared]

    async def run(self, name: str, arguments: Arguments, about: Arguments, progress: Any) -> Any:
        """Let Lua run a call and return its output; raises RuntimeError with its error."""
        id = uuid.uuid4().hex
        answer: asyncio.Future[ToolOutput] = asyncio.get_running_loop().create_future()
        self._running[id] = LuaRun(answer, progress)
        self._lua.call("tools.run", id, name, dict(arguments), dict(about))
        try:
            return await answer
        finally:
            del self._running[id]
            if answer.cancelled():
                self._lua.call("tools.cancel", id)

    async def asks(self, name: str, arguments: Arguments) -> bool:
        """Return whether a call needs approval, as a function of the tool says."""
        return bool(await self._lua.request("tools.asks", name, dict(arguments)))

    async def hook(
        self, name: str, role: str, arguments: Arguments, value: Any = None
    ) -> ToolOutput | None:
        """Return what a function of a tool says; raises RuntimeError if it fails."""
        answer = await self._lua.request("tools.hook", name, role, dict(arguments), value)
        if answer and "error" in answer:
            raise RuntimeError(_clean(answer["error"]))
        return _output(answer) if answer else None

    def finish(self, payload: Mapping[str, Any]) -> None:
        """Take the result of a run, or its error."""
        run = self._running.get(payload["run"])
        if run is None or run.answer.done():
            return
        try:
            if "error" in payload:
                raise RuntimeError(_clean(payload["error"]))
            run.answer.set_result(_output(payload))
        except Exception as error:
            run.answer.set_exception(error)

    def show_progress(self, payload: Mapping[str, Any]) -> None:
        """Show a line of a run in its block."""
        run = self._running.get(payload["run"])
        if run is not None:
            run.progress(f"{_clean(payload['text'])}\n")


class LuaTool:
    """One registered tool in one chat."""

    def __init__(self, lua: LuaTools, declared: Declaration, chat: str) -> None:
        self._lua = lua
        self._declared = declared
        self._chat = chat
        self._name: str = declared["name"]
        self._hooks = frozenset(declared.get("hooks") or ())

    def tool(self) -> Tool:
        """Return the tool; registering it again makes it another tool."""
        declared, hooks = self._declared, self._hooks
        description = declared.get("description") or self._name.replace("_", " ").capitalize()
        asks = declared.get("require_approval_before")
        return Tool(
            name=self._name,
            description=description,
            arguments=JsonSchemaArguments(declared.get("schema")),
            steps=(self._run,),
            metadata=Metadata(
                aliases=self._texts("aliases"),
                **{
                    "permission_class": CUSTOM,
                    **{field: declared[field] for field in METADATA if field in declared},
                },
            ),
            capability=Capability(
                dry_run="dry_run" in hooks, min_confidence=declared.get("min_confidence") or 0
            ),
            touches=lambda arguments: Access(
                reads=self._values("reads", arguments),
                writes=self._values("writes", arguments),
                urls=self._values("urls", arguments),
            ),
            dry_run=self._dry_run if {"dry_run", "prompt"} & hooks else None,
            snippet=declared.get("prompt_snippet") or description.split("\n", 1)[0],
            guidelines=self._texts("guidelines"),
            timeout=declared.get("timeout") or SECONDS,
            label=declared.get("label") or "",
            hooks=Hooks(
                setup=self._step("setup"),
                exit=self._step("on_exit"),
                once=bool(declared.get("setup_once")),
                result=self._format if set(OUTCOMES.values()) & hooks else None,
            ),
            always_load=bool(declared.get("always_load")),
            system_prompt=declared.get("system_prompt") or "",
            asks=self._asks if asks == FUNCTION else asks,
            affected_resources=self._texts("affected_resources"),
            source=f"register_tool {declared['revision']}",
        )

    def _texts(self, field: str) -> tuple[str, ...]:
        return tuple(self._declared.get(field) or ())

    def _values(self, field: str, arguments: Arguments) -> tuple[str, ...]:
        values = [arguments.get(name) for name in self._texts(field)]
        return tuple(str(value) for value in values if value is not None)

    async def _run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        about = {"chat": self._chat, "call_id": context.call_id, "cwd": context.cwd}
        output: ToolOutput = await self._lua.run(self._name, arguments, about, context.progress)
        return output

    async def _asks(self, arguments: Arguments) -> bool:
        return await self._lua.asks(self._name, arguments)

    async def _hook(self, role: str, arguments: Arguments, value: Any = None) -> ToolOutput | None:
        if role not in self._hooks:
            return None
        return await self._lua.hook(self._name, role, arguments, value)

    def _step(self, role: str) -> Step | None:
        if role not in self._hooks:
            return None

        async def step(arguments: Arguments, context: ToolContext) -> None:
            await self._hook(role, arguments)

        return step

    async def _dry_run(self, arguments: Arguments, context: ToolContext) -> DryRunResult:
        """Return what the question shows: the texts of ``dry_run`` and ``prompt``."""
        would = await self._hook("dry_run", arguments)
        found = DryRunResult(text="" if would is None else list_arguments(arguments, would.text))
        try:
            question = await self._hook("prompt", arguments)
        except Exception as error:
            log.warning("%s could not phrase its question: %s", self._name, error)
            return found
        return with_question(found, "" if question is None else question.text, arguments)

    async def _format(self, outcome: CallOutcome) -> ToolResult:
        """Return a result as the function for this outcome phrases it."""
        result = outcome.result
        role = OUTCOMES.get(result.status)
        if role is None or outcome.arguments is None:
            return result
        is_error = result.status is Status.ERROR
        given = {"text": result.text, "details": result.details, "is_error": is_error}
        value = outcome.reason if result.status is Status.REJECTED else given
        output = await self._hook(role, outcome.arguments, value)
        if output is None:
            return result
        details = result.details if output.details is None else output.details
        return replace(result, text=output.text, display_text=output.display_text, details=details)


def _output(answer: Mapping[str, Any]) -> ToolOutput:
    """Return what Lua sent as the result of a function."""
    details, shown = answer.get("details"), answer.get("shown")
    return ToolOutput(
        _clean(answer["text"]) or "(no output)",
        is_error=bool(answer["is_error"]),
        details=None if details is None else json.loads(details),
        display_text=None if shown is None else _clean(shown),
    )


def _clean(text: Any) -> str:
    """Return text of Lua, which may be any bytes, as text that every server accepts."""
    data = text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "replace")
