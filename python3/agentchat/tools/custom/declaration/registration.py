"""``register_tool``: tools that a file adds while it is imported, or while its functions run.

What a file registers while it is imported is like a tool with ``@tool``. What a function registers
later lives in the worker that runs the function, with all that it refers to: it ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, Unpack, overload

from agentchat.core.errors import ToolError
from agentchat.tools.custom.declaration.definition import Definition, Function, Options, define

NO_REGISTRAR = (
    "Nothing can register a tool here: call register_tool at the top level of a file with tools, "
    "or in a function that the plugin calls."
)


class Registrar(Protocol):
    """Takes the tools that are registered."""

    def register(self, definition: Definition) -> None:
        """Add a tool, or replace the one of this name; raises ToolError if it is taken."""

    def unregister(self, name: str) -> bool:
        """Remove a registered tool; return whether it existed."""

    def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools of the chat; raises ToolError outside of a call."""


_registrar: ContextVar[Registrar | None] = ContextVar("registrar", default=None)


@contextmanager
def registering_with(registrar: Registrar) -> Iterator[None]:
    """Give the tools that this thread registers to a registrar."""
    token = _registrar.set(registrar)
    try:
        yield
    finally:
        _registrar.reset(token)


@overload
def register_tool(function: Function, /, **options: Unpack[Options]) -> Function: ...


@overload
def register_tool(**options: Unpack[Options]) -> Callable[[Function], Function]: ...


def register_tool(function: Any = None, /, **options: Any) -> Any:
    """Add a function as a tool to the open chats; return the function unchanged.

    The options are those of ``@tool``.

    Raises:
        DefinitionError: the declaration is wrong.
        ToolError: the name is taken, or the plugin does not run this code.
    """

    def add(function: Any) -> Any:
        _current().register(define(function, options))
        return function

    return add if function is None else add(function)


def unregister_tool(name: str) -> bool:
    """Remove a tool that this file registered; return whether it existed."""
    return _current().unregister(name)


class ChatRegistry:
    """The tools of the chat whose call runs, with all that they declare."""

    def list(self) -> list[dict[str, Any]]:
        """Return every tool as JSON data, see ``:help agentchat-custom-registry``.

        Raises:
            ToolError: no call runs this code.
        """
        return _current().list_tools()

    def get(self, name: str) -> dict[str, Any] | None:
        """Return the tool with this name or alias, ``None`` if there is none."""
        has_name = (tool for tool in self.list() if name in _names(tool))
        return next(has_name, None)


registry = ChatRegistry()


def _names(tool: Mapping[str, Any]) -> tuple[str, ...]:
    return (tool["name"], *tool["metadata"]["aliases"])


def _current() -> Registrar:
    registrar = _registrar.get()
    if registrar is None:
        raise ToolError(NO_REGISTRAR)
    return registrar


class ImportedTools:
    """Collects what a file registers while it is imported."""

    def __init__(self) -> None:
        self._definitions: dict[str, Definition] = {}

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The tools, in the order in which they were registered first."""
        return tuple(self._definitions.values())

    def register(self, definition: Definition) -> None:
        """Add a tool, or replace the one of this name."""
        self._definitions[definition.spec.name] = definition

    def unregister(self, name: str) -> bool:
        """Remove a registered tool; return whether it existed."""
        return self._definitions.pop(name, None) is not None

    def list_tools(self) -> list[dict[str, Any]]:
        """Raise ToolError: a file is imported for no chat."""
        raise ToolError("agentchat.registry works only in the functions of a call.")
