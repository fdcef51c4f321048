"""Takes shell commands apart with ``shfmt``, installed beside this Python or on the PATH."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import subprocess
import sys

from agentchat.core.shell.parse import Script, read_tree, why_unparsable

PARSE_SECONDS = 1.0
"""A parse that takes longer is given up: the user is asked."""

_REMEMBERED = 256


async def parse_shell(command: str) -> Script:
    """Return what a command consists of; never raises, and what fails is in ``unread``."""
    return await asyncio.to_thread(parse_shell_sync, command)


def parse_shell_sync(command: str) -> Script:
    """Return what a command consists of, waiting for the parser."""
    reason = why_unparsable(command)
    if reason:
        return Script(unread=reason)
    try:
        return _read(command)
    except _Unread as unread:
        return Script(unread=str(unread))


class _Unread(Exception):
    """The parser did not answer; says why."""


@functools.lru_cache(_REMEMBERED)
def _read(command: str) -> Script:
    """Return the parts of a command. A parser that fails is not remembered: it raises _Unread."""
    program = find_parser()
    if program is None:
        raise _Unread("the shell parser shfmt is not installed")
    source = command.encode()
    try:
        done = subprocess.run(
            [program, "--to-json", "-ln", "bash"],
            input=source,
            capture_output=True,
            timeout=PARSE_SECONDS,
            cwd="/",
        )
        tree = json.loads(done.stdout) if done.returncode == 0 else None
    except subprocess.TimeoutExpired:
        raise _Unread(f"taking it apart took longer than {PARSE_SECONDS:g} s") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _Unread(f"the shell parser failed ({type(error).__name__})") from error
    if tree is None:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return Script(unread=f"it does not parse ({said[-1] if said else 'no reason given'})")
    return read_tree(tree, source)


@functools.lru_cache(1)
def find_parser() -> str | None:
    """Return the path of the parser."""
    beside = os.path.join(os.path.dirname(sys.executable), "shfmt")
    return beside if os.access(beside, os.X_OK) else shutil.which("shfmt")
