"""Which files hold tools, and which of a project's may be loaded."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT_FOLDER = Path(".agentchat", "tools")
LARGEST = 1024 * 1024
"""Bytes of a file; nobody writes a larger one by hand."""

DIRECTORY = "directory"
DENIED = "!"
"""What Neovim's trust database has where a file has its hash."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder, or one file, where tools may be; ``needs_trust`` is that of a project."""

    path: Path
    needs_trust: bool = False

    def files(self) -> tuple[Path, ...]:
        """Return the files there by name; those that begin with ``_`` or ``.`` are not meant."""
        if self.path.is_file():
            return (self.path,)
        try:
            names = sorted(os.listdir(self.path))
        except OSError:
            return ()
        found = (self.path / name for name in names if name.endswith(".py"))
        return tuple(path for path in found if path.name[0] not in "_.")


@dataclass(frozen=True, slots=True)
class Source:
    """One file as it is now."""

    path: Path
    data: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the content, as Neovim writes it down."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def key(self) -> str:
        """What tells this file from others, and from itself as it was."""
        return f"{self.digest}:{self.path}"


def read_source(path: Path) -> Source:
    """Return a file with its content; raises OSError, also where it is no ordinary file."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise OSError("it is no ordinary file")
    if about.st_size > LARGEST:
        raise OSError(f"it is larger than {LARGEST // 1024} KiB")
    return Source(path, path.read_bytes())


def stamp(paths: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return something that differs when a file was added, changed or removed."""
    return tuple(_stamps(paths))


def _stamps(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for path in paths:
        try:
            about = path.stat()
        except OSError:
            continue
        yield str(path), about.st_mtime_ns, about.st_size


def read_trust(database: Path) -> dict[str, str]:
    """Return Neovim's trust database: a hash, ``directory`` or ``!`` (denied) by real path."""
    try:
        lines = database.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(" ") for line in lines)
    return {path: said for said, _, path in pairs if path}


def is_trusted(source: Source, root: Path, trust: Mapping[str, str]) -> bool:
    """Whether the user trusts a file of a project: as it is now, or with a folder it is in.

    Args:
        root: the project.
    """
    real = Path(os.path.realpath(source.path))
    said = trust.get(str(real))
    if said in (source.digest, DENIED):
        return said != DENIED
    top = Path(os.path.realpath(root))
    folders = [folder for folder in real.parents if folder == top or top in folder.parents]
    words = [trust[str(folder)] for folder in folders if str(folder) in trust]
    # The innermost folder that anything was said of decides.
    return bool(words) and words[0] == DIRECTORY
