"""What an object of the user's can do in place of a disk and its processes.

The module of the user has one such object, called ``operations``. Each method is a plain function,
which runs in a thread, or an ``async`` one. Paths are absolute, without ``.`` and ``..``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from agentchat.core.errors import DefinitionError
from agentchat.core.workspace import FileKind

NAME = "operations"
READ = ("kind", "read_file", "list_directory")
EDIT = ("write_file", "delete_file")
RUN = "run"


class ReadOperations(Protocol):
    """What ``read``, ``ls``, ``find`` and ``grep`` need."""

    def kind(self, path: str) -> FileKind | Awaitable[FileKind | None] | None:
        """Return ``file``, ``directory`` or ``other``; ``None`` if nothing is there."""

    def read_file(self, path: str) -> bytes | Awaitable[bytes]:
        """Return the content; raises FileNotFoundError or another OSError."""

    def list_directory(
        self, path: str
    ) -> Mapping[str, FileKind] | Awaitable[Mapping[str, FileKind]]:
        """Return the kind of each entry by its name."""


class EditOperations(ReadOperations, Protocol):
    """What ``edit``, ``write``, ``delete`` and ``ast_edit`` need besides."""

    def write_file(self, path: str, data: bytes) -> Awaitable[None] | None:
        """Replace the content of a file; create it and its directories if they are missing."""

    def delete_file(self, path: str) -> Awaitable[None] | None:
        """Remove a file."""


class BashOperations(Protocol):
    """What ``bash`` needs."""

    def run(self, command: str, cwd: str, output: Callable[[bytes], None]) -> int | Awaitable[int]:
        """Run a shell command in a directory, and return its exit code.

        ``output`` takes what it writes, piece by piece. It raises an exception once the call was
        stopped or timed out; an ``async`` function is cancelled then.
        """


def check_operations(module: Mapping[str, object]) -> object:
    """Return the object ``operations`` of a module; raises DefinitionError that says what to do."""
    value = module.get(NAME)
    if value is None:
        raise DefinitionError(f"there are no operations: end the file with {NAME} = YourClass()")
    if isinstance(value, type):
        raise DefinitionError(f"{NAME} is a class: write {NAME} = {value.__name__}()")
    needed = (
        [*READ, *(EDIT if _has_any(value, EDIT) else ())] if _has_any(value, READ + EDIT) else []
    )
    missing = [name for name in needed if not has(value, name)]
    if missing:
        raise DefinitionError(f"{NAME} has no method {missing[0]}")
    if not needed and not has(value, RUN):
        raise DefinitionError(f"{NAME} has none of the methods {', '.join((*READ, *EDIT, RUN))}")
    return value


def has(operations: object, *names: str) -> bool:
    """Whether an object has all of these methods."""
    return all(callable(getattr(operations, name, None)) for name in names)


def _has_any(operations: object, names: tuple[str, ...]) -> bool:
    return any(has(operations, name) for name in names)
