"""All tools by name and alias, and what a group of tools is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import Tool, ToolOptions


@frozen
class Group:
    """Tools by name; ``prompt`` replaces the group's mention in a message.

    ``system_prompt`` is added to the default system prompt, or replaces it with
    ``replace_system_prompt``; ``ignore_tool_prompts`` leaves out the prompts of its tools;
    ``collapse`` shows the group as one context line instead of one per tool. The tools of a
    ``searchable`` group are found by ``tool_search`` in every chat, given or not.
    """

    name: str
    tools: tuple[str, ...]
    prompt: str = ""
    system_prompt: str = ""
    replace_system_prompt: bool = False
    collapse: bool = True
    ignore_tool_prompts: bool = False
    searchable: bool = False


class Registry:
    """Tools by name and alias; a name belongs to one tool.

    A tool that the user's options disable keeps its name, but is not found.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._names: dict[str, str] = {}
        self._options: Mapping[str, ToolOptions] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool; raises UserError if its name or an alias is taken."""
        names = (tool.name, *tool.metadata.aliases)
        for name in names:
            if name in self._names:
                owner = self._names[name]
                raise UserError(f'The tool name "{name}" of {tool.name} is taken by {owner}.')
        self._tools[tool.name] = self._with_options(tool)
        self._names.update(dict.fromkeys(names, tool.name))

    def unregister(self, name: str) -> bool:
        """Remove a tool with its aliases; return whether it was there."""
        tool = self._tools.pop(name, None)
        if tool is not None:
            self._names = {n: owner for n, owner in self._names.items() if owner != name}
        return tool is not None

    def configure(self, options: Mapping[str, ToolOptions]) -> None:
        """Replace the user's options, by the name or an alias of a tool."""
        self._options = options
        self._tools = {name: self._with_options(tool) for name, tool in self._tools.items()}

    @property
    def names(self) -> frozenset[str]:
        """The names and aliases of all tools, also of disabled ones."""
        return frozenset(self._names)

    @property
    def options(self) -> Mapping[str, ToolOptions]:
        """The user's options by name, also those that no tool has."""
        return self._options

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name or alias."""
        tool = self._tools.get(self._names.get(name, ""))
        return tool if tool is not None and tool.options.enabled else None

    def all(self) -> tuple[Tool, ...]:
        """Return the tools, in the order of registration."""
        return tuple(tool for tool in self._tools.values() if tool.options.enabled)

    def filter(self, names: Iterable[str]) -> tuple[Tool, ...]:
        """Return the tools with these names or aliases, unknown ones left out, each once."""
        tools = {tool.name: tool for name in names if (tool := self.get(name)) is not None}
        return tuple(tools.values())

    def _with_options(self, tool: Tool) -> Tool:
        names = (tool.name, *tool.metadata.aliases)
        found = (self._options[name] for name in names if name in self._options)
        options = next(found, ToolOptions())
        # Without its hidden tools the plugin does not work.
        options = replace(options, enabled=options.enabled or tool.hidden)
        return tool if options == tool.options else replace(tool, options=options)
