"""Tools that Lua registers while Neovim runs; Lua also runs them.

Lua declares all of them in one event, whenever one is registered or unregistered and when the host
has started. A call is a notification to Lua; its result comes back as an event, so nothing waits
in Neovim.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.tools.registry import Group
from agentchat.core.tools.tool import (
    Access,
    Capability,
    Metadata,
    Step,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.nvim.lua_api import LuaApi
from agentchat.tools.json_schema import JsonSchemaArguments

Declaration = Mapping[str, Any]
"""The fields of ``register_tool`` that are data; a function is the text ``function``."""

SECONDS = 120.0
"""How long a call may take, unless the tool says so."""

METADATA = ("concurrency_safe", "read_only", "destructive", "search_hint")
FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class LuaRun:
    """One call that Lua runs."""

    answer: asyncio.Future[ToolOutput]
    progress: Callable[[str], None]


class LuaTools:
    """The registered tools of this Neovim; a ``tools.custom.registry.ToolSource``."""

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
        return [self._tool(declared, chat) for declared in self._declared]

    def finish(self, payload: Mapping[str, Any]) -> None:
        """Take the result of a run, or its error."""
        run = self._running.get(payload["run"])
        if run is None or run.answer.done():
            return
        if "error" in payload:
            run.answer.set_exception(RuntimeError(_clean(payload["error"])))
        else:
            run.answer.set_result(_output(payload))

    def show_progress(self, payload: Mapping[str, Any]) -> None:
        """Show a line of a run in its block."""
        run = self._running.get(payload["run"])
        if run is not None:
            run.progress(f"{_clean(payload['text'])}\n")

    def _tool(self, declared: Declaration, chat: str) -> Tool:
        name = declared["name"]
        description = declared.get("description") or name.replace("_", " ").capitalize()
        asks = declared.get("require_approval_before")
        return Tool(
            name=name,
            description=description,
            arguments=JsonSchemaArguments(declared.get("schema")),
            steps=(self._step(name, chat),),
            metadata=Metadata(
                aliases=tuple(declared.get("aliases") or ()),
                permission_class="custom",
                **{field: declared[field] for field in METADATA if field in declared},
            ),
            capability=Capability(min_confidence=declared.get("min_confidence") or 0),
            touches=partial(_touches, declared),
            snippet=declared.get("prompt_snippet") or description.split("\n", 1)[0],
            guidelines=tuple(declared.get("guidelines") or ()),
            timeout=declared.get("timeout") or SECONDS,
            label=declared.get("label") or "",
            always_load=bool(declared.get("always_load")),
            system_prompt=declared.get("system_prompt") or "",
            asks=partial(self._asks, name) if asks == FUNCTION else asks,
            source=f"register_tool {declared['revision']}",
        )

    async def _asks(self, name: str, arguments: Mapping[str, Any]) -> bool:
        return bool(await self._lua.request("tools.asks", name, dict(arguments)))

    def _step(self, name: str, chat: str) -> Step:
        async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutput:
            return await self._run(name, chat, arguments, context)

        return run

    async def _run(
        self, name: str, chat: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolOutput:
        id = uuid.uuid4().hex
        answer: asyncio.Future[ToolOutput] = asyncio.get_running_loop().create_future()
        self._running[id] = LuaRun(answer, context.progress)
        about = {"chat": chat, "call_id": context.call_id, "cwd": context.cwd}
        self._lua.call("tools.run", id, name, dict(arguments), about)
        try:
            return await answer
        finally:
            del self._running[id]
            if answer.cancelled():
                self._lua.call("tools.cancel", id)


def _touches(declared: Declaration, arguments: Mapping[str, Any]) -> Access:
    def paths(field: str) -> tuple[str, ...]:
        values = (arguments.get(name) for name in declared.get(field) or ())
        return tuple(str(value) for value in values if value is not None)

    return Access(reads=paths("reads"), writes=paths("writes"))


def _output(payload: Mapping[str, Any]) -> ToolOutput:
    details = payload.get("details")
    shown = payload.get("shown")
    return ToolOutput(
        _clean(payload["text"]) or "(no output)",
        is_error=bool(payload["is_error"]),
        details=_details(details) if details is not None else None,
        display_text=None if shown is None else _clean(shown),
    )


def _details(text: str) -> Mapping[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ToolError("details must be a table with names.")
    return value


def _clean(text: Any) -> str:
    """Return text of Lua, which may be any bytes, as text that every server accepts."""
    data = text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "replace")
