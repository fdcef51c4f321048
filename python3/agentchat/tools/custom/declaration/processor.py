"""``@result_processor``: a function of the user that shortens large results its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import ResultProcessor, ToolContext
from agentchat.tools.custom.declaration.parameters import BoundFunction, bind

MARK = "__agentchat_result_processor__"
NAMES = ("tool", "text", "path")
"""What a processor receives, by the names of its parameters."""

ProcessorRequest = Callable[[Mapping[str, Any], ToolContext], Any]
"""Calls a processor in a worker, awaitable; returns text or ``None``."""


@frozen
class ProcessorDefinition:
    """A processor by name, with its function."""

    name: str
    function: BoundFunction


def result_processor(function: Callable[..., Any]) -> Any:
    """Make a function the processor of large results, and return the function unchanged.

    It runs after a call whose result is too large for the model. Of its parameters, ``tool`` is
    the name of the tool, ``text`` the shortened result, and ``path`` the file with all of it. The
    text that it returns replaces the shortened one; ``None`` keeps that.

    Raises:
        DefinitionError: it has a parameter that no value is for.
    """
    bound = bind(function, NAMES, role=function.__name__)
    setattr(function, MARK, ProcessorDefinition(function.__name__, bound))
    return function


def processor_of(value: object) -> ProcessorDefinition | None:
    """Return the definition that ``@result_processor`` attached to a function, if any."""
    definition = getattr(value, MARK, None) if hasattr(value, "__code__") else None
    return definition if isinstance(definition, ProcessorDefinition) else None


def make_processor(name: str, request: ProcessorRequest) -> ResultProcessor:
    """Return the plugin's side of a processor."""

    async def process(tool: str, text: str, path: str, context: ToolContext) -> str | None:
        params = {"name": name, "tool": tool, "text": text, "path": path}
        processed: str | None = await request(params, context)
        return processed

    return process
