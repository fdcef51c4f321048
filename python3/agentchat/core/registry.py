"""All tools there are, by name and alias."""

from __future__ import annotations

from collections.abc import Iterable

from agentchat.core.errors import UserError
from agentchat.core.tool import Metadata, Tool


class Registry:
    """Tools by name and alias; each name is taken once."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._names: dict[str, str] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool; raises UserError if its name or an alias is taken."""
        wanted = (tool.name, *tool.metadata.aliases)
        for name in wanted:
            if name in self._names:
                owner = self._names[name]
                raise UserError(f'The tool name "{name}" of {tool.name} is taken by {owner}.')
        self._tools[tool.name] = tool
        self._names.update(dict.fromkeys(wanted, tool.name))

    def unregister(self, name: str) -> bool:
        """Remove a tool with its aliases; return whether it was there."""
        tool = self._tools.pop(name, None)
        if tool is not None:
            self._names = {n: owner for n, owner in self._names.items() if owner != name}
        return tool is not None

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name or alias."""
        return self._tools.get(self._names.get(name, ""))

    def names(self) -> tuple[str, ...]:
        """Return the names, in the order of registration."""
        return tuple(self._tools)

    def all(self) -> tuple[Tool, ...]:
        """Return the tools, in the order of registration."""
        return tuple(self._tools.values())

    def count(self) -> int:
        """Return how many tools there are."""
        return len(self._tools)

    def filter(self, names: Iterable[str]) -> tuple[Tool, ...]:
        """Return the tools with these names or aliases, unknown ones left out, each once."""
        found = {tool.name: tool for name in names if (tool := self.get(name)) is not None}
        return tuple(found.values())

    def metadata_for(self, name: str) -> Metadata | None:
        """Return the metadata of the tool with this name or alias."""
        tool = self.get(name)
        return tool.metadata if tool is not None else None
