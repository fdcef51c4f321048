"""One file of the user's: run as a module of its own, and what it holds."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from agentchat.core.tools.registry import Group
from agentchat.core.tools.tool import Tool
from agentchat.tools.custom.decorator import definition_of
from agentchat.tools.custom.definition import Definition
from agentchat.tools.custom.errors import DefinitionError
from agentchat.tools.custom.files import Source


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or a tool in it, is not there: ``line`` is 0 where it has none."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{where}: {self.text}"


@dataclass(frozen=True, slots=True)
class Contents:
    """What one file holds: definitions, tools that are made already, and groups."""

    source: Source
    definitions: tuple[Definition, ...] = ()
    made: tuple[Tool, ...] = ()
    groups: tuple[Group, ...] = ()


class ImportProblem(Exception):
    """A file could not be imported."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def import_source(source: Source) -> Contents:
    """Run a file and return what it holds; raises ImportProblem, whatever the file does."""
    module = _module(source)
    sys.modules[module.__name__] = module
    try:
        exec(compile(source.data, str(source.path), "exec", dont_inherit=True), vars(module))
        return _contents(source, module)
    except BaseException as error:
        sys.modules.pop(module.__name__, None)
        raise ImportProblem(_problem(source, error)) from error


def _module(source: Source) -> ModuleType:
    name = f"agentchat_tools_{source.path.stem}_{source.digest[:12]}"
    spec = importlib.machinery.ModuleSpec(name, loader=None, origin=str(source.path))
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(source.path)
    return module


def _contents(source: Source, module: ModuleType) -> Contents:
    values = list({id(value): value for value in vars(module).values()}.values())
    found = (definition_of(value) for value in values)
    definitions = tuple(definition for definition in found if definition is not None)
    made = tuple(value for value in values if isinstance(value, Tool))
    groups = [value for value in values if isinstance(value, Group)]
    groups += _groups(getattr(module, "GROUPS", {}))
    if not (definitions or made or groups):
        raise DefinitionError("no tools: put @tool before a function")
    return Contents(source, definitions, made, tuple(groups))


def _groups(given: Any) -> Iterator[Group]:
    """Read ``GROUPS``: by name a group, a list of tools, or a mapping of a group's fields."""
    if not isinstance(given, Mapping):
        raise DefinitionError("GROUPS is a mapping from names to lists of tools")
    for name, said in given.items():
        if isinstance(said, Group):
            continue  # named like any other value of the module
        fields = dict(said) if isinstance(said, Mapping) else {"tools": said}
        tools = fields.pop("tools", ())
        if isinstance(tools, str) or not isinstance(tools, Sequence):
            raise DefinitionError(f"GROUPS: {name} needs a list of tools")
        try:
            yield Group(str(name), tuple(getattr(t, "__name__", str(t)) for t in tools), **fields)
        except TypeError as error:
            raise DefinitionError(f"GROUPS: {name}: {error}") from error


def _problem(source: Source, error: BaseException) -> Problem:
    if isinstance(error, SyntaxError) and error.filename == str(source.path):
        return Problem(source.path, error.lineno or 0, f"{type(error).__name__}: {error.msg}")
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == str(source.path)]
    text = str(error).split("\n", 1)[0]
    if not isinstance(error, DefinitionError):
        text = f"{type(error).__name__}: {text}".removesuffix(": ")
    return Problem(source.path, lines[-1] if lines else 0, text)
