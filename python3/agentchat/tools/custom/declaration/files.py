"""Files with tools: where they are, and why one is not loaded."""

from __future__ import annotations

import os
from pathlib import Path

from agentchat.core.frozen import frozen

PROJECT_FOLDER = Path(".agentchat", "tools")
GONE = "What this needs no longer exists: its file was changed, or its process ended."


@frozen
class Location:
    """A folder or file with tools; that of a project ``needs_trust``."""

    path: Path
    needs_trust: bool = False

    def files(self) -> tuple[Path, ...]:
        """Return the files sorted by name, without those that begin with ``_`` or ``.``."""
        if self.path.is_file():
            return (self.path,)
        try:
            names = sorted(os.listdir(self.path))
        except OSError:
            return ()
        modules = (name for name in names if name.endswith(".py") and name[0] not in "_.")
        return tuple(self.path / name for name in modules)


@frozen
class FileProblem:
    """Why a file, or a tool in it, is not loaded; ``line`` is 0 if the problem has none."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{where}: {self.text}"
