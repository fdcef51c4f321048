"""``@checkpoint``: functions of the user that save and restore what a call is about to change.

A handler has two halves, like a tool (see ``definition``): ``CheckpointSpec`` is data for the
plugin, the functions stay in the process that imported the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import CheckpointHandler, Tool, ToolContext, ToolOutput
from agentchat.tools.custom.declaration.parameters import BoundFunction, DefinitionError, bind

MARK = "__agentchat_checkpoint__"
NAMES = ("tool", "arguments")
"""What a handler is told of the call, by the names of its parameters."""

Request = Callable[[Mapping[str, Any], ToolContext], Any]
"""Calls a function of the handler in a worker, awaitable; returns JSON data."""


@frozen
class CheckpointSpec:
    """A handler as data; without ``tools`` it is for the calls of every tool."""

    name: str
    tools: tuple[str, ...] = ()


@frozen
class CheckpointDefinition:
    """A handler with its functions: ``save`` and ``restore``."""

    spec: CheckpointSpec
    functions: Mapping[str, BoundFunction]


def checkpoint(
    function: Callable[..., Any] | None = None,
    /,
    *,
    restore: Callable[..., Any] | None = None,
    tools: str | tuple[str, ...] | list[str] = (),
) -> Any:
    """Make a function the handler of checkpoints, and return the function unchanged.

    It runs before a call of a tool with ``requires_checkpoint``. Its parameters ``tool`` and
    ``arguments`` receive the call. What it returns is JSON data, which ``restore`` receives when
    the user undoes the call.

    Args:
        restore: restores the state that was saved.
        tools: the names of the tools that it is for; all by default.

    Raises:
        DefinitionError: the declaration is wrong.
    """
    if restore is None:
        raise DefinitionError("@checkpoint needs restore=, a function that restores what it saved")
    names = (tools,) if isinstance(tools, str) else tuple(tools)

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        functions = {
            "save": bind(function, NAMES, role=function.__name__),
            "restore": bind(restore, NAMES, earlier=1, role="restore"),
        }
        spec = CheckpointSpec(function.__name__, names)
        setattr(function, MARK, CheckpointDefinition(spec, functions))
        return function

    return mark if function is None else mark(function)


def checkpoint_of(value: object) -> CheckpointDefinition | None:
    """Return the definition that ``@checkpoint`` attached to a function, if any."""
    definition = getattr(value, MARK, None) if hasattr(value, "__code__") else None
    return definition if isinstance(definition, CheckpointDefinition) else None


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
        return {**call, "saved": saved}

    async def restore(saved: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        text = await request({"action": "restore", "name": spec.name, **saved}, context)
        return ToolOutput(text)

    name = f"checkpoint {spec.name}"
    restoring = Tool(
        name=name,
        description="Restore a checkpoint.",
        arguments=SavedArguments(),
        steps=(restore,),
        hidden=True,
    )
    return CheckpointHandler(name=name, tools=spec.tools, save=save, restore=restoring)
