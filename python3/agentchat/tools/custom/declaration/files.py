"""Files with tools: where they are, which are trusted, and importing one.

Only ``import_source`` runs code of the user's; it is called in a worker process.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import stat
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.tools.registry import Group
from agentchat.rpc.frames import error_text
from agentchat.tools.custom.declaration.checkpoint import CheckpointDefinition, checkpoint_of
from agentchat.tools.custom.declaration.definition import Definition, definition_of
from agentchat.tools.custom.declaration.parameters import DefinitionError
from agentchat.tools.custom.declaration.processor import ProcessorDefinition, processor_of
from agentchat.tools.custom.declaration.registration import ImportedTools, registering_with

PROJECT_FOLDER = Path(".agentchat", "tools")
LARGEST = 1024 * 1024
"""The most bytes of a file."""

GONE = "What this needs no longer exists: its file was changed, or its process ended."
DIRECTORY = "directory"
DENIED = "!"
"""Entries of Neovim's trust database that are no hash of a file."""


@frozen
class Location:
    """A folder or file with tools; that of a project ``needs_trust``."""

    path: Path
    needs_trust: bool = False

    def files(self) -> tuple[Path, ...]:
        """Return the files sorted by name, without those that begin with ``_`` or ``.``."""
        if self.path.is_file():
            return (self.path,)
        try:
            names = sorted(os.listdir(self.path))
        except OSError:
            return ()
        modules = (name for name in names if name.endswith(".py") and name[0] not in "_.")
        return tuple(self.path / name for name in modules)


@frozen
class Source:
    """One file with its content."""

    path: Path
    data: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the content, as in Neovim's trust database."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def key(self) -> str:
        """The identity of this file with this content."""
        return f"{self.digest}:{self.path}"


def read_source(path: Path) -> Source:
    """Return a file with its content; raises OSError, also if it is no regular file."""
    info = path.stat()
    if not stat.S_ISREG(info.st_mode):
        raise OSError("it is no ordinary file")
    if info.st_size > LARGEST:
        raise OSError(f"it is larger than {LARGEST // 1024} KiB")
    return Source(path, path.read_bytes())


def stamp(paths: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return a value that differs if a file was added, changed or removed."""
    return tuple(_stamps(paths))


def _stamps(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for path in paths:
        try:
            info = path.stat()
        except OSError:
            continue
        yield str(path), info.st_mtime_ns, info.st_size


def read_trust(database: Path) -> dict[str, str]:
    """Return Neovim's trust database: a hash, ``directory`` or ``!`` (denied) by real path."""
    try:
        lines = database.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(" ") for line in lines)
    return {path: entry for entry, _, path in pairs if path}


def is_trusted(source: Source, root: Path, trust: Mapping[str, str]) -> bool:
    """Whether the user trusts a file of a project, by its content or with a folder it is in.

    Args:
        root: the project.
    """
    real = Path(os.path.realpath(source.path))
    entry = trust.get(str(real))
    if entry in (source.digest, DENIED):
        return entry != DENIED
    top = Path(os.path.realpath(root))
    folders = [folder for folder in real.parents if folder == top or top in folder.parents]
    entries = [trust[str(folder)] for folder in folders if str(folder) in trust]
    # The innermost folder with an entry decides.
    return bool(entries) and entries[0] == DIRECTORY


@frozen
class FileProblem:
    """Why a file, or a tool in it, is not loaded; ``line`` is 0 if the problem has none."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{where}: {self.text}"


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
