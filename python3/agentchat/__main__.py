"""The command line: ``python -m agentchat "PROMPT"``, or the name of another command."""

from __future__ import annotations

import sys
from importlib import import_module

RUN = "agentchat.headless.command"
COMMANDS = {
    "journal": "agentchat.journal.__main__",
    "mcp": "agentchat.mcp_server.command",
}
"""Commands by their first word; anything else is a prompt."""


def main() -> int:
    """Run the command that the arguments name; return the exit code of the process."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in COMMANDS:
        return int(import_module(COMMANDS[arguments[0]]).main(arguments[1:]))
    return int(import_module(RUN).main(arguments))


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The directory may be that of a stranger: its modules must not replace ours.
        del sys.path[0]
    sys.exit(main())
