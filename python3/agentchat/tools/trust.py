"""Files of a project that count once the user trusts them, as Neovim's trust database says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentchat.core.frozen import frozen
from agentchat.disk.regular import read_regular

LARGEST = 1024 * 1024
"""The most bytes of a file."""

LARGEST_DATABASE = 16 * LARGEST

DIRECTORY = "directory"
DENIED = "!"
"""Entries of Neovim's trust database that are no hash of a file."""


@frozen
class Source:
    """One file with its content."""

    path: Path
    data: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the content, as in Neovim's trust database."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def key(self) -> str:
        """The identity of this file with this content."""
        return f"{self.digest}:{self.path}"


def read_source(path: Path) -> Source:
    """Return a file with its content; raises OSError, also if it is no regular file."""
    data = read_regular(path, LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(f"it is larger than {LARGEST // 1024} KiB")
    return Source(path, data)


def stamp(paths: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return a value that differs if a file was added, changed or removed."""
    return tuple(_stamps(paths))


def _stamps(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for path in paths:
        try:
            info = path.stat()
        except OSError:
            continue
        yield str(path), info.st_mtime_ns, info.st_size


def read_trust(database: Path) -> dict[str, str]:
    """Return Neovim's trust database: a hash, ``directory`` or ``!`` (denied) by real path."""
    try:
        data = read_regular(database, LARGEST_DATABASE)
    except OSError:
        return {}
    pairs = (line.partition(" ") for line in os.fsdecode(data).splitlines())
    return {path: entry for entry, _, path in pairs if path}


def is_trusted(source: Source, root: Path, trust: Mapping[str, str]) -> bool:
    """Whether the user trusts a file of a project, by its content or with a folder it is in.

    A link of the project to a file elsewhere is not trusted: it was trusted for another project.

    Args:
        root: the project.
    """
    real, top = Path(os.path.realpath(source.path)), Path(os.path.realpath(root))
    if top not in real.parents:
        return False
    entry = trust.get(str(real))
    if entry in (source.digest, DENIED):
        return entry != DENIED
    folders = [folder for folder in real.parents if folder == top or top in folder.parents]
    entries = [trust[str(folder)] for folder in folders if str(folder) in trust]
    # The innermost folder with an entry decides.
    return bool(entries) and entries[0] == DIRECTORY
