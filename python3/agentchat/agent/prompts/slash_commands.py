"""The slash commands of one chat, whatever they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentchat.core.prompts.command import (
    Expansion,
    SlashCommand,
    TypedCommand,
    parse_typed_command,
)


class CommandSource(Protocol):
    """Something that offers slash commands: files, skills, the prompts of an MCP server."""

    @property
    def problems(self) -> Sequence[str]:
        """A line for the user for each command that cannot be offered."""

    def refresh(self) -> None:
        """Update the list from the disk, without waiting for anything else."""

    def list(self) -> Sequence[SlashCommand]:
        """Return the commands, each name once."""

    async def expand(self, name: str, arguments: str) -> Expansion:
        """Return what a command of the list stands for; raises UserError."""


class SlashCommands:
    """Commands of several sources; of two with one name, that of the earlier source wins."""

    def __init__(self, *sources: CommandSource) -> None:
        self._sources = [*sources]

    def add(self, source: CommandSource) -> None:
        """Add a source behind the others."""
        self._sources.append(source)

    def refresh(self) -> None:
        """Update all lists."""
        for source in self._sources:
            source.refresh()

    def list(self) -> Sequence[SlashCommand]:
        """Return the commands, each name once."""
        return [command for command, _ in self._owners().values()]

    @property
    def problems(self) -> Sequence[str]:
        """Lines for the user about commands that cannot be used."""
        owners = self._owners()
        return [
            *(problem for source in self._sources for problem in source.problems),
            *(
                f"{command.origin}: not used, /{command.name} is {owners[command.name][0].origin}"
                for source in self._sources
                for command in source.list()
                if owners[command.name][1] is not source
            ),
        ]

    def unknown(self, text: str) -> str:
        """Return the name of the command that a prompt begins with, if there is no such command."""
        typed = parse_typed_command(text)
        return typed.name if typed is not None and typed.name not in self._owners() else ""

    async def expand(self, text: str) -> tuple[TypedCommand, Expansion] | None:
        """Return what a prompt stands for; ``None`` if it begins with no known command.

        Raises:
            UserError: the command cannot be used.
        """
        typed = parse_typed_command(text)
        owner = self._owners().get(typed.name) if typed is not None else None
        if typed is None or owner is None:
            return None
        return typed, await owner[1].expand(typed.name, typed.arguments)

    def _owners(self) -> dict[str, tuple[SlashCommand, CommandSource]]:
        owners: dict[str, tuple[SlashCommand, CommandSource]] = {}
        for source in self._sources:
            for command in source.list():
                owners.setdefault(command.name, (command, source))
        return owners
