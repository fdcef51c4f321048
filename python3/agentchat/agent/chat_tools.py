"""The tools of a chat as its user gives and takes them, each with a line in the chat."""

from __future__ import annotations

from collections.abc import Iterable

from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.view import Screen
from agentchat.journal.writer import JournalWriter


class Giving:
    """Gives tools and groups by name; what the chat has is written down for its next life."""

    def __init__(self, toolbox: Toolbox, screen: Screen, scribe: JournalWriter) -> None:
        self._toolbox = toolbox
        self._screen = screen
        self._scribe = scribe

    def catch_up(self) -> None:
        """Give the chat what it had when it was last open."""
        held = self._scribe.restored.tools
        if held is not None:
            self._toolbox.restore(held)

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
            self._scribe.record_tools(self._toolbox.held())
            self._screen.note("info", f"Tools removed: {name}")
        else:
            self._screen.notify("warn", f'This chat has no tool or group "{name}".')

    def _given(self, name: str) -> tuple[str, ...]:
        named, before = self._toolbox.named(name), self._toolbox.tools()
        known = self._toolbox.add(name)
        if not known or (named and self._toolbox.tools() == before):
            return ()
        self._scribe.record_tools(self._toolbox.held())
        return tuple(f"Tools: {shown}" for shown in self._toolbox.context(name))
