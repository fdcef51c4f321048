"""Ignored files that isolated runs made: they stay for the next run, and never reach the project.

They are a layer of the overlay between the project and what a run changes. What the user changes
since wins: then the copy here is dropped.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agentchat.workspace.overlay.changes import ask_git
from agentchat.workspace.overlay.folder import remove_tree
from agentchat.workspace.overlay.upper import is_opaque, is_whiteout

CACHES = frozenset(
    {
        "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox",
        ".ipynb_checkpoints", ".benchmarks", ".eggs", ".gradle", ".parcel-cache", ".sass-cache",
        ".turbo", ".eslintcache", ".phpunit.result.cache", ".php-cs-fixer.cache",
        ".stylelintcache", ".tsbuildinfo",
    }
)  # fmt: skip
"""Names of folders and files that programs make again; git need not ignore them."""

LEAST_SIZE = 8192
Stamp = tuple[int, ...]


class KeptFiles:
    """The layer of kept files in ``folder``, over the project at ``root``; all of it blocks."""

    def __init__(self, root: str, folder: Path) -> None:
        self._root = root
        self.folder = folder
        self.size = 0
        self._below: dict[str, Stamp] = {}

    def clear(self) -> None:
        """Forget all of them."""
        old = self.folder.with_name(f"{self.folder.name}-old")
        with contextlib.suppress(OSError):
            self.folder.rename(old)
        remove_tree(old)
        self._below.clear()
        self.size = 0

    def drop_outdated(self) -> None:
        """Drop what is older than what the user did in the project; before a run."""
        if self._below or self.size:
            self._drop_below("")

    def _drop_below(self, name: str) -> None:
        folder = os.path.join(self.folder, name)
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            path = os.path.join(name, entry.name)
            below = _lstat(os.path.join(self._root, path))
            if below is None and path not in self._below:
                continue
            if below is not None and stat.S_ISDIR(below.st_mode) and _is_folder(entry):
                _copy_access(below, entry.path)
                self._drop_below(path)
            elif _stamp(below) != self._below.get(path):
                self._remove(path)

    def _remove(self, name: str) -> None:
        path = os.path.join(self.folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            remove_tree(Path(path))
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)
        for known in [known for known in self._below if f"{known}/".startswith(f"{name}/")]:
            del self._below[known]

    def keep(self, upper: str, names: Iterable[str]) -> int:
        """Move files and folders here, named as below the root; return the number of files."""
        return sum(self._keep(upper, name.rstrip("/")) for name in names)

    def _keep(self, upper: str, name: str) -> int:
        source, target = os.path.join(upper, name), os.path.join(self.folder, name)
        status = _lstat(source)
        if status is None:
            return 0
        self._make_parents(os.path.dirname(name))
        below, old = _lstat(os.path.join(self._root, name)), _lstat(target)
        merged = any(s is not None and stat.S_ISDIR(s.st_mode) for s in (below, old))
        if stat.S_ISDIR(status.st_mode) and merged and not is_opaque(source):
            if old is None:
                self._make_parents(name)
            number = self.keep(upper, [os.path.join(name, child) for child in os.listdir(source)])
            with contextlib.suppress(OSError):
                os.rmdir(source)
            return number
        if old is not None:
            self._remove(name)
        if below is None and is_whiteout(status):
            return 0
        if below is not None and stat.S_ISDIR(below.st_mode):
            return 0  # hides a folder of the project: whether that changes cannot be told quickly
        os.rename(source, target)
        if below is not None:
            self._below[name] = _stamp(below)
        try:
            number, size = _count(target)
        except RecursionError:
            remove_tree(Path(target))
            raise
        self.size += size
        return number

    def _make_parents(self, name: str) -> None:
        """Make a folder and those above it, as they are in the project.

        A symlink of an earlier run in their place leads out of here: it is removed, not followed.
        """
        if not name:
            return
        self._make_parents(os.path.dirname(name))
        made = os.path.join(self.folder, name)
        known = _lstat(made)
        if known is not None and stat.S_ISDIR(known.st_mode):
            return
        if known is not None:
            self._remove(name)
        os.mkdir(made)
        below = _lstat(os.path.join(self._root, name))
        if below is not None:
            _copy_access(below, made)
            self._below[name] = _stamp(below)


def find_ignored(root: str, upper: str) -> tuple[list[str], list[str]]:
    """Return what is ignored in an upper folder, and what is a cache; as names below the root.

    A new folder that is ignored, ``build/``, stands for all that it contains. What a command
    deleted, and the project does not have, was a kept file: it counts as a cache.
    """
    walk = UpperWalk(root, upper)
    walk.look("", into_new=False)
    new = [f"{name}/" for name in walk.new]
    ignored = ask_git(root, [*walk.files, *new])
    kept = [name for name in (*walk.files, *new) if name in ignored]
    inner = UpperWalk(root, upper)
    for name in new:
        if name not in ignored:
            inner.look(name.rstrip("/"), into_new=True)
    if inner.files:
        ignored = ask_git(root, inner.files)
        kept += [name for name in inner.files if name in ignored]
    return kept, [*walk.caches, *inner.caches]


class UpperWalk:
    """Names in an upper folder: new folders, other files, and caches; not those of git itself."""

    def __init__(self, root: str, upper: str) -> None:
        self._root = root
        self._upper = upper
        self.new: list[str] = []
        self.files: list[str] = []
        self.caches: list[str] = []

    def look(self, name: str, *, into_new: bool) -> None:
        """Add what is in a folder."""
        for entry in _entries(os.path.join(self._upper, name)):
            path = os.path.join(name, entry.name)
            if entry.name == ".git":
                continue
            if entry.name in CACHES or self._was_kept(entry, path):
                self.caches.append(path)
            elif not _is_folder(entry):
                self.files.append(path)
            elif into_new or os.path.isdir(os.path.join(self._root, path)):
                self.look(path, into_new=into_new)
            else:
                self.new.append(path)

    def _was_kept(self, entry: os.DirEntry[str], path: str) -> bool:
        if entry.is_file(follow_symlinks=False) or entry.is_symlink() or _is_folder(entry):
            return False
        gone = not os.path.lexists(os.path.join(self._root, path))
        return gone and is_whiteout(entry.stat(follow_symlinks=False))


def describe_kept(names: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of kept files, with a slash, and the files that are in none."""
    folders = (name if name.endswith("/") else f"{os.path.dirname(name)}/" for name in names)
    shown = (folder if folder != "/" else name for folder, name in zip(folders, names, strict=True))
    return tuple(dict.fromkeys(shown))


