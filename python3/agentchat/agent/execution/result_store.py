"""Where large results are kept in full."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from agentchat.core.limits import RESULT_BYTES
from agentchat.core.text import head_and_tail

OWN_LIMIT = frozenset({"read", "bash"})
"""Tools that keep to limits of their own."""


class ResultStore:
    """Files under the state directory, one chat's in one folder, readable by the user only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def free_path(self) -> str:
        """Return a path that nothing has used; the folder exists when it returns."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(self._folder / f"{uuid.uuid4().hex[:12]}.txt")

    def keep(self, text: str) -> str:
        """Write a text in full and return its path."""
        path = self.free_path()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        return path

    def bounded(self, tool: str, text: str) -> tuple[str, str | None]:
        """Return the text as the model gets it, and where all of it is kept if it was too large."""
        if tool in OWN_LIMIT or len(text.encode("utf-8", "surrogatepass")) <= RESULT_BYTES:
            return text, None
        path = self.keep(text)
        return head_and_tail(text, path), path
