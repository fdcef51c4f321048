"""The prompts of servers as slash commands: ``/server:prompt arguments``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agentchat.core.errors import ToolError, UserError
from agentchat.core.prompts.command import Expansion, SlashCommand
from agentchat.core.text import clip, escape_hidden_characters
from agentchat.tools.mcp.servers import McpServer
from agentchat.tools.mcp.tool import read_part

_SAFE = re.compile(r"[\w.-]+")
LONGEST_DESCRIPTION = 100


class ServerPrompts:
    """The prompts of the servers of one chat; an ``agent.prompts`` source of commands.

    Args:
        servers: returns the servers as they are now.
    """

    def __init__(self, servers: Callable[[], Iterable[McpServer]]) -> None:
        self._servers = servers

    @property
    def problems(self) -> Sequence[str]:
        """A line for each prompt that cannot be offered."""
        return [
            f"MCP server {server.name}: the name of a prompt cannot be typed"
            for server in self._servers()
            if any(not _SAFE.fullmatch(_name(prompt)) for prompt in _prompts(server))
        ]

    def refresh(self) -> None:
        """Do nothing: the servers report their changes."""

    def list(self) -> Sequence[SlashCommand]:
        """Return the commands."""
        return [
            SlashCommand(
                name=f"{server.name}:{_name(prompt)}",
                kind="mcp",
                description=_line(prompt.get("description") or prompt.get("title") or ""),
                argument_hint=_hint(prompt),
                origin=f"MCP server {server.name}",
            )
            for server in self._servers()
            for prompt in _prompts(server)
            if _SAFE.fullmatch(_name(prompt))
        ]

    async def expand(self, name: str, arguments: str) -> Expansion:
        """Return the text of a prompt; raises UserError."""
        server_name, _, prompt_name = name.partition(":")
        server = next(s for s in self._servers() if s.name == server_name)
        prompt = next(p for p in _prompts(server) if _name(p) == prompt_name)
        try:
            messages = await server.get_prompt(prompt_name, parse_arguments(prompt, arguments))
        except ToolError as error:
            raise UserError(str(error)) from error
        texts = [(message["role"], (await read_part(message))[0]) for message in messages]
        alone = all(role == "user" for role, _ in texts)
        parts = [text if alone else f"{role}:\n{text}" for role, text in texts]
        return Expansion(("\n\n".join(parts),), f"MCP server {server.name}")


def parse_arguments(prompt: Mapping[str, Any], text: str) -> dict[str, str]:
    """Return the arguments of a prompt by name.

    They are typed in order, or as ``name=value``; the last one takes the rest of the text.

    Raises:
        UserError: a required one is missing.
    """
    declared = prompt.get("arguments") or ()
    names = [str(argument["name"]) for argument in declared]
    given: dict[str, str] = {}
    words = _words(text)
    while words:
        name, mark, value = words[0].partition("=")
        free = [each for each in names if each not in given]
        if mark and name in names:
            given[name] = value
            words = words[1:]
        elif len(free) > 1:
            given[free[0]], words = words[0], words[1:]
        elif free:
            given[free[0]], words = " ".join(words), []
        else:
            break
    missing = [str(a["name"]) for a in declared if a.get("required") and a["name"] not in given]
    if missing:
        raise UserError(f"The prompt needs {', '.join(missing)}: {_hint(prompt)}")
    return given


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _prompts(server: McpServer) -> Sequence[Mapping[str, Any]]:
    prompts: Sequence[Mapping[str, Any]] = server.about.get("prompts") or ()
    return prompts


def _name(prompt: Mapping[str, Any]) -> str:
    return str(prompt.get("name") or "")


def _hint(prompt: Mapping[str, Any]) -> str:
    arguments = prompt.get("arguments") or ()
    texts = (f"<{a['name']}>" if a.get("required") else f"[{a['name']}]" for a in arguments)
    return _line(" ".join(texts))


def _line(text: str) -> str:
    return escape_hidden_characters(clip(" ".join(text.split()), LONGEST_DESCRIPTION))
