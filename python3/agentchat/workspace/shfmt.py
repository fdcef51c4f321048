"""Parses shell commands with ``shfmt``, installed beside this Python or on the PATH."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import sys

from agentchat.core.errors import ToolError
from agentchat.core.shell.parse import Script, parse_tree, why_unparsable
from agentchat.core.workspace import Command
from agentchat.workspace.process import programs

PARSE_SECONDS = 1.0
"""After this time the parser is killed and the user is asked about the command."""

_CACHE_SIZE = 256


async def parse_shell(command: str, root: str = "") -> Script:
    """Return the parts of a command; never raises: a failure is in ``parse_problem``.

    Args:
        root: the workspace, in which no parser is looked for.
    """
    return await asyncio.to_thread(parse_shell_sync, command, root)


def parse_shell_sync(command: str, root: str = "") -> Script:
    """Return the parts of a command; blocks until the parser has ended."""
    reason = why_unparsable(command)
    if reason:
        return Script(parse_problem=reason)
    try:
        return _parse(command, find_parser(root))
    except _ParserFailed as failure:
        return Script(parse_problem=str(failure))


class _ParserFailed(Exception):
    """The parser did not answer; the message is the reason."""


@functools.lru_cache(_CACHE_SIZE)
def _parse(command: str, program: str | None) -> Script:
    """Return the parts of a command; raises _ParserFailed, so that failures are not cached."""
    if program is None:
        raise _ParserFailed("the shell parser shfmt is not installed")
    source = command.encode()
    try:
        argv = (program, "--to-json", "-ln", "bash")
        done = programs.run(Command(argv, "/", stdin=source, timeout=PARSE_SECONDS))
        tree = json.loads(done.stdout) if done.returncode == 0 else None
    except ToolError as error:
        raise _ParserFailed(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _ParserFailed(f"the shell parser failed ({type(error).__name__})") from error
    if tree is None:
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = errors[-1] if errors else "no reason given"
        return Script(parse_problem=f"it does not parse ({reason})")
    return parse_tree(tree, source)


@functools.lru_cache(8)
def find_parser(root: str = "") -> str | None:
    """Return the path of the parser; ``None`` if it is not installed outside of ``root``."""
    beside = os.path.join(os.path.dirname(sys.executable), "shfmt")
    return programs.find_program(beside, root) or programs.find_program("shfmt", root)
