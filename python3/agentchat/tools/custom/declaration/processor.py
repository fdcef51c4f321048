"""``@result_processor``: a function of the user that shortens large results its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.tools.custom.declaration.parameters import BoundFunction, bind

MARK = "__agentchat_result_processor__"
NAMES = ("tool", "text", "path")
"""What a processor receives, by the names of its parameters."""


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
