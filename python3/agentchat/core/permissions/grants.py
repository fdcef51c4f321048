"""What was answered with *always* in one chat, and exactly what such an answer covers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentchat.core.shell.parse import LONGEST
from agentchat.core.text import has_hidden_characters
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.ports import FileTarget


@dataclass(frozen=True, slots=True)
class Scope:
    """Exactly what an *always* would cover; equal scopes are the same grant.

    ``key`` starts with ``command``, ``paths`` or ``tool``; ``description`` is for the user to read.
    """

    tool: str
    definition: str
    key: tuple[str, ...]
    description: str


class Grants:
    """What one chat answered with *always*: in memory, exact, counted."""

    def __init__(self) -> None:
        self._uses: dict[Scope, int] = {}

    def remember(self, scope: Scope) -> None:
        """Remember one scope."""
        self._uses.setdefault(scope, 0)

    def covers(self, scope: Scope | None) -> bool:
        """Whether exactly this scope is remembered."""
        return scope in self._uses

    def use(self, scope: Scope) -> None:
        """Count one run under a remembered scope."""
        if scope in self._uses:
            self._uses[scope] += 1

    def items(self) -> tuple[tuple[Scope, int], ...]:
        """Return the scopes, oldest first, each with how often it was used."""
        return tuple(self._uses.items())

    def revoke(self, scope: Scope) -> None:
        """Forget one scope."""
        self._uses.pop(scope, None)

    def clear(self) -> None:
        """Forget everything."""
        self._uses.clear()


def scope_of(call: ValidCall, place: CallTarget) -> Scope | None:
    """Return exactly what *always* would mean for a call; nothing where it cannot be offered."""
    name = call.tool.name
    if place.command is not None and len(place.command) > LONGEST:
        return None
    if hides_characters(call) and not _asks_once(call, place):
        return None
    if place.command is not None and not call.tool.source:
        return _command_scope(call, place)
    if place.unusual or (call.tool.metadata.destructive and place.writes):
        return path_scope(name, call.tool.definition, (*place.reads, *place.writes))
    return tool_scope(name, call.tool.definition, bool(place.writes))


def _asks_once(call: ValidCall, place: CallTarget) -> bool:
    """Whether any yes to a call holds for these very paths: they are only read."""
    return call.tool.metadata.read_only and bool(place.unusual)


def hides_characters(call: ValidCall) -> bool:
    """Whether the arguments of a call hold characters that cannot be seen."""
    return any(map(has_hidden_characters, _strings(call.raw_arguments)))


def _strings(value: object) -> Iterator[str]:
    """Yield every piece of text in a JSON value, names included, and of JSON within a text."""
    if isinstance(value, str):
        yield value
        if "\\u" in value:
            yield from _strings(_parsed(value))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _strings(name)
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _parsed(text: str) -> object:
    """Return the value of a text that is JSON, as some arguments may be sent; else nothing."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _command_scope(call: ValidCall, place: CallTarget) -> Scope:
    command = place.command or ""
    digest = hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()
    key = ("command", digest, place.cwd, *place.evidence)
    shown = f"`{command}` in {place.cwd}" + (f" on {place.host}" if place.host else "")
    return Scope(tool=call.tool.name, definition=call.tool.definition, key=key, description=shown)


def path_scope(tool: str, definition: str, targets: tuple[FileTarget, ...]) -> Scope:
    """Return the scope of one tool on exactly these paths."""
    paths = sorted({t.path for t in targets})
    shown = f"{tool} on {', '.join(paths)}"
    return Scope(tool=tool, definition=definition, key=("paths", *paths), description=shown)


def tool_scope(tool: str, definition: str, on_files: bool) -> Scope:
    """Return the scope of one tool, on ordinary files of the workspace where it has files."""
    where = " on ordinary files of the workspace" if on_files else ""
    return Scope(tool=tool, definition=definition, key=("tool",), description=f"{tool}{where}")
