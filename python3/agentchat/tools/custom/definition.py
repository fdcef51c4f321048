"""``@tool``: what the user declares of a tool, checked where it is written.

A definition has two halves. ``ToolSpec`` is data: it is sent to the plugin when the file is loaded,
and is all that the plugin ever knows of the tool. The functions stay in the process that imported
the file; the plugin calls them by the name of their role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar, Unpack, overload

from agentchat.tools.custom.parameters import (
    Bound,
    DefinitionError,
    Parameters,
    bind,
    parameters_of,
    split_docstring,
)
from agentchat.tools.custom.template import Template, parse, parse_words

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What model servers accept as the name of a function."""

MARK = "__agentchat_tool__"
HOOKS = ("dry_run", "undo", "setup", "on_exit", "render_call", "render_result")
ASKS = "require_approval_before"

Function = TypeVar("Function", bound=Callable[..., Any])
Hook = Callable[..., Any]


class Options(TypedDict, total=False):
    """The options of ``@tool``, see ``:help agentchat-custom-options``."""

    name: str | None
    description: str | None
    aliases: str | Sequence[str]
    search_hint: str
    always_load: bool
    read_only: bool
    concurrency_safe: bool
    destructive: bool
    min_confidence: float
    requires_checkpoint: bool
    requires_reverse_thinking: bool
    timeout: float | None
    setup_once: bool
    require_approval_before: bool | Hook | None
    steps: Sequence[Hook | str | Sequence[str]] | Hook | str
    command: str | Sequence[str] | None
    flag: str
    reads: str | Sequence[str]
    writes: str | Sequence[str]
    dry_run: Hook | None
    undo: Hook | None
    setup: Hook | None
    on_exit: Hook | None
    render_call: Hook | None
    render_result: Hook | None
    guidelines: str | Sequence[str]


BOOLS = (
    "always_load", "read_only", "concurrency_safe", "destructive", "requires_checkpoint",
    "requires_reverse_thinking", "setup_once",
)  # fmt: skip
PLAIN = (*BOOLS, "search_hint", "flag", "min_confidence", "timeout")
"""Options that are data as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as data.

    Args:
        schema: the JSON Schema of the arguments.
        defaults: of arguments that the model leaves out, as far as JSON can represent them.
        steps: the function or command and its steps: the parts of a command's template, ``None``
            for a function.
        hooks: which of ``HOOKS`` there are.
        asks: what ``require_approval_before`` says; ``function`` where it is one.
        render_needs: the arguments without which ``render_call`` cannot be called.
        line: where the function is in its file.
    """

    name: str
    description: str
    schema: dict[str, Any]
    defaults: dict[str, Any]
    steps: tuple[tuple[str, ...] | None, ...]
    hooks: tuple[str, ...]
    asks: bool | str | None
    render_needs: tuple[str, ...]
    aliases: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    guidelines: tuple[str, ...]
    line: int
    search_hint: str = ""
    flag: str = ""
    always_load: bool = False
    read_only: bool = False
    concurrency_safe: bool = False
    destructive: bool = False
    requires_checkpoint: bool = False
    requires_reverse_thinking: bool = False
    setup_once: bool = False
    min_confidence: int = 0
    timeout: float | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ToolSpec:
        """Return a spec that was sent, where sequences arrive as lists."""
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        return cls(**{**data, **lists})

    def command(self, step: int) -> Template | None:
        """Return the command that a step is, ``None`` if it is a function."""
        parts = self.steps[step]
        return None if parts is None else Template(tuple(parts))


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool with its functions, by the number of their step (``0``) or the name of the option."""

    spec: ToolSpec
    parameters: Parameters
    functions: Mapping[str, Bound]


@overload
def tool(function: Function, /) -> Function: ...


@overload
def tool(**options: Unpack[Options]) -> Callable[[Function], Function]: ...


def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool; the function itself stays as it is.

    Its type hints make the schema and its docstring the description; a parameter annotated
    ``Context`` receives the call's context. Every option, and what the functions among them
    receive, is described in ``:help agentchat-custom-options``.

    Raises:
        DefinitionError: what was declared makes no tool.
    """
    unknown = ", ".join(sorted(options.keys() - Options.__annotations__.keys()))
    if unknown:
        raise DefinitionError(f"@tool has no option {unknown}")

    def mark(function: Any) -> Any:
        setattr(function, MARK, define(function, options))
        return function

    return mark if function is None else mark(function)


def definition_of(value: object) -> Definition | None:
    """Return what ``@tool`` left on a function, if anything."""
    found = getattr(value, MARK, None) if hasattr(value, "__code__") else None
    return found if isinstance(found, Definition) else None


