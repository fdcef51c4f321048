"""The user's tools in one chat: registered by name, with conflicts told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from agentchat.core.errors import UserError
from agentchat.core.tools.registry import BUILTIN_GROUPS, Group, Registry
from agentchat.core.tools.tool import Tool
from agentchat.core.tools.toolset import TOOL_SEARCH, Toolbox
from agentchat.tools.custom.building import build, with_source
from agentchat.tools.custom.importing import Problem
from agentchat.tools.custom.library import Loaded

RESERVED = frozenset(
    {TOOL_SEARCH, "resolve"}
    | {group.name for group in BUILTIN_GROUPS}
    | {name for group in BUILTIN_GROUPS for name in group.tools}
)
"""Names that are the plugin's own, whether or not something answers to them now."""


class Shelf:
    """Puts the tools of files into a registry, and takes those out that are gone."""

    def __init__(self, registry: Registry, toolbox: Toolbox, cwd: str) -> None:
        self.cwd = cwd
        self._registry = registry
        self._toolbox = toolbox
        self._places: dict[str, tuple[Path, int]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that stand there now."""
        return tuple(self._places)

    def fill(self, loaded: Iterable[Loaded]) -> list[Problem]:
        """Replace everything by what these files hold; return what could not be taken."""
        for name in self._places:
            self._registry.unregister(name)
        self._places.clear()
        problems: list[Problem] = []
        groups: dict[str, Group] = {}
        for contents in loaded:
            problems += self._take_tools(contents)
            problems += self._take_groups(contents, groups)
        self._toolbox.add_groups(groups.values())
        return problems

    def _take_tools(self, contents: Loaded) -> list[Problem]:
        digest = contents.source.digest
        found = [(build(one, digest, self.cwd), one.tool.line) for one in contents.tools]
        found += [(with_source(made, digest), 0) for made in contents.made]
        answers = [self._take(contents.source.path, made, line) for made, line in found]
        return [problem for problem in answers if problem is not None]

    def _take(self, path: Path, made: Tool, line: int) -> Problem | None:
        for name in (made.name, *made.metadata.aliases):
            taken = self._taken(name)
            if taken:
                return Problem(path, line, f'the tool name "{name}" is taken by {taken}')
        try:
            self._registry.register(made)
        except UserError as error:
            return Problem(path, line, str(error))
        self._places[made.name] = (path, line)
        return None

    def _taken(self, name: str) -> str:
        """Return who has a name already; empty if nobody."""
        owner = self._registry.get(name)
        if owner is None:
            return "the plugin" if name in RESERVED else ""
        if owner.name not in self._places:
            return f"the built-in tool {owner.name}"
        path, line = self._places[owner.name]
        return f"{path}:{line}" if line else str(path)

    def _take_groups(self, contents: Loaded, groups: dict[str, Group]) -> list[Problem]:
        problems = []
        for group in contents.groups:
            if group.name in RESERVED or group.name in groups:
                what = f'the group name "{group.name}" is taken'
                problems.append(Problem(contents.source.path, 0, what))
            else:
                groups[group.name] = group
        return problems
