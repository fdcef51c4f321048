"""Finds the files of a workspace that may hold keys, quickly enough to do it before each command.

What was found in a folder counts as long as its times are the same: they change with every name in
it, and one of them only the kernel sets.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence

from agentchat.core.frozen import frozen
from agentchat.core.globs import glob_to_regex
from agentchat.core.permissions.sensitive_paths import SECRET_FILES, is_secret
from agentchat.core.text import mask_secrets
from agentchat.disk.regular import read_regular
from agentchat.workspace.overlay.git import GIT, git_folders

SKIPPED = frozenset({GIT, "node_modules", "site-packages", "dist-packages"})
"""Folders of which git or package managers own the content: its keys are no secrets."""

SETTLED_NS = 50_000_000
"""Younger times of a folder may stay the same when it changes again."""

_SECRET_IN_LIST = re.compile("/(?:" + "|".join(map(glob_to_regex, SECRET_FILES)) + ")(?=/)")
"""Finds the name of a secret in lower-case names that are joined by slashes."""

Stamp = tuple[int, int, int]


@frozen
class FolderContent:
    """The folders to look into, the secrets and the repository of one folder, as paths."""

    stamp: Stamp
    folders: tuple[str, ...]
    secrets: tuple[str, ...]
    repositories: tuple[str, ...] = ()


class SecretFiles:
    """The files with secrets below ``root``; ``find`` blocks, for one caller at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, FolderContent] = {}

    @property
    def repositories(self) -> list[str]:
        """The folders ``.git`` that the last ``find`` came across."""
        return [path for content in self._known.values() for path in content.repositories]

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

    def masked(self) -> list[tuple[str, bytes]]:
        """Return the settings of git with a credential, each with a text without it.

        Those of the repositories that ``find`` came across last, and of that of the workspace.
        """
        return list(masked_settings(dict.fromkeys((*self.repositories, *git_folders(self._root)))))

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
        folders, names, repositories = [], [], []
        with os.scandir(path) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif entry.name not in SKIPPED:
                    folders.append(entry.path)
                elif entry.name == GIT:
                    repositories.append(entry.path)
        parts = tuple(path.removeprefix(self._root).strip("/").split("/"))
        secrets = tuple(os.path.join(path, name) for name in _secrets(parts, names))
        return FolderContent(stamp, tuple(folders), secrets, tuple(repositories))


def _secrets(parts: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of secrets in a folder; most folders have none, which one look shows."""
    joined = f"/{'/'.join(names)}/"
    plain = joined.isascii() and not any(part.startswith(".") for part in parts)
    if plain and not _SECRET_IN_LIST.search(joined.lower()):
        return []
    return [name for name in names if is_secret((*parts, name))]


# --- settings of git: what commands read in their place -------------------------------------------

LARGEST = 1024 * 1024
MOST_FILES = 1_000
MODULES, WORKTREES = "modules", "worktrees"
"""Folders of a repository with those of submodules and of linked work trees."""

NO_SETTINGS = frozenset({"objects", "refs", "logs", "hooks", "info"})


def masked_settings(repositories: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each file of settings that holds a credential, with its text without it; blocks.

    Git reads that text as before, so that it works. Of a file that is too large nothing is left.

    Args:
        repositories: folders like ``.git``.
    """
    for repository in repositories:
        for path in _settings_files(repository):
            with contextlib.suppress(OSError):
                data = read_regular(path, LARGEST + 1)
                masked = _mask(data) if len(data) <= LARGEST else b""
                if masked != data:
                    yield path, masked


def _settings_files(repository: str) -> list[str]:
    """Return what may be settings of a repository, its submodules and its work trees."""
    found = _configs(repository, sorted(_names(repository)))
    for inner in (MODULES, WORKTREES):
        for folder, folders, names in os.walk(os.path.join(repository, inner)):
            folders[:] = [name for name in folders if name not in NO_SETTINGS]
            found += _configs(folder, names)
            if len(found) > MOST_FILES:
                break
    return found


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _configs(folder: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names if name.startswith("config")]


def _mask(data: bytes) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    return mask_secrets(text).encode("utf-8", "surrogateescape")
