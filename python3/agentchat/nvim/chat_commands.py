"""Shows the slash commands of one chat in Neovim."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.core.prompts.command import SlashCommand
from agentchat.core.text import escape_hidden_characters
from agentchat.nvim.lua_api import LuaApi

UNKNOWN = "There is no command /{}. Put a space before it to send it as text."


class ChatCommands:
    """Keeps Lua's list of commands up to date, and reports those that cannot be used."""

    def __init__(self, commands: SlashCommands, lua: LuaApi, chat: str) -> None:
        self._commands = commands
        self._lua = lua
        self._chat = chat
        self._shown: Sequence[SlashCommand] | None = None
        self._notified: set[str] = set()

    async def refresh(self) -> None:
        """Read the files again, and show what changed."""
        await asyncio.to_thread(self._commands.refresh)
        self._show()

    def find_unknown(self, text: str) -> str:
        """Return what is wrong with a prompt that begins with an unknown command, else nothing."""
        if not text.startswith("/"):
            return ""
        self._commands.refresh()
        self._show()
        name = self._commands.unknown(text)
        return UNKNOWN.format(name) if name else ""

    def lines(self) -> list[str]:
        """Return the commands and their problems, for the list of tools."""
        commands, problems = self._commands.list(), self._commands.problems
        if not commands and not problems:
            return []
        width = max((len(command.name) for command in commands), default=0)
        lines = [
            f"  /{command.name:<{width}}  {escape_hidden_characters(command.description)}"
            f" [{command.origin}]"
            for command in commands
        ]
        return ["", "Slash commands", "", *lines, *(f"  {problem}" for problem in problems)]

    def _show(self) -> None:
        commands = self._commands.list()
        if commands != self._shown:
            self._shown = commands
            self._lua.call("prompt.set_commands", self._chat, list(map(_table, commands)))
        for problem in self._commands.problems:
            if problem not in self._notified:
                self._notified.add(problem)
                self._lua.notify("warn", problem)


def _table(command: SlashCommand) -> dict[str, Any]:
    return {
        "name": command.name,
        "kind": command.kind,
        "about": escape_hidden_characters(command.description),
        "hint": escape_hidden_characters(command.argument_hint),
        "origin": command.origin,
    }
