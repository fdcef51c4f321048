"""Find a Neovim that is new enough."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (0, 11)


def find() -> str | None:
    """Return the Neovim to use: one on the PATH that is new enough, else `.venv/bin/nvim`."""
    return on_path() or packaged()


def on_path() -> str | None:
    """Return the PATH's Neovim, outside `.venv`, if it is new enough."""
    ours = ROOT / ".venv" / "bin"
    folders = os.environ.get("PATH", "").split(os.pathsep)
    path = os.pathsep.join(folder for folder in folders if Path(folder) != ours)
    found = shutil.which("nvim", path=path)
    return found if found and version(found) >= OLDEST else None


def packaged() -> str | None:
    """Return the Neovim installed into `.venv`, if it starts."""
    nvim = ROOT / ".venv" / "bin" / "nvim"
    return str(nvim) if nvim.exists() and version(str(nvim)) >= OLDEST else None


@functools.cache
def version(nvim: str) -> tuple[int, ...]:
    """Return the version of a Neovim as (major, minor, patch); (0,) if it does not start."""
    try:
        done = subprocess.run(
            [nvim, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    number = re.search(r"NVIM v(\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(int(part) for part in number.groups()) if number else (0,)
