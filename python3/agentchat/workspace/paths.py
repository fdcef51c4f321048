"""Resolves the paths that the model writes, and tells in which zone they lie."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Sequence

from agentchat.core.errors import ToolError
from agentchat.core.permissions.sensitive_paths import fold_name, is_protected, is_secret
from agentchat.core.text import mask_secrets
from agentchat.core.workspace import FileTarget, Zone
from agentchat.workspace.files.operation import read_attributes
from agentchat.workspace.process.regular import read_regular
from agentchat.workspace.process.repository_places import repository_places

_SPECIAL = re.compile(
    r"[a-z][a-z0-9+.-]*://|(?:zip|zipfile|tar|tarfile|jar|fugitive|term|man|file|data|oil):",
    re.IGNORECASE,
)
SETTINGS_BYTES = 64 * 1024
"""What of a protected file is searched for credentials."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class Paths:
    """The paths of one workspace.

    Args:
        root: the workspace; resolved here.
        protected: folders that are protected with all their content, like the runtimepath. The
            folders of the PATH that lie in the workspace are always protected.
    """

    def __init__(self, root: str, protected: Sequence[str] = ()) -> None:
        self.root = os.path.realpath(root)
        self._protected_folders = [
            os.path.realpath(os.path.join(self.root, folder))
            for folder in (*protected, *self._program_folders())
            if folder
        ]

    def _program_folders(self) -> list[str]:
        """Return the folders of the PATH inside the root: a file there may shadow ``git``.

        The root itself is left out: with it every file would be protected.
        """
        folders = [os.path.realpath(os.path.join(self.root, f)) for f in os.get_exec_path() if f]
        return [folder for folder in folders if folder != self.root and inside(folder, self.root)]

    def facts(self) -> FolderFacts:
        """Return what is true of folders now, for paths that are located together."""
        return FolderFacts(self.root, self._protected_folders)

    def locate(self, path: str, facts: FolderFacts | None = None) -> FileTarget:
        """Return the identity of ``path`` (see ``core.workspace.Workspace``)."""
        return self._locate(path, facts or self.facts())

    def locate_all(self, paths: Sequence[str]) -> list[FileTarget | Exception]:
        """Return the identity of each path, or the error; looks at each folder once."""
        facts = self.facts()
        found: list[FileTarget | Exception] = []
        for path in paths:
            try:
                found.append(self._locate(path, facts))
            except Exception as error:
                found.append(error)
        return found

    def _locate(self, path: str, facts: FolderFacts) -> FileTarget:
        refuse_special(path)
        try:
            real = facts.spelled_as_stored(self._resolve(path))
            status = _lstat(real)
        except (OSError, ValueError) as error:
            raise ToolError(f"{path}: {_reason(error)}.") from error
        return FileTarget(
            path=real,
            display_path=self.show(real),
            zone=self.zone(real, facts),
            exists=status is not None,
            read_only=status is not None and _read_only(real, status),
            hard_linked=status is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1,
            mode=None if status is None else stat.S_IMODE(status.st_mode),
            owner=None if status is None else (status.st_uid, status.st_gid),
            attributes=_attributes(real, status),
            anchor=_anchor(real) if status is None else None,
        )

    def show(self, real: str) -> str:
        """Return a resolved path in the form shown: relative inside the root, else absolute."""
        if real == self.root:
            return "."
        return real.removeprefix(self.root).lstrip("/") if inside(real, self.root) else real

    def zone(self, real: str, facts: FolderFacts | None = None) -> Zone:
        """Return the zone of a resolved path.

        A secret file is SECRET wherever it lies: reading asks, and writing asks as for a
        protected file. A file outside is OUTSIDE even if its name is a protected one.
        """
        facts = facts or self.facts()
        is_inside = inside(real, self.root)
        relative = real[len(self.root) :] if is_inside else real
        parts = [part for part in relative.split("/") if part]
        if is_secret(parts):
            return Zone.SECRET
        if not is_inside:
            return Zone.OUTSIDE
        if not is_protected(parts) and not facts.is_protected(real):
            return Zone.ORDINARY
        return Zone.SECRET if _has_credentials(real) else Zone.PROTECTED

    def _resolve(self, path: str) -> str:
        real = os.path.realpath(os.path.join(self.root, path))
        if path.startswith("@") and len(path) > 1 and not os.path.lexists(real):
            real = os.path.realpath(os.path.join(self.root, path[1:]))
        return real


