"""Finds and prepares the programs that the plugin itself runs: git, ripgrep, shfmt and others.

The project must not decide what they are or do. So a program is looked up outside of it, whatever
the PATH says; its environment has only what is listed here, so no keys, no ``GIT_…`` and no
``LD_PRELOAD``; and git does not read the settings of the repository, see ``git``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Command
from agentchat.workspace.process import git

VARIABLES = frozenset(
    {"HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CONFIG_HOME"}
)
"""What a program may know of the user; and ``LC_…``."""


def search_path(root: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the PATH without relative folders and those inside ``root``, by their real paths."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    absolute = (folder for folder in folders if folder.startswith("/"))
    return os.pathsep.join(folder for folder in absolute if _is_outside(folder, root))


def find_program(name: str, root: str) -> str | None:
    """Return the path of a program that is not inside ``root``; ``None`` if there is none.

    Args:
        name: a path counts as it is: it is one of the plugin's own folder or of the settings.
    """
    if "/" in name:
        return name if os.access(name, os.X_OK) else None
    for folder in search_path(root).split(os.pathsep):
        # One by one: a link to a program of the project does not hide the next one of this name.
        found = shutil.which(name, path=folder) if folder else None
        if found and _is_outside(found, root):
            return found
    return None


def environment(root: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables for a program of the plugin."""
    kept = {k: v for k, v in environ.items() if k in VARIABLES or k.startswith("LC_")}
    return {**kept, "PATH": search_path(root, environ)}


@contextlib.contextmanager
def prepare(command: Command, root: str) -> Iterator[Command]:
    """Yield a command of the plugin with its program and environment; may block for git.

    Raises:
        ToolError: it is not installed outside of ``root``, or there is no repository for git.
    """
    name, *words = command.argv
    program = find_program(name, root)
    if program is None:
        raise ToolError(f"{name} is not installed (a program inside the workspace does not count).")
    variables = environment(root)
    prepared = replace(command, argv=(program, *words), env=variables)
    if name != "git":
        yield prepared
        return
    with git.repository(program, command.cwd, variables) as settings:
        yield replace(prepared, env={**variables, **settings})


def run(command: Command, root: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run a program of the plugin and wait; output on both pipes.

    Raises:
        ToolError: it is not installed, does not start, or takes longer than ``command.timeout``.
    """
    try:
        with prepare(command, root) as prepared:
            return subprocess.run(
                prepared.argv,
                cwd=prepared.cwd,
                input=prepared.stdin or b"",
                env=dict(prepared.env),
                capture_output=True,
                timeout=prepared.timeout,
            )
    except subprocess.TimeoutExpired:
        raise ToolError(f"{command.argv[0]} took longer than {command.timeout:g} s.") from None
    except OSError as error:
        raise ToolError(f"Cannot run {command.argv[0]}: {error.strerror or error}.") from error


def _is_outside(path: str, root: str) -> bool:
    if root in ("", "/", os.path.realpath(os.path.expanduser("~"))):
        return True  # the user's own programs are in there, and it is no project
    real = os.path.realpath(path)
    return real != root and not real.startswith(root + "/")