def define(function: Callable[..., Any], options: Mapping[str, Any]) -> Definition:
    """Return the definition; raises DefinitionError that says what to change."""
    if not hasattr(function, "__code__"):
        kind = type(function).__name__
        raise DefinitionError(f"@tool stands before a function, not before {kind}")
    _check(options)
    text, notes = split_docstring(function.__doc__ or "")
    parameters = parameters_of(function, notes)
    names = parameters.names
    steps = _steps(function, options, names)
    functions = {str(n): step for n, step in enumerate(steps) if isinstance(step, Bound)}
    functions |= _hooks(options, names)
    spec = ToolSpec(
        name=_name(options.get("name") or function.__name__),
        description=_description(options.get("description") or text, function.__name__),
        schema=parameters.schema(),
        defaults=parameters.plain_defaults(),
        steps=tuple(step.parts if isinstance(step, Template) else None for step in steps),
        hooks=tuple(name for name in HOOKS if name in functions),
        asks="function" if ASKS in functions else options.get(ASKS),
        render_needs=_needs(functions.get("render_call")),
        aliases=tuple(_name(alias) for alias in _texts("aliases", options)),
        reads=_paths("reads", options, names),
        writes=_paths("writes", options, names),
        guidelines=_texts("guidelines", options),
        line=function.__code__.co_firstlineno,
        **{name: options[name] for name in PLAIN if name in options},
    )
    return Definition(spec, parameters, functions)


def _steps(
    function: Callable[..., Any], options: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[Bound | Template, ...]:
    command, steps = options.get("command"), options.get("steps", ())
    if command is None:
        first: Bound | Template = bind(function, names, what=function.__name__)
    else:
        first = _command("command", command, names)
    if callable(steps) or isinstance(steps, str):
        steps = (steps,)
    return (first, *(_step(step, names) for step in steps))


def _step(step: Any, names: tuple[str, ...]) -> Bound | Template:
    if isinstance(step, (str, list, tuple)):
        return _command("a step", step, names)
    return bind(step, names, first=1, what="a step")


def _command(option: str, value: Any, names: tuple[str, ...]) -> Template:
    """Parse a command line, or a program with its arguments in a list."""
    if isinstance(value, str):
        return parse(value, names)
    words = _text_tuple(option, value)
    if not words:
        raise DefinitionError(f"{option} is a list without a program")
    return parse_words(words, names)


def _hooks(options: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Bound]:
    given = {name: options[name] for name in HOOKS if options.get(name) is not None}
    asks = options.get(ASKS)
    if asks is not None and not isinstance(asks, bool):
        if not callable(asks):
            raise DefinitionError(f"{ASKS} is True, False or a function")
        given[ASKS] = asks
    return {
        name: bind(function, names, first=int(name == "render_result"), what=name)
        for name, function in given.items()
    }


def _needs(bound: Bound | None) -> tuple[str, ...]:
    slots = () if bound is None else bound.slots
    return tuple(slot.name for slot in slots if slot.kind == "named" and not slot.optional)


def _check(options: Mapping[str, Any]) -> None:
    for name in BOOLS:
        if not isinstance(options.get(name, False), bool):
            raise DefinitionError(f"{name} is True or False")
    confidence, timeout = options.get("min_confidence", 0), options.get("timeout")
    if not _is_number(confidence) or not 0 <= confidence <= 100:
        raise DefinitionError("min_confidence is a number from 0 to 100")
    if timeout is not None and (not _is_number(timeout) or not timeout > 0):
        raise DefinitionError("timeout is a number of seconds above 0")
    for name in ("search_hint", "flag"):
        _text(name, options.get(name, ""))
    if options.get("read_only") and options.get("destructive"):
        raise DefinitionError("a tool is read_only or destructive, not both")
    if options.get("flag") and options.get("command") is None:
        raise DefinitionError("flag is for tools with a command: it reports its exit code")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _name(text: Any) -> str:
    if isinstance(text, str) and NAME.fullmatch(text):
        return text
    how = "letters, digits, _ and -, at most 64, and begins with a letter"
    raise DefinitionError(f"{text!r} is no name for a tool: a name has {how}")


def _description(text: Any, name: str) -> str:
    """Return what the model reads about a tool: for one without a docstring, its name in words."""
    stripped = _text("description", text).strip()
    return stripped or " ".join(re.split(r"[_-]+", name)).strip().capitalize()


def _text(option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise DefinitionError(f"{option} is a text, not {type(value).__name__}")
    return value


def _texts(option: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    value = options.get(option, ())
    return (value,) if isinstance(value, str) else _text_tuple(option, value)


def _text_tuple(option: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise DefinitionError(f"{option} is a text or a list of texts")
    return tuple(value)


def _paths(option: str, options: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    wanted = _texts(option, options)
    for name in wanted:
        if name not in names:
            raise DefinitionError(f"{option}: {name} is no argument of the tool")
    return wanted