class FolderFacts:
    """What is true of folders, looked up once for the paths that are located together."""

    def __init__(self, root: str, protected: Sequence[str]) -> None:
        self._root = root
        self._device = _device(root)
        self._protected = (*protected, *repository_places(root))
        self._spelled: dict[str, str] = {"/": "/"}
        self._protects: dict[str, bool] = {}

    def spelled_as_stored(self, real: str) -> str:
        """Return the path with the spelling of its directories' own entries.

        On a file system that folds case, ``SRC/A.py`` and ``src/a.py`` are one file: one identity.
        """
        if real == "/":
            return real
        folder, name = os.path.split(real)
        if folder not in self._spelled:
            self._spelled[folder] = self.spelled_as_stored(folder)
        folder = self._spelled[folder]
        return os.path.join(folder, _stored_name(folder, name))

    def is_protected(self, real: str) -> bool:
        """Whether a path inside the root is protected because of the folders above it."""
        folder = os.path.dirname(real)
        if folder not in self._protects:
            is_below = any(inside(folder, protected) for protected in self._protected)
            self._protects[folder] = is_below or self._in_repository_data(folder)
        return self._protects[folder] or real in self._protected or self._on_another_device(real)

    def _in_repository_data(self, folder: str) -> bool:
        """Whether it or a folder above is a Git directory under another name than ``.git``."""
        while inside(folder, self._root):
            if is_git_directory(folder):
                return True
            if folder == self._root:
                break
            folder = os.path.dirname(folder)
        return False

    def _on_another_device(self, real: str) -> bool:
        """Whether the path lies in a file system that is mounted below the root."""
        folder = real
        while _lstat(folder) is None and inside(folder, self._root) and folder != self._root:
            folder = os.path.dirname(folder)
        return self._device is not None and _device(folder) not in (None, self._device)


def inside(path: str, folder: str) -> bool:
    """Whether a resolved path is ``folder`` or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def refuse_special(path: str) -> None:
    """Raise ToolError for what is not the path of a file, or has another meaning in an editor."""
    if not path:
        raise ToolError("The path is empty. Give a path relative to the workspace.")
    if "\0" in path:
        raise ToolError(f"{path!r} contains a NUL character, so it is not a path.")
    if _SURROGATE.search(path):
        raise ToolError(f"{path!r} contains a character that no file name can have.")
    for name in (path, path[1:]) if path.startswith("@") else (path,):
        if _SPECIAL.match(name):
            raise ToolError(f"{path} is not a plain path. Give a path of the file system.")


def _lstat(path: str) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return os.lstat(path)
    return None


def _has_credentials(real: str) -> bool:
    """Whether a file of settings holds a password or token, as ``.git/config`` may."""
    with contextlib.suppress(OSError):
        text = read_regular(real, SETTINGS_BYTES).decode("utf-8", "replace")
        return mask_secrets(text) != text
    return False


def _device(path: str) -> int | None:
    status = _lstat(path)
    return None if status is None else status.st_dev


def _attributes(real: str, status: os.stat_result | None) -> tuple[tuple[str, bytes], ...]:
    if status is None or not stat.S_ISREG(status.st_mode):
        return ()
    with contextlib.suppress(OSError):
        return read_attributes(real)
    return ()


def _anchor(real: str) -> tuple[str, int, int] | None:
    folder = os.path.dirname(real)
    while (status := _lstat(folder)) is None and folder != "/":
        folder = os.path.dirname(folder)
    return None if status is None else (folder, status.st_dev, status.st_ino)


def _read_only(real: str, status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    return not status.st_mode & 0o222 or not os.access(real, os.W_OK)


def is_git_directory(folder: str) -> bool:
    """Whether a folder has the data of a repository, whatever its name."""
    has = {name: os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "commondir")}
    if has["HEAD"] and has["commondir"]:
        return True
    return has["HEAD"] and all(
        os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs")
    )


def _stored_name(folder: str, name: str) -> str:
    here = _lstat(os.path.join(folder, name))
    other = _lstat(os.path.join(folder, name.swapcase()))
    if here is None or other is None or not os.path.samestat(here, other):
        return name
    names = os.listdir(folder)
    if name in names:
        return name
    entries = (n for n in names if fold_name(n) == fold_name(name))
    return next(
        (n for n in entries if os.path.samestat(os.lstat(os.path.join(folder, n)), here)), name
    )


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
