"""Adds and removes the tools of a chat at the user's command."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from agentchat.core.messages import ToolResult
from agentchat.core.tools.mentions import mentioned_names, read_mentions
from agentchat.core.tools.tool import ToolOutput
from agentchat.core.tools.toolset import TOOL_SEARCH
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View
from agentchat.journal.entries import tools_record
from agentchat.journal.writer import JournalWriter


class ToolFiles(Protocol):
    """The files with the user's custom tools."""

    async def ready(self, chat: str) -> None:
        """Return when the tools of a chat are loaded from the current files."""

    async def connect(self, chat: str, names: Collection[str]) -> None:
        """Return when the servers of these names are connected, or cannot be."""

    async def read_resource(self, chat: str, server: str, uri: str) -> ToolOutput | None:
        """Return a resource, ``None`` if there is no such server; raises ToolError."""


class ChatTools:
    """The tools and groups of one chat, journaled at every change.

    Args:
        files: the source of custom tools, if there is one.
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
        """Return when the custom tools are loaded from the current files."""
        if self._files is not None:
            await self._files.ready(self._chat.uuid)

    async def connect(self, text: str) -> None:
        """Return when the servers that the chat was given, or a prompt mentions, are connected."""
        if self._files is not None:
            given = self._toolbox.selection().given
            await self._files.connect(self._chat.uuid, {*given, *mentioned_names(text)})

    async def read_resource(self, server: str, uri: str) -> ToolOutput | None:
        """Return a resource, ``None`` if there is no such server; raises ToolError."""
        if self._files is None:
            return None
        return await self._files.read_resource(self._chat.uuid, server, uri)

    def restore(self) -> None:
        """Give the chat the tools that its journal ends with, those that it searched included."""
        selection = self._journal.restored.tools
        if selection is not None:
            self._toolbox.restore(selection)
        for message in self._chat.history.messages:
            if isinstance(message, ToolResult) and message.name == TOOL_SEARCH:
                self._toolbox.activate(message.detail("tools") or ())

    def add_mentioned(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Add the tools that a prompt mentions.

        Returns:
            The prompt as the model reads it, and a line for the user for each new tool or group.
        """
        prompt = read_mentions(text, self._toolbox)
        return prompt.text, tuple(line for name in prompt.names for line in self._add(name))

    def add_allowed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Add the tools that a slash command names, those there are; return lines as above."""
        known = (name.lower() for name in names if self._toolbox.can_be_mentioned(name.lower()))
        return tuple(line for name in known for line in self._add(name))

    def add(self, name: str) -> None:
        """Add a tool or group, and show it in the chat."""
        if not self._toolbox.can_be_mentioned(name):
            self._view.notify("warn", f'There is no tool or group "{name}".')
            return
        lines = self._add(name)
        if lines:
            self._view.add_note("info", "\n".join(lines))
        else:
            self._view.notify("info", f"This chat has {name} already.")

    def remove(self, name: str) -> None:
        """Remove a tool or group, with its part of the system prompt."""
        if self._toolbox.remove(name):
            self._save()
            self._view.add_note("info", f"Tools removed: {name}")
        else:
            self._view.notify("warn", f'This chat has no tool or group "{name}".')

    def unknown_names(self) -> tuple[str, ...]:
        """Return a line for each name in the settings that no tool or group has."""
        return self._toolbox.unknown_names()

    def show(self) -> None:
        """Update the names of tools and groups that a prompt can mention."""
        self._view.show_tools(self._chat)

    def _add(self, name: str) -> tuple[str, ...]:
        named, before = self._toolbox.has_name(name), self._toolbox.tools()
        known = self._toolbox.add(name)
        if not known or (named and self._toolbox.tools() == before):
            return ()
        self._save()
        return tuple(f"Tools: {text}" for text in self._toolbox.context_lines(name))

    def _save(self) -> None:
        self._journal.add(tools_record(self._toolbox.selection()))
        self.show()
