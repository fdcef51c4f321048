"""``@tool``, which makes a function a tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar, overload

from agentchat.tools.custom.definition import Definition, Options, define
from agentchat.tools.custom.errors import DefinitionError

MARK = "__agentchat_tool__"

Function = TypeVar("Function", bound=Callable[..., Any])
Hook = Callable[..., Any]


@overload
def tool(function: Function, /) -> Function: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    aliases: str | Sequence[str] = (),
    search_hint: str = "",
    always_load: bool = False,
    read_only: bool = False,
    concurrency_safe: bool = False,
    destructive: bool = False,
    min_confidence: int = 0,
    requires_checkpoint: bool = False,
    requires_reverse_thinking: bool = False,
    timeout: float | None = None,
    setup_once: bool = False,
    require_approval_before: bool | Hook | None = None,
    steps: Sequence[Hook | str | Sequence[str]] | Hook | str = (),
    command: str | Sequence[str] | None = None,
    flag: str = "",
    reads: str | Sequence[str] = (),
    writes: str | Sequence[str] = (),
    dry_run: Hook | None = None,
    undo: Hook | None = None,
    setup: Hook | None = None,
    on_exit: Hook | None = None,
    render_call: Hook | None = None,
    render_result: Hook | None = None,
    guidelines: str | Sequence[str] = (),
) -> Callable[[Function], Function]: ...


def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool; the function itself stays as it is.

    Its type hints make the schema and its docstring the description; a parameter annotated
    ``Context`` receives the call's context. Every option, and what the functions among them
    receive, is described in ``:help agentchat-custom-options``.

    Raises:
        DefinitionError: what was declared makes no tool.
    """
    unknown = ", ".join(sorted(options.keys() - {known.name for known in fields(Options)}))
    if unknown:
        raise DefinitionError(f"@tool has no option {unknown}")
    wanted = Options(**options)

    def mark(function: Any) -> Any:
        setattr(function, MARK, define(function, wanted))
        return function

    return mark if function is None else mark(function)


def definition_of(value: object) -> Definition | None:
    """Return what ``@tool`` left on a function, if anything."""
    found = getattr(value, MARK, None) if hasattr(value, "__code__") else None
    return found if isinstance(found, Definition) else None
