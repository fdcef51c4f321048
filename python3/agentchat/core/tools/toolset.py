"""The tools of one chat: active, deferred until a search finds them, or hidden.

Servers cache a prompt up to the first byte that differs from the one before, and the tools come
first in it. So the tools have one order, which only grows: those of the settings, dry runs first,
then what the user added, then what searches found, each in the order in which it came.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from agentchat.core.frozen import frozen
from agentchat.core.limits import DEFERRED_THRESHOLD
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import CheckpointHandler, ResultProcessor, Tool, ToolOptions

NAME, HINT, DESCRIPTION = 10, 5, 2
"""Weights of a word in the name, the search hint and the description."""


def effective_threshold(setting: int) -> int:
    """Return how many tools a chat may have before some are deferred; 0 means the default."""
    return setting if setting > 0 else DEFERRED_THRESHOLD


def select_deferred(
    candidates: Iterable[Tool], activated: Iterable[str], always: Iterable[str], limit: int
) -> tuple[Tool, ...]:
    """Return the tools that are not sent; none if there are at most ``limit``."""
    tools = tuple(candidates)
    if len(tools) <= limit:
        return ()
    sent = {*activated, *always}
    return tuple(
        tool for tool in tools
        if not tool.always_load and sent.isdisjoint({tool.name, *tool.metadata.aliases})
    )  # fmt: skip


def dry_run_first(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools with those that can show a dry run first, else in their order."""
    return sorted(tools, key=lambda tool: not tool.capability.dry_run)


def search_tools(tools: Iterable[Tool], query: str) -> tuple[Tool, ...]:
    """Return the tools that match words of a query, best first; of equal ones the safer first."""
    words = re.findall(r"\w+", query.lower())
    scored = [(_score(tool, words), tool) for tool in tools]
    matches = [(score, tool) for score, tool in scored if score]
    matches.sort(key=lambda match: (match[0], match[1].capability.safety_level), reverse=True)
    return tuple(tool for _, tool in matches)


def _score(tool: Tool, words: list[str]) -> int:
    weights = (
        (tool.name.lower(), NAME),
        (tool.metadata.search_hint.lower(), HINT),
        (tool.description.lower(), DESCRIPTION),
    )
    score = sum(weight for word in words for text, weight in weights if word in text)
    exact = len(words) > 0 and tool.name.lower() == "_".join(words)
    return score + 100 * exact


