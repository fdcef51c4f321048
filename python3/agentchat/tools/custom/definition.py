"""What a user declared of a tool, checked where it was written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentchat.tools.custom.binding import Bound, bind
from agentchat.tools.custom.errors import DefinitionError
from agentchat.tools.custom.parameters import Parameters, described, parameters_of
from agentchat.tools.custom.template import Template, parse, parse_words

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What model servers take as the name of a function."""

Work = Bound | Template
"""A function of the user's, or a shell command."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``@tool`` as they were written; see there."""

    name: str | None = None
    description: str | None = None
    aliases: Any = ()
    search_hint: str = ""
    always_load: bool = False
    read_only: bool = False
    concurrency_safe: bool = False
    destructive: bool = False
    min_confidence: int = 0
    requires_checkpoint: bool = False
    requires_reverse_thinking: bool = False
    timeout: float | None = None
    setup_once: bool = False
    require_approval_before: Any = None
    steps: Any = ()
    command: Any = None
    flag: str = ""
    reads: Any = ()
    writes: Any = ()
    dry_run: Any = None
    undo: Any = None
    setup: Any = None
    on_exit: Any = None
    render_call: Any = None
    render_result: Any = None
    guidelines: Any = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool of a file: all that was declared, its functions ready to be called.

    ``works`` are the function or command and its steps, in order; the hooks are ``None`` where
    there is none, ``asks`` is a bool where the user said so once and for all.
    """

    name: str
    description: str
    parameters: Parameters
    works: tuple[Work, ...]
    options: Options
    aliases: tuple[str, ...]
    asks: Bound | bool | None
    dry_run: Bound | None
    undo: Bound | None
    setup: Bound | None
    on_exit: Bound | None
    render_call: Bound | None
    render_result: Bound | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    guidelines: tuple[str, ...]
    line: int
    module: str


def define(function: Callable[..., Any], options: Options) -> Definition:
    """Look at a function and its options; raises DefinitionError that says what to change."""
    if not hasattr(function, "__code__"):
        kind = type(function).__name__
        raise DefinitionError(f"@tool stands before a function, not before {kind}")
    text, notes = described(function.__doc__ or "")
    parameters = parameters_of(function, notes)
    names = parameters.names

    def hook(option: str, first: int = 0) -> Bound | None:
        given = getattr(options, option)
        return None if given is None else bind(given, names, first=first, what=option)

    _check(options)
    return Definition(
        name=_name(options.name or function.__name__),
        description=_description(options.description or text, function.__name__),
        parameters=parameters,
        works=_works(function, options, names),
        options=options,
        aliases=tuple(_name(alias) for alias in _texts("aliases", options.aliases)),
        asks=_asks(options.require_approval_before, names),
        dry_run=hook("dry_run"),
        undo=hook("undo"),
        setup=hook("setup"),
        on_exit=hook("on_exit"),
        render_call=hook("render_call"),
        render_result=hook("render_result", first=1),
        reads=_paths("reads", options.reads, names),
        writes=_paths("writes", options.writes, names),
        guidelines=_texts("guidelines", options.guidelines),
        line=function.__code__.co_firstlineno,
        module=function.__module__,
    )


def _works(
    function: Callable[..., Any], options: Options, names: tuple[str, ...]
) -> tuple[Work, ...]:
    if options.command is None:
        first: Work = bind(function, names, what=function.__name__)
    else:
        first = _command("command", options.command, names)
    steps = options.steps
    if callable(steps) or isinstance(steps, str):
        steps = (steps,)
    return (first, *(_step(step, names) for step in steps))


def _step(step: Any, names: tuple[str, ...]) -> Work:
    if isinstance(step, (str, list, tuple)):
        return _command("a step", step, names)
    return bind(step, names, first=1, what="a step")


def _command(option: str, value: Any, names: tuple[str, ...]) -> Template:
    """Read a command line, or a program with its arguments in a list."""
    if isinstance(value, str):
        return parse(value, names)
    words = _texts(option, value)
    if not words:
        raise DefinitionError(f"{option} is a list without a program")
    return parse_words(words, names)


def _asks(given: Any, names: tuple[str, ...]) -> Bound | bool | None:
    if given is None or isinstance(given, bool):
        return given
    if not callable(given):
        raise DefinitionError("require_approval_before is True, False or a function")
    return bind(given, names, what="require_approval_before")


def _check(options: Options) -> None:
    for name in (
        "always_load", "read_only", "concurrency_safe", "destructive", "requires_checkpoint",
        "requires_reverse_thinking", "setup_once",
    ):  # fmt: skip
        if not isinstance(getattr(options, name), bool):
            raise DefinitionError(f"{name} is True or False")
    least = options.min_confidence
    if not _is_number(least) or not 0 <= least <= 100:
        raise DefinitionError("min_confidence is a number from 0 to 100")
    timeout = options.timeout
    if timeout is not None and (not _is_number(timeout) or not timeout > 0):
        raise DefinitionError("timeout is a number of seconds above 0")
    for name in ("search_hint", "flag"):
        _text(name, getattr(options, name))
    if options.read_only and options.destructive:
        raise DefinitionError("a tool is read_only or destructive, not both")
    if options.flag and options.command is None:
        raise DefinitionError("flag is for tools with a command: it tells its exit code")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _name(text: Any) -> str:
    if isinstance(text, str) and NAME.fullmatch(text):
        return text
    how = "letters, digits, _ and -, at most 64, and begins with a letter"
    raise DefinitionError(f"{text!r} is no name for a tool: a name has {how}")


def _description(text: Any, name: str) -> str:
    """Return what the model reads about a tool: for one without a docstring, its name in words."""
    said = _text("description", text).strip()
    return said or " ".join(re.split(r"[_-]+", name)).strip().capitalize()


def _text(option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise DefinitionError(f"{option} is a text, not {type(value).__name__}")
    return value


def _texts(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise DefinitionError(f"{option} is a text or a list of texts")
    return tuple(value)


def _paths(option: str, value: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    wanted = _texts(option, value)
    for name in wanted:
        if name not in names:
            raise DefinitionError(f"{option}: {name} is no argument of the tool")
    return wanted
