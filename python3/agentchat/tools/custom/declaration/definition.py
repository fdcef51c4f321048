"""``@tool``: what the user declares of a tool, checked where it is written.

A definition has two halves. ``ToolSpec`` is data: it is sent to the plugin when the file is loaded,
and is all that the plugin knows about the tool. The functions stay in the process that imported the
file; the plugin calls them by the name of their role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, Unpack, overload

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from agentchat.core.errors import DefinitionError
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import UndoMethod
from agentchat.tools.custom.declaration.parameters import (
    BoundFunction,
    Parameters,
    bind,
    parameters_of,
    split_docstring,
)
from agentchat.tools.custom.declaration.schema import field_problems
from agentchat.tools.custom.declaration.spec import (
    ASKS,
    HOOKS,
    RESOURCES,
    ToolSpec,
    missing_argument,
)
from agentchat.tools.custom.declaration.template import Template, parse, parse_words

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names of functions that model servers accept."""

MARK = "__agentchat_tool__"
VALUES: Mapping[str, tuple[str, ...]] = {
    "undo": ("result",),
    "redo": ("result",),
    "on_success": ("result",),
    "on_error": ("result",),
    "on_rejected": ("reason",),
    "render_call": ("partial", "last_output"),
    "render_result": ("expanded", "partial", "last_output"),
}
"""The values of a call that these functions can take, by the names of their parameters."""

METADATA = (
    "concurrency_safe", "read_only", "destructive", "search_hint", "requires_checkpoint",
    "requires_reverse_thinking", "permission_class", "audit_operation",
)  # fmt: skip
SPEC_FIELDS = (
    "flag", "always_load", "setup_once", "timeout", "min_confidence", "label", "system_prompt",
    "prompt_snippet", "cwd", "undo_tool", "undo_description",
)  # fmt: skip
"""Options that are fields of ``ToolSpec`` without a change."""

Function = TypeVar("Function", bound=Callable[..., Any])
Hook = Callable[..., Any]
Texts = Annotated[
    str | Sequence[str], AfterValidator(lambda texts: (texts,) if isinstance(texts, str) else texts)
]


class Options(TypedDict, total=False):
    """The options of ``@tool``, see ``:help agentchat-custom-options``."""

    name: str | None
    description: str | Hook | None
    aliases: Texts
    search_hint: str
    always_load: bool
    read_only: bool
    concurrency_safe: bool
    destructive: bool
    min_confidence: Annotated[int | float, Field(ge=0, le=100)]
    requires_checkpoint: bool
    requires_reverse_thinking: bool
    permission_class: str
    audit_operation: str
    affected_resources: Texts | Hook
    timeout: Annotated[float, Field(gt=0)] | None
    setup_once: bool
    require_approval_before: bool | Hook | None
    steps: Sequence[Hook | str | Sequence[str]] | Hook | str
    command: str | Annotated[Sequence[str], Field(min_length=1)] | None
    flag: str
    reads: Texts
    writes: Texts
    urls: Texts
    dry_run: Hook | None
    undo: Hook | None
    undo_method: UndoMethod
    undo_tool: str
    undo_description: str
    cwd: str
    redo: Hook | None
    setup: Hook | None
    on_exit: Hook | None
    render_call: Hook | None
    render_result: Hook | None
    prompt: Hook | None
    on_success: Hook | None
    on_error: Hook | None
    on_rejected: Hook | None
    on_cancelled: Hook | None
    guidelines: Texts
    label: str
    prompt_snippet: str
    system_prompt: str


Options.__pydantic_config__ = ConfigDict(strict=True)  # type: ignore[attr-defined]
OPTIONS = TypeAdapter(Options)


@frozen
class Definition:
    """A tool with its functions by the number of their step (``0``) or the name of their option."""

    spec: ToolSpec
    parameters: Parameters
    functions: Mapping[str, BoundFunction]


@overload
def tool(function: Function, /) -> Function: ...


@overload
def tool(**options: Unpack[Options]) -> Callable[[Function], Function]: ...


