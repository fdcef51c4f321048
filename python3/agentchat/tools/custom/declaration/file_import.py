"""Importing a file with tools, in a worker process: this runs the user's code."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from agentchat.core.errors import DefinitionError
from agentchat.core.frozen import frozen
from agentchat.core.tools.registry import Group
from agentchat.rpc.frames import error_text
from agentchat.tools.custom.declaration.checkpoint import CheckpointDefinition, checkpoint_of
from agentchat.tools.custom.declaration.definition import Definition, definition_of
from agentchat.tools.custom.declaration.files import FileProblem
from agentchat.tools.custom.declaration.processor import ProcessorDefinition, processor_of
from agentchat.tools.custom.declaration.registration import ImportedTools, registering_with
from agentchat.tools.trust import Source


@frozen
class Contents:
    """What one file defines."""

    definitions: tuple[Definition, ...] = ()
    checkpoints: tuple[CheckpointDefinition, ...] = ()
    groups: tuple[Group, ...] = ()
    processors: tuple[ProcessorDefinition, ...] = ()


class ImportProblem(Exception):
    """A file could not be imported."""

    def __init__(self, problem: FileProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def import_source(source: Source) -> Contents:
    """Run a file and return its contents; raises ImportProblem, whatever the file does."""
    module = _module(source)
    sys.modules[module.__name__] = module
    registered = ImportedTools()
    try:
        with registering_with(registered):
            exec(compile(source.data, str(source.path), "exec", dont_inherit=True), vars(module))
        return _contents(module, registered.definitions)
    except BaseException as error:
        sys.modules.pop(module.__name__, None)
        raise ImportProblem(_problem(source, error)) from error


def _module(source: Source) -> ModuleType:
    name = f"agentchat_tools_{source.path.stem}_{source.digest[:12]}"
    spec = importlib.machinery.ModuleSpec(name, loader=None, origin=str(source.path))
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(source.path)
    return module


def _contents(module: ModuleType, registered: tuple[Definition, ...]) -> Contents:
    values = list({id(value): value for value in vars(module).values()}.values())
    marked = map(definition_of, values)
    definitions = (*(definition for definition in marked if definition is not None), *registered)
    groups = [value for value in values if isinstance(value, Group)]
    groups += _groups(getattr(module, "GROUPS", {}))
    checkpoints = [c for c in map(checkpoint_of, values) if c is not None]
    processors = [p for p in map(processor_of, values) if p is not None]
    if not (definitions or groups or checkpoints or processors):
        raise DefinitionError("no tools: put @tool before a function")
    return Contents(
        definitions=definitions,
        checkpoints=tuple(checkpoints),
        groups=tuple(groups),
        processors=tuple(processors),
    )


def _groups(declared: Any) -> Iterator[Group]:
    """Parse ``GROUPS``: by name a group, a list of tools, or a mapping of a group's fields."""
    if not isinstance(declared, Mapping):
        raise DefinitionError("GROUPS is a mapping from names to lists of tools")
    for name, value in declared.items():
        if isinstance(value, Group):
            continue  # a value of the module like any other
        fields = dict(value) if isinstance(value, Mapping) else {"tools": value}
        tools = fields.pop("tools", ())
        if isinstance(tools, str) or not isinstance(tools, Sequence):
            raise DefinitionError(f"GROUPS: {name} needs a list of tools")
        try:
            yield Group(str(name), tuple(getattr(t, "__name__", str(t)) for t in tools), **fields)
        except TypeError as error:
            raise DefinitionError(f"GROUPS: {name}: {error}") from error


def _problem(source: Source, error: BaseException) -> FileProblem:
    if isinstance(error, SyntaxError) and error.filename == str(source.path):
        return FileProblem(source.path, error.lineno or 0, f"{type(error).__name__}: {error.msg}")
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == str(source.path)]
    text = error_text(error).split("\n", 1)[0]
    name = type(error).__name__
    if not isinstance(error, DefinitionError) and text != name:
        text = f"{name}: {text}"
    return FileProblem(source.path, lines[-1] if lines else 0, text)