def _count(path: str) -> tuple[int, int]:
    """Return the number of files at or below a path, and their bytes."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        return 1, max(status.st_blocks * 512, LEAST_SIZE)
    number = size = 0
    for folder, _, files in os.walk(path):
        number += len(files)
        for name in files:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(folder, name))
                size += max(status.st_blocks * 512, LEAST_SIZE)
    return number, size


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from entries


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _stamp(status: os.stat_result | None) -> Stamp:
    if status is None:
        return ()
    if stat.S_ISDIR(status.st_mode):
        return (stat.S_IFDIR,)
    return (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _copy_access(status: os.stat_result, path: str) -> None:
    """Give a folder the mode, the owner and the times of another one."""
    with contextlib.suppress(OSError):
        now = os.lstat(path)
        if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
            os.chown(path, status.st_uid, status.st_gid)
        if stat.S_IMODE(now.st_mode) != stat.S_IMODE(status.st_mode):
            os.chmod(path, stat.S_IMODE(status.st_mode))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


Texts = Mapping[str, bytes]


def write_texts(root: str, folder: Path, texts: Texts) -> None:
    """Make a layer with the texts of unsaved buffers, by path, in an empty folder; blocks."""
    for path, text in texts.items():
        name = os.path.relpath(path, root)
        parents = [str(parent) for parent in reversed(Path(name).parents) if str(parent) != "."]
        for parent in parents:
            made = folder / parent
            made.mkdir(exist_ok=True)
            status = _lstat(os.path.join(root, parent))
            if status is not None:
                _copy_access(status, str(made))
        target = folder / name
        target.write_bytes(text)
        if os.path.exists(path):
            shutil.copymode(path, target)
