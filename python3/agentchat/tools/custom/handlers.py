"""The plugin's side of ``@checkpoint`` and ``@result_processor``: the functions run in a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.tools.call import CONFIRMATION
from agentchat.core.tools.tool import (
    CheckpointHandler,
    ProcessedResult,
    ResultProcessor,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.tools.custom.declaration.spec import CheckpointSpec

Request = Callable[[Mapping[str, Any], ToolContext], Any]
"""Calls a function in a worker, awaitable; returns JSON data."""


class SavedArguments:
    """The arguments of the tool that restores a checkpoint: what the handler saved, unchecked."""

    def schema(self) -> dict[str, Any]:
        """Return a schema; no model ever sees it."""
        return {"type": "object"}

    def parse(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments as they are."""
        return value


def make_handler(spec: CheckpointSpec, request: Request) -> CheckpointHandler:
    """Return the plugin's side of a handler."""

    async def save(tool: str, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        call = {"tool": tool, "arguments": dict(arguments)}
        saved = await request({"action": "save", "name": spec.name, **call}, context)
        if spec.only_confirms and saved not in (None, True):
            raise ToolError(str(saved) if saved else f"{spec.name} did not confirm it")
        return {**call, "saved": saved}

    async def restore(saved: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        text = await request({"action": "restore", "name": spec.name, **saved}, context)
        return ToolOutput(text)

    if spec.only_confirms:
        return CheckpointHandler(f"{CONFIRMATION}{spec.name}", spec.tools, save, None)
    name = f"checkpoint {spec.name}"
    restoring = Tool(
        name=name,
        description="Restore a checkpoint.",
        arguments=SavedArguments(),
        steps=(restore,),
        hidden=True,
    )
    return CheckpointHandler(name=name, tools=spec.tools, save=save, restore=restoring)


def make_processor(name: str, request: Request) -> ResultProcessor:
    """Return the plugin's side of a processor."""

    async def process(
        tool: str, text: str, path: str, context: ToolContext
    ) -> ProcessedResult | None:
        params = {"name": name, "tool": tool, "text": text, "path": path}
        processed = await request(params, context)
        return None if processed is None else ProcessedResult(**processed)

    return process
