"""The grants of one chat: what the user answered with *always*, and exactly what that covers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from agentchat.core.frozen import frozen
from agentchat.core.shell.parse import LONGEST
from agentchat.core.text import has_hidden_characters
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.workspace import FileTarget


@frozen
class Scope:
    """Exactly what an *always* would cover; equal scopes are the same grant.

    ``key`` starts with ``command``, ``hosts``, ``paths`` or ``tool``; ``description`` is for the
    user.
    """

    tool: str
    definition: str
    key: tuple[str, ...]
    description: str


class Grants:
    """The grants of one chat, in memory, each with the number of its uses."""

    def __init__(self) -> None:
        self._uses: dict[Scope, int] = {}
        self._of_turn: set[Scope] = set()

    def remember(self, scope: Scope) -> None:
        """Remember one scope."""
        self._uses.setdefault(scope, 0)
        self._of_turn.discard(scope)

    def remember_for_turn(self, scope: Scope) -> None:
        """Remember one scope until ``end_turn``, unless it is remembered already."""
        if scope not in self._uses:
            self._uses[scope] = 0
            self._of_turn.add(scope)

    def end_turn(self) -> None:
        """Forget what was remembered for one turn."""
        for scope in self._of_turn:
            self._uses.pop(scope, None)
        self._of_turn.clear()

    def covers(self, scope: Scope | None) -> bool:
        """Whether exactly this scope is remembered."""
        return scope in self._uses

    def use(self, scope: Scope) -> None:
        """Count one use of a remembered scope."""
        if scope in self._uses:
            self._uses[scope] += 1

    def items(self) -> tuple[tuple[Scope, int], ...]:
        """Return the scopes, oldest first, each with the number of its uses."""
        return tuple(self._uses.items())

    def revoke(self, scope: Scope) -> None:
        """Forget one scope."""
        self._uses.pop(scope, None)

    def clear(self) -> None:
        """Forget everything."""
        self._uses.clear()


def scope_of(call: ValidCall, target: CallTarget, direct: bool = True) -> Scope | None:
    """Return what *always* would cover for a call; ``None`` if *always* cannot be offered.

    Args:
        direct: whether a command runs in the workspace itself; then all files that decide what it
            does must be known.
    """
    name = call.tool.name
    if direct and target.unfixed and not call.tool.source:
        return None
    if target.command is not None and len(target.command) > LONGEST:
        return None
    if hides_characters(call) and not _asks_once(call, target):
        return None
    if target.command is not None and not call.tool.source:
        return _command_scope(call, target)
    if target.urls:
        return _host_scope(call, target)
    if target.unusual or (call.tool.metadata.destructive and target.writes):
        return path_scope(name, call.tool.definition, (*target.reads, *target.writes))
    return tool_scope(name, call.tool.definition, bool(target.writes))


def _asks_once(call: ValidCall, target: CallTarget) -> bool:
    """Whether any approval of the call is remembered for its paths: they are only read."""
    return call.tool.metadata.read_only and bool(target.unusual)


def hides_characters(call: ValidCall) -> bool:
    """Whether the arguments of a call contain invisible characters."""
    return any(map(has_hidden_characters, _strings(call.raw_arguments)))


def _strings(value: object) -> Iterator[str]:
    """Yield each text in a JSON value, names and JSON inside a text included."""
    if isinstance(value, str):
        yield value
        if "\\u" in value:
            yield from _strings(_parse_json(value))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _strings(name)
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _parse_json(text: str) -> object:
    """Return the value of a text that is JSON; ``None`` for any other text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _command_scope(call: ValidCall, target: CallTarget) -> Scope:
    command = target.command or ""
    digest = hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()
    network = ("network",) if target.network else ()
    key = ("command", digest, target.cwd, *network, *target.evidence)
    description = f"`{command}` in {target.cwd}"
    if target.host:
        description += f" on {target.host}"
    return Scope(
        tool=call.tool.name, definition=call.tool.definition, key=key, description=description
    )


def _host_scope(call: ValidCall, target: CallTarget) -> Scope:
    hosts = sorted({url.authority for url in target.urls})
    paths = sorted({file.path for file in (*target.reads, *target.writes)})
    return Scope(
        tool=call.tool.name,
        definition=call.tool.definition,
        key=("hosts", *hosts, "paths", *paths),
        description=f"{call.tool.name} on {', '.join((*hosts, *paths))}",
    )


def path_scope(tool: str, definition: str, targets: tuple[FileTarget, ...]) -> Scope:
    """Return the scope of one tool on exactly these paths."""
    paths = sorted({t.path for t in targets})
    description = f"{tool} on {', '.join(paths)}"
    return Scope(tool=tool, definition=definition, key=("paths", *paths), description=description)


def tool_scope(tool: str, definition: str, on_files: bool) -> Scope:
    """Return the scope of one tool; of a tool for files: on ordinary files of the workspace."""
    description = f"{tool} on ordinary files of the workspace" if on_files else tool
    return Scope(tool=tool, definition=definition, key=("tool",), description=description)
