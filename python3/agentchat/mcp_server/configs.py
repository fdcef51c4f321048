"""What each agent needs in its configuration to use the tools through MCP."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentchat.core.frozen import frozen

NAME = "agentchat"
ANSWER_SECONDS = 3600
"""How long an agent should wait for a result, where it can be told: the user may be away."""


@frozen
class ServerCommand:
    """How the server is started: a program and its arguments."""

    program: str
    arguments: tuple[str, ...]

    @classmethod
    def of_this_copy(cls, state: Path | None) -> ServerCommand:
        """Return the command of this copy of the plugin, which finds its interpreter itself.

        Args:
            state: the plugin's state folder, if it is not the one of the environment.
        """
        program = Path(__file__).resolve().parents[3] / "bin" / "agentchat"
        more = ("--state", str(state)) if state is not None else ()
        return cls(str(program), ("mcp", *more))

    @property
    def words(self) -> tuple[str, ...]:
        """Program and arguments."""
        return (self.program, *self.arguments)


def configuration(agent: str, command: ServerCommand) -> str:
    """Return what to run, or to put into which file, for an agent of ``AGENTS``."""
    return _WRITERS[agent](command)


def _claude(command: ServerCommand) -> str:
    return shlex.join(["claude", "mcp", "add", NAME, "--", *command.words])


def _codex(command: ServerCommand) -> str:
    lines = [
        "# ~/.codex/config.toml",
        f"[mcp_servers.{NAME}]",
        f"command = {json.dumps(command.program)}",
        f"args = {json.dumps(command.arguments)}",
        f"tool_timeout_sec = {ANSWER_SECONDS}",
    ]
    return "\n".join(lines)


def _gemini(command: ServerCommand) -> str:
    server = {**_server(command), "timeout": ANSWER_SECONDS * 1000}
    return _json("~/.gemini/settings.json", {"mcpServers": {NAME: server}})


def _opencode(command: ServerCommand) -> str:
    server = {
        "type": "local",
        "command": command.words,
        "enabled": True,
        "timeout": ANSWER_SECONDS * 1000,
    }
    return _json("opencode.json", {"mcp": {NAME: server}})


def _cursor(command: ServerCommand) -> str:
    arguments = (*command.arguments, "--project", "${workspaceFolder}")
    server = {"type": "stdio", **_server(command), "args": arguments}
    return _json(".cursor/mcp.json", {"mcpServers": {NAME: server}})


def _server(command: ServerCommand) -> dict[str, Any]:
    return {"command": command.program, "args": command.arguments}


def _json(path: str, value: Mapping[str, Any]) -> str:
    return f"// {path}\n{json.dumps(value, indent=2)}"


_WRITERS: Mapping[str, Callable[[ServerCommand], str]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "cursor": _cursor,
}

AGENTS = tuple(_WRITERS)
