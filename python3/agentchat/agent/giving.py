"""The tools of a chat as its user gives and takes them, each with a line in the chat."""

from __future__ import annotations

from collections.abc import Iterable

from agentchat.agent.screen import Screen
from agentchat.core.toolbox import Toolbox


class Giving:
    """Gives tools and groups by name."""

    def __init__(self, toolbox: Toolbox, screen: Screen) -> None:
        self._toolbox = toolbox
        self._screen = screen

    def mentioned(self, names: Iterable[str]) -> tuple[str, ...]:
        """Give what a prompt names; return the context lines of what is new."""
        return tuple(line for name in names for line in self._given(name))

    def add(self, name: str) -> None:
        """Give a tool or group, by the user's command."""
        if not self._toolbox.mentionable(name):
            self._screen.notify("warn", f'There is no tool or group "{name}".')
            return
        lines = self._given(name)
        if lines:
            self._screen.note("info", "\n".join(lines))
        else:
            self._screen.notify("info", f"This chat has {name} already.")

    def remove(self, name: str) -> None:
        """Take a tool or group back, with all that the model was told of it."""
        if self._toolbox.remove(name):
            self._screen.note("info", f"Tools removed: {name}")
        else:
            self._screen.notify("warn", f'This chat has no tool or group "{name}".')

    def _given(self, name: str) -> tuple[str, ...]:
        named, before = self._toolbox.named(name), self._toolbox.tools()
        known = self._toolbox.add(name)
        if not known or (named and self._toolbox.tools() == before):
            return ()
        return tuple(f"Tools: {shown}" for shown in self._toolbox.context(name))
