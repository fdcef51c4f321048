"""``agentchat mcp``: serves an agent, or prints what to put into its configuration."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentchat.app.state import find_state
from agentchat.mcp_server.configs import AGENTS, ServerCommand, configuration

ABOUT = """Offers the tools of agentchat.nvim to an agent in a terminal, on standard input and
output. Its calls show up as a chat in the Neovim of the project, where the user answers and reviews
them; without one, rules decide and what would ask is denied. --config AGENT prints what to
put into the configuration of that agent."""


def main(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.config:
        text = configuration(options.config, ServerCommand.of_this_copy(options.state))
        sys.stdout.write(f"{text}\n")
        return 0
    root = os.path.realpath(options.project or os.getcwd())
    if not os.path.isdir(root):
        parser.error(f"{root} is not a directory")
    state = find_state(os.environ)
    if options.state:
        state = replace(state, folder=options.state)
    # The SDK takes most of a second to import, which --config and --help need not wait for.
    from agentchat.mcp_server.server import serve

    return serve(state, root)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentchat mcp", description=ABOUT)
    parser.add_argument("--config", choices=AGENTS, metavar="AGENT", help=", ".join(AGENTS))
    parser.add_argument(
        "--project", metavar="DIR", help="the project (default: the current directory)"
    )
    parser.add_argument(
        "--state",
        metavar="DIR",
        type=lambda text: Path(text).expanduser().absolute(),
        help="the plugin's state folder (default: stdpath('state')/agentchat)",
    )
    return parser