def _unknown_name(setting: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f": did you mean {near[0]}?" if near else ""
    return f'g:agentchat.tools.{setting} names "{name}", which does not exist{hint}'


TOOL_SEARCH = "tool_search"


def server_group(name: str) -> str:
    """Return the group of an MCP server whose own name is that of another tool or group.

    Who mentions that name gets both.
    """
    return f"{name}_mcp"


@frozen
class ToolSelection:
    """The tools of a chat, by name: given ones, those of them ``removed``, those ``activated``."""

    given: tuple[str, ...]
    removed: tuple[str, ...] = ()
    activated: tuple[str, ...] = ()


class Toolset:
    """The tools of the registry whose names or groups this chat was given.

    Names are looked up at each use, so a tool that is registered later works immediately.
    """

    def __init__(
        self,
        registry: Registry,
        groups: Iterable[Group],
        given: Iterable[str],
        *,
        always_load: Iterable[str] = (),
        deferred_threshold: int = 0,
    ) -> None:
        self._registry = registry
        self._own_groups = {group.name: group for group in groups}
        self._groups = dict(self._own_groups)
        # A name may become known later: files with tools are read after the chat is opened.
        self._given = list(dict.fromkeys(given))
        self._initial = frozenset(self._given)
        self._always_load = frozenset(always_load)
        self._threshold = effective_threshold(deferred_threshold)
        self._activated: set[str] = set()
        self._found: dict[str, None] = {}
        self._removed: set[str] = set()
        self._handlers: tuple[CheckpointHandler, ...] = ()
        self.result_processor: ResultProcessor | None = None

    def configure(self, options: Mapping[str, ToolOptions]) -> None:
        """Replace the user's options of single tools, by name or alias."""
        self._registry.configure(options)

    def unknown_names(self) -> tuple[str, ...]:
        """Return a line for each name in the settings that no tool or group has."""
        tools = self._registry.names
        wanted = (
            ("default", self._initial, tools | self._groups.keys()),
            ("always_load", self._always_load, tools),
            ("opts", self._registry.options, tools),
        )
        return tuple(
            _unknown_name(setting, name, known)
            for setting, names, known in wanted
            for name in sorted(set(names) - known)
        )

    def selection(self) -> ToolSelection:
        """Return the current selection."""
        return ToolSelection(
            tuple(self._given), tuple(sorted(self._removed)), tuple(sorted(self._activated))
        )

    def restore(self, selection: ToolSelection) -> None:
        """Restore a saved selection; its names may become known later."""
        self._given = list(selection.given)
        self._removed, self._activated = set(selection.removed), set(selection.activated)

    def add(self, name: str) -> bool:
        """Give the chat a tool or group by name; return whether it is known.

        The tool is activated: it is sent even while others are deferred.
        """
        known = self.can_be_mentioned(name)
        if known and name not in self._given:
            self._given.append(name)
        if server_group(name) in self._groups:
            self.add(server_group(name))
        tool = self._registry.get(name)
        if known and tool is not None:
            self._activated.add(tool.name)
            self._removed.discard(tool.name)
        elif known:
            self._removed.difference_update(member.name for member in self._members(name))
        return known

    def add_groups(self, groups: Iterable[Group]) -> None:
        """Replace the groups added before; the chat's initial groups have priority."""
        added = {group.name: group for group in groups}
        self._groups = {**added, **self._own_groups}

    def owns(self, name: str) -> bool:
        """Whether a tool, or a group of the settings, has this name."""
        return name in self._own_groups or self._registry.get(name) is not None

    def remove(self, name: str) -> bool:
        """Remove a tool (from its groups, too) or a group; return whether the chat had it."""
        existed = self.has(name)
        tool, group = self._registry.get(name), self.group(name)
        if group is not None and group.searchable:
            existed = existed or group in self._searchable()
            self._removed.update(member.name for member in self._members(name))
        names = {name} if tool is None else {name, tool.name, *tool.metadata.aliases}
        self._given = [other for other in self._given if other not in names]
        if existed and tool is not None:
            self._removed.add(tool.name)
            self._activated.discard(tool.name)
            self._found.pop(tool.name, None)
        return existed

    def has(self, name: str) -> bool:
        """Whether the chat has a tool, or was given a group."""
        if self._registry.get(name) is None:
            return name in self._given and bool(self._members(name))
        return any(tool is self._registry.get(name) for tool in self.tools())

    def context_lines(self, name: str) -> tuple[str, ...]:
        """Return the names of the lines that show a tool or group in the chat's context."""
        tool, group = self._registry.get(name), self.group(name)
        if group is None or group.collapse:
            return (tool.name if tool is not None else name,)
        return tuple(member.name for member in self._members(name) if not member.hidden)

    def has_name(self, name: str) -> bool:
        """Whether the chat was given this tool or group by its own name."""
        return name in self._given

    def can_be_mentioned(self, name: str) -> bool:
        """Whether the name is a known group or a tool that is not hidden."""
        tool = self._registry.get(name)
        return (tool is not None and not tool.hidden) or bool(self._members(name))

    def group(self, name: str) -> Group | None:
        """Return a group by name; a tool of the same name has priority."""
        return None if self._registry.get(name) else self._groups.get(name)

    def groups(self) -> tuple[Group, ...]:
        """Return the groups that have at least one known tool."""
        return tuple(group for group in self._groups.values() if self._members(group.name))

    def given_groups(self) -> tuple[Group, ...]:
        """Return the groups this chat was given, in order."""
        return tuple(group for name in self._given if (group := self.group(name)))

    def set_checkpoint_handlers(self, handlers: Iterable[CheckpointHandler]) -> None:
        """Replace the handlers of checkpoints."""
        self._handlers = tuple(handlers)

    def set_result_processor(self, processor: ResultProcessor | None) -> None:
        """Replace the processor of large results."""
        self.result_processor = processor

    def handler_for(self, tool: Tool) -> CheckpointHandler | None:
        """Return the first handler of checkpoints that is for this tool."""
        return next((handler for handler in self._handlers if handler.covers(tool)), None)

    def checkpoint_handler(self, name: str) -> CheckpointHandler | None:
        """Return the handler of checkpoints with this name."""
        return next((handler for handler in self._handlers if handler.name == name), None)

    def all_tools(self) -> tuple[Tool, ...]:
        """Return every tool that can be mentioned, given or not."""
        return tuple(tool for tool in self._registry.all() if not tool.hidden)

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools this chat was given, in order, each once."""
        searchable = (name for group in self._searchable() for name in group.tools)
        return self._present((*self._given_names(), *searchable))

    def _given_names(self) -> Iterator[str]:
        for name in self._given:
            group = self.group(name)
            yield from group.tools if group else (name,)

    def _searchable(self) -> tuple[Group, ...]:
        """Return the groups that every chat can search and this one was not given."""
        groups = self._groups.values()
        return tuple(g for g in groups if g.searchable and g.name not in self._given)

    def _present(self, names: Iterable[str]) -> tuple[Tool, ...]:
        tools = self._registry.filter(names)
        return tuple(t for t in tools if not t.hidden and t.name not in self._removed)

    def tools_without_prompt(self) -> frozenset[str]:
        """Return the tools whose own prompt is left out because all their groups say so."""
        silent: set[str] = set()
        prompting: set[str] = set()
        for name in self._given:
            group = self.group(name)
            members = self._members(name) if group else self._registry.filter([name])
            ignored = group is not None and group.ignore_tool_prompts
            (silent if ignored else prompting).update(tool.name for tool in members)
        return frozenset(silent - prompting)

    def deferrable(self) -> tuple[Tool, ...]:
        """Return the given tools that are not sent until a search finds them, found or not.

        The user wants those of a group that they mentioned now.
        """
        mentioned = (name for name in self._given if name not in self._initial)
        sent = {tool.name for name in mentioned if self.group(name) for tool in self._members(name)}
        always = self._always_load | sent
        given = self._present(self._given_names())
        names = {tool.name for tool in given}
        others = (tool for tool in self.tools() if tool.name not in names)
        return (
            *select_deferred(given, self._activated, always, self._threshold),
            *select_deferred(others, self._activated, always, 0),
        )

    def deferred(self) -> tuple[Tool, ...]:
        """Return the given tools that no search has found yet."""
        return tuple(tool for tool in self.deferrable() if tool.name not in self._found)

    def loaded(self) -> tuple[Tool, ...]:
        """Return the tools that are always sent, in their order."""
        late = {tool.name for tool in self.deferrable()}
        return tuple(tool for tool in self._ordered() if tool.name not in late)

    def found(self) -> tuple[Tool, ...]:
        """Return the tools that searches found, in that order."""
        late = {tool.name: tool for tool in self.deferrable()}
        return tuple(late[name] for name in self._found if name in late)

    def search_tool(self) -> Tool | None:
        """Return ``tool_search`` if this chat has tools for it to find, found or not."""
        return self._registry.get(TOOL_SEARCH) if self.deferrable() else None

    def offered(self) -> tuple[Tool, ...]:
        """Return the tools that are sent, with ``tool_search`` while some are deferred."""
        search = self.search_tool() if self.deferred() else None
        return (*self.loaded(), *((search,) if search is not None else ()), *self.found())

    def search(self, query: str) -> tuple[Tool, ...]:
        """Find deferred tools, best first, and activate them for this chat."""
        tools = search_tools(self.deferred(), query)
        self.activate(tool.name for tool in tools)
        return tools

    def activate(self, names: Iterable[str]) -> None:
        """Send tools that a search has found."""
        self._found.update(dict.fromkeys(names))

    def find(self, name: str) -> Tool | None:
        """Return the tool that a call by this name runs; ``None`` if the chat may not call it."""
        tool = self._registry.get(name)
        if tool is None or tool.hidden:
            return tool
        return tool if tool.name not in self._removed and self._gives(tool) else None

    def known(self, name: str) -> Tool | None:
        """Return a tool, given to this chat or not; the user's own prompts may call it."""
        return self._registry.get(name)

    def _gives(self, tool: Tool) -> bool:
        """Whether one of the given names is the tool's, or that of a group with it."""
        return any(given is tool for given in self.tools())

    def unknown_tool_message(self, name: str) -> str:
        """Return the answer to a call of a tool that this chat does not have."""
        names = ", ".join(tool.name for tool in self.tools())
        return f'Tool "{name}" not found. Available tools: {names}.'

    def _ordered(self) -> tuple[Tool, ...]:
        """Return the tools in the order in which they are sent: dry runs of the first ones first.

        What the user adds later comes after them, so that it moves nothing.
        """
        initial = (name for name in self._given if name in self._initial)
        first = {tool.name for name in initial for tool in self._named(name)}
        tools = self.tools()
        later = [tool for tool in tools if tool.name not in first]
        return (*dry_run_first(tool for tool in tools if tool.name in first), *later)

    def _named(self, name: str) -> tuple[Tool, ...]:
        group = self.group(name)
        return self._registry.filter(group.tools if group else (name,))

    def named(self, name: str) -> tuple[Tool, ...]:
        """Return the known tools of a group."""
        return self._members(name)

    def _members(self, name: str) -> tuple[Tool, ...]:
        group = self._groups.get(name)
        return self._registry.filter(group.tools) if group else ()