def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool, and return the function unchanged.

    Its type hints define the schema, its docstring the description; a parameter annotated
    ``Context`` receives the call's context. For the options see
    ``:help agentchat-custom-options``.

    Raises:
        DefinitionError: the declaration is wrong.
    """

    def mark(function: Any) -> Any:
        setattr(function, MARK, define(function, options))
        return function

    return mark if function is None else mark(function)


def definition_of(value: object) -> Definition | None:
    """Return the definition that ``@tool`` attached to a function, if any."""
    definition = getattr(value, MARK, None) if hasattr(value, "__code__") else None
    return definition if isinstance(definition, Definition) else None


def define(function: Callable[..., Any], options: Mapping[str, Any]) -> Definition:
    """Return the definition; raises DefinitionError that says what to change."""
    if not hasattr(function, "__code__"):
        kind = type(function).__name__
        raise DefinitionError(f"@tool belongs before a function, not before {kind}")
    options = _checked(options)
    description, notes = split_docstring(function.__doc__ or "")
    parameters = parameters_of(function, notes)
    names = parameters.names
    steps = _steps(function, options, names)
    functions = {str(n): step for n, step in enumerate(steps) if isinstance(step, BoundFunction)}
    functions |= {
        role: bind(
            options[role],
            names,
            earlier=int(role == "render_result"),
            values=VALUES.get(role, ()),
            role=role,
        )
        for role in HOOKS
        if callable(options.get(role))
    }
    given = options.get("description")
    metadata = {name: options[name] for name in METADATA if name in options}
    spec = ToolSpec(
        name=_valid_name(options.get("name") or function.__name__),
        # Without a docstring, the description is the name in words.
        description=(given if isinstance(given, str) and given else description).strip()
        or re.sub(r"[_-]+", " ", function.__name__).strip().capitalize(),
        schema=parameters.schema(),
        defaults=parameters.plain_defaults(),
        steps=tuple(step.parts if isinstance(step, Template) else None for step in steps),
        hooks=tuple(role for role in HOOKS if role in functions),
        asks=None if ASKS in functions else options.get(ASKS),
        render_needs=functions["render_call"].required_names()
        if "render_call" in functions
        else (),
        renders_partial="render_result" in functions
        and "partial" in functions["render_result"].value_names(),
        aliases=tuple(_valid_name(alias) for alias in options.get("aliases", ())),
        reads=_argument_names("reads", options, names),
        writes=_argument_names("writes", options, names),
        urls=_argument_names("urls", options, names),
        resources=() if RESOURCES in functions else tuple(options.get(RESOURCES, ())),
        guidelines=tuple(options.get("guidelines", ())),
        line=function.__code__.co_firstlineno,
        metadata=metadata,
        undo_method=options.get("undo_method") or ("tool" if options.get("undo_tool") else ""),
        **{name: options[name] for name in SPEC_FIELDS if name in options},
    )
    if problem := missing_argument(spec):
        raise DefinitionError(problem)
    return Definition(spec, parameters, functions)


def _checked(options: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = ", ".join(sorted(options.keys() - Options.__annotations__.keys()))
    if unknown:
        raise DefinitionError(f"@tool has no option {unknown}")
    try:
        checked: Mapping[str, Any] = OPTIONS.validate_python(options)
    except ValidationError as error:
        name, reason = field_problems(error)[0]
        raise DefinitionError(f"{name.split('.')[0]}: {reason}") from error
    if checked.get("read_only") and checked.get("destructive"):
        raise DefinitionError("a tool is read_only or destructive, not both")
    if checked.get("flag") and checked.get("command") is None:
        raise DefinitionError("flag is for tools with a command: it reports its exit code")
    undoable = checked.get("undo") or checked.get("requires_checkpoint")
    method, by_tool = checked.get("undo_method", ""), bool(checked.get("undo_tool"))
    if method == "manual" and not checked.get("undo_description"):
        raise DefinitionError("undo_method='manual' needs undo_description: what the user can do")
    if by_tool != (method == "tool") and method:
        raise DefinitionError("undo_method='tool' and undo_tool belong together")
    if (by_tool or method == "manual") and checked.get("undo"):
        raise DefinitionError("a tool has an undo function, or undo_method and undo_tool, not both")
    if checked.get("redo") and not undoable:
        raise DefinitionError("redo does again what undo reverted: define undo, too")
    return checked


def _steps(
    function: Callable[..., Any], options: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[BoundFunction | Template, ...]:
    command, steps = options.get("command"), options.get("steps", ())
    if callable(steps) or isinstance(steps, str):
        steps = (steps,)
    is_function = command is None
    first = bind(function, names, role=function.__name__) if is_function else _step(command, names)
    return (first, *(_step(step, names) for step in steps))


def _step(step: Any, names: tuple[str, ...]) -> BoundFunction | Template:
    """Return a function, a command line, or a program with its arguments, ready to be used."""
    if isinstance(step, str):
        return parse(step, names)
    if isinstance(step, Sequence):
        return parse_words(step, names)
    return bind(step, names, earlier=1, role="a step")


def _valid_name(text: str) -> str:
    if NAME.fullmatch(text):
        return text
    rule = "letters, digits, _ and -, at most 64, and begins with a letter"
    raise DefinitionError(f"{text!r} is no name for a tool: a name has {rule}")


def _argument_names(
    option: str, options: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[str, ...]:
    arguments = tuple(options.get(option, ()))
    for name in arguments:
        if name not in names:
            raise DefinitionError(f"{option}: {name} is no argument of the tool")
    return arguments
