"""The tools of a chat as its user gives and takes them, each with a line in the chat."""

from __future__ import annotations

from typing import Protocol

from agentchat.core.tools.mentions import read_mentions
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View
from agentchat.journal.writer import JournalWriter


class ToolFiles(Protocol):
    """The files in which the user keeps tools of their own."""

    async def ready(self, chat: str) -> None:
        """Return when the tools of a chat are loaded as their files are now."""


class ChatTools:
    """Gives tools and groups by name, and journals what the chat has.

    Args:
        files: where more tools come from, if anywhere.
    """

    def __init__(
        self, chat: Chat, view: View, journal: JournalWriter, files: ToolFiles | None
    ) -> None:
        self._chat = chat
        self._toolbox = chat.toolset
        self._view = view
        self._journal = journal
        self._files = files

    async def ready(self) -> None:
        """Return when the tools are loaded as their files are now."""
        if self._files is not None:
            await self._files.ready(self._chat.uuid)

    def catch_up(self) -> None:
        """Give the chat what it had when it was last open."""
        held = self._journal.restored.tools
        if held is not None:
            self._toolbox.restore(held)

    def give_mentioned(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Give what a prompt mentions; return what the model reads, and lines about what is new."""
        mentioned = read_mentions(text, self._toolbox)
        return mentioned.text, tuple(line for name in mentioned.names for line in self._give(name))

    def add(self, name: str) -> None:
        """Give a tool or group, by the user's command."""
        if not self._toolbox.can_be_mentioned(name):
            self._view.notify("warn", f'There is no tool or group "{name}".')
            return
        lines = self._give(name)
        if lines:
            self._view.add_note("info", "\n".join(lines))
        else:
            self._view.notify("info", f"This chat has {name} already.")

    def remove(self, name: str) -> None:
        """Take a tool or group back, with all that the model read about it."""
        if self._toolbox.remove(name):
            self._save()
            self._view.add_note("info", f"Tools removed: {name}")
        else:
            self._view.notify("warn", f'This chat has no tool or group "{name}".')

    def show(self) -> None:
        """Show which tools and groups a prompt can mention now."""
        self._view.show_tools(self._chat)

    def _give(self, name: str) -> tuple[str, ...]:
        named, before = self._toolbox.has_name(name), self._toolbox.tools()
        known = self._toolbox.add(name)
        if not known or (named and self._toolbox.tools() == before):
            return ()
        self._save()
        return tuple(f"Tools: {shown}" for shown in self._toolbox.context_lines(name))

    def _save(self) -> None:
        self._journal.record_tools(self._toolbox.selection())
        self.show()
