"""``@checkpoint``: functions of the user that save and restore what a call is about to change.

A handler has two halves, like a tool (see ``definition``): ``CheckpointSpec`` is data for the
plugin, the functions stay in the process that imported the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.tools.custom.declaration.parameters import BoundFunction, bind
from agentchat.tools.custom.declaration.spec import CheckpointSpec

MARK = "__agentchat_checkpoint__"
NAMES = ("tool", "arguments")
"""What a handler is told of the call, by the names of its parameters."""


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

    Without ``restore`` it only confirms that the state is safe, like "everything is committed": it
    returns ``None`` or true, or false or a text that says why not, and the call is not run.

    Args:
        restore: restores the state that was saved.
        tools: the names of the tools that it is for; all by default.

    Raises:
        DefinitionError: the declaration is wrong.
    """
    names = (tools,) if isinstance(tools, str) else tuple(tools)

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        functions = {"save": bind(function, NAMES, role=function.__name__)}
        if restore is not None:
            functions["restore"] = bind(restore, NAMES, earlier=1, role="restore")
        spec = CheckpointSpec(function.__name__, names, restore is None)
        setattr(function, MARK, CheckpointDefinition(spec, functions))
        return function

    return mark if function is None else mark(function)


def checkpoint_of(value: object) -> CheckpointDefinition | None:
    """Return the definition that ``@checkpoint`` attached to a function, if any."""
    definition = getattr(value, MARK, None) if hasattr(value, "__code__") else None
    return definition if isinstance(definition, CheckpointDefinition) else None
