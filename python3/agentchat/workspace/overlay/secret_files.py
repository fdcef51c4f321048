"""Finds the files of a workspace that may hold keys, quickly enough to do it before each command.

What was found in a folder counts as long as its times are the same: they change with every name in
it, and one of them only the kernel sets.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence

from agentchat.core.frozen import frozen
from agentchat.core.globs import glob_to_regex
from agentchat.core.permissions.sensitive_paths import SECRET_FILES, is_secret

SKIPPED = frozenset({".git", "node_modules", "site-packages", "dist-packages"})
"""Folders of which git or package managers own the content: its keys are no secrets."""

SETTLED_NS = 50_000_000
"""Younger times of a folder may stay the same when it changes again."""

_SECRET_IN_LIST = re.compile("/(?:" + "|".join(map(glob_to_regex, SECRET_FILES)) + ")(?=/)")
"""Finds the name of a secret in lower-case names that are joined by slashes."""

Stamp = tuple[int, int, int]


@frozen
class FolderContent:
    """The folders to look into and the secrets of one folder, as paths."""

    stamp: Stamp
    folders: tuple[str, ...]
    secrets: tuple[str, ...]


class SecretFiles:
    """The files with secrets below ``root``; ``find`` blocks, for one caller at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, FolderContent] = {}

    def find(self) -> list[str]:
        """Return the paths of all that exist; those of symlinks as what they lead to."""
        known: dict[str, FolderContent] = {}
        found: list[str] = []
        waiting = [self._root]
        while waiting:
            path = waiting.pop()
            content = self._look(path)
            if content is not None:
                known[path] = content
                waiting += content.folders
                found += content.secrets
        self._known = known
        return [path for path in dict.fromkeys(map(os.path.realpath, found)) if self._is_here(path)]

    def _is_here(self, path: str) -> bool:
        return path.startswith(f"{self._root}/") and os.path.exists(path)

    def _look(self, path: str) -> FolderContent | None:
        known = self._known.get(path)
        try:
            status = os.stat(path)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            if known is not None and known.stamp == stamp:
                return known
            settled = time.time_ns() - status.st_ctime_ns > SETTLED_NS
            return self._scan(path, stamp if settled else (0, 0, 0))
        except OSError:
            return None

    def _scan(self, path: str, stamp: Stamp) -> FolderContent:
        folders, names = [], []
        with os.scandir(path) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif entry.name not in SKIPPED:
                    folders.append(entry.path)
        parts = tuple(path.removeprefix(self._root).strip("/").split("/"))
        secrets = tuple(os.path.join(path, name) for name in _secrets(parts, names))
        return FolderContent(stamp, tuple(folders), secrets)


def _secrets(parts: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of secrets in a folder; most folders have none, which one look shows."""
    joined = f"/{'/'.join(names)}/"
    plain = joined.isascii() and not any(part.startswith(".") for part in parts)
    if plain and not _SECRET_IN_LIST.search(joined.lower()):
        return []
    return [name for name in names if is_secret((*parts, name))]
