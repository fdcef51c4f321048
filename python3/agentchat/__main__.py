"""The command line: ``python -m agentchat COMMAND …``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

Command = Callable[[Sequence[str]], int]


def mcp(arguments: Sequence[str]) -> int:
    """Serve the tools to an agent of another program, or print its configuration."""
    from agentchat.cli.mcp_command import main

    return main(arguments)


COMMANDS: Mapping[str, Command] = {"mcp": mcp}
USAGE = """usage: python -m agentchat COMMAND …

commands:
  mcp   offer the tools of agentchat.nvim to other agents (Model Context Protocol); see mcp --help
"""


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    name = arguments[0] if arguments else ""
    command = COMMANDS.get(name)
    if command is not None:
        return command(arguments[1:])
    wants_help = name in ("-h", "--help")
    print(USAGE, end="", file=sys.stdout if wants_help else sys.stderr)
    return 0 if wants_help else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
