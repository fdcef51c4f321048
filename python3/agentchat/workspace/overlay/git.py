"""What git is to an overlay: its own files and what their changes mean, and the user's identity."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agentchat.core.diff.aspects import FOLDER, LINK, MODE, split_aspect
from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import ToolError
from agentchat.core.text import mask_secrets
from agentchat.workspace.process import git
from agentchat.workspace.process.programs import find_program
from agentchat.workspace.process.regular import read_regular

GIT = ".git"

_DATA = re.compile(
    r"(?:(?:modules|worktrees)/(?:.+?/)??)?"
    r"(?:objects/(?!info/(?:http-)?alternates\Z).+|(?:refs|logs|rr-cache|lfs/objects|sequencer)/.+"
    r"|index|sharedindex\.[^/]+|packed-refs|shallow|[A-Z_]+|info/(?:exclude|refs|grafts)"
    r"|rebase-(?:merge|apply)/(?!git-rebase-todo|strategy)[^/]+|hooks/[^/]+\.sample|description"
    r"|gc\.log|[^/]+\.lock)\Z"
)
"""What git only reads as data. All else may name a program or another place: settings, hooks, lists
of commands like that of a rebase, and what a later git brings."""

UNUSED = ("objects/", "COMMIT_EDITMSG")
"""What means nothing if nothing else was changed."""

SETTINGS_BYTES = 1024 * 1024
STATUS_BYTES = 40
"""What an entry of the index begins with: times, numbers and size of a file; and its mode."""

HASH_BYTES = 20

BASE = """\
[safe]
\tdirectory = *
[core]
\tcheckStat = minimal
\ttrustctime = false
"""
"""Whoever owns the workspace is trusted, and a file is the same if its size and time are: a secret
one is not that of the project, see ``OverlayFolder.mask``."""

IDENTITY_KEYS = frozenset(
    {
        "user.name", "user.email", "author.name", "author.email", "committer.name",
        "committer.email", "init.defaultbranch", "core.autocrlf", "core.eol", "core.safecrlf",
        "core.quotepath", "core.precomposeunicode", "merge.conflictstyle", "pull.rebase",
        "diff.algorithm", "diff.renames", "push.default",
    }
)  # fmt: skip
"""Settings that name no program, no file and no credential."""


def inner_path(path: str) -> str:
    """Return what is behind the last folder ``.git`` of a path; empty if there is none."""
    before, _, inner = path.rpartition(f"/{GIT}/")
    return inner if before else ""


def acts_later(path: str) -> bool:
    """Whether git may run something, or read from elsewhere, because of an entry of ``.git``.

    That is everything but known data in files: also any symlink, and a ``.git`` that is none of the
    folders. A folder alone holds nothing.
    """
    entry, aspect = split_aspect(path)
    inner = inner_path(entry)
    if aspect == FOLDER or (aspect == MODE and not inner):
        return False
    return aspect == LINK or not _DATA.match(inner)


def without_refreshed(files: Iterable[FileChange]) -> Iterator[FileChange]:
    """Leave out what only refreshes git's index, and objects that nothing refers to."""
    kept = [file for file in files if not _only_refreshes(file)]
    ours = [file for file in kept if inner_path(file.path)]
    unused = all(inner_path(file.path).startswith(UNUSED) for file in ours)
    return (file for file in kept if not (unused and inner_path(file.path)))


def _only_refreshes(file: FileChange) -> bool:
    if not is_index(file.path) or not file.before or not file.after:
        return False
    return says_same(file.before, file.after)


def is_index(path: str) -> bool:
    """Whether a path is that of an index of git, of a submodule or a worktree, too."""
    inner = inner_path(path)
    return inner == "index" or inner.endswith("/index")


def says_same(index: bytes, other: bytes) -> bool:
    """Whether two indexes differ in times and sizes at most, as after ``git status``."""
    entries = read_index(index)
    return bool(entries) and entries == read_index(other)


def read_index(data: bytes) -> Sequence[bytes]:
    """Return the entries of an index without times and sizes; none if it cannot be read.

    Format: ``gitformat-index(5)``, the versions 2 to 4 with hashes of 20 bytes.
    """
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:12])
    if not data.startswith(b"DIRC") or version not in (2, 3, 4):
        return ()
    entries, start = [], 12
    try:
        for _ in range(count):
            named = start + STATUS_BYTES + HASH_BYTES + 2
            extended = data[named - 2] & 0x40
            end = data.index(b"\0", _skip_length(data, named) if version == 4 else named)
            entries.append(data[start + 24 : start + 28] + data[start + STATUS_BYTES : end])
            length = end - start
            start += length + 1 if version == 4 else (length // 8 + 1) * 8
            if extended and version == 2:
                return ()
    except (ValueError, IndexError):
        return ()
    return entries


def _skip_length(data: bytes, at: int) -> int:
    """Return where the name of an entry continues after the number of bytes that it drops."""
    while data[at] & 0x80:
        at += 1
    return at + 1


# --- outside of the workspace ---------------------------------------------------------------------


def git_folders(root: str) -> list[str]:
    """Return the folders of the workspace's repository that are outside of it.

    A file ``.git`` of the workspace may name any folder: it counts if that names the workspace.
    """
    entry = os.path.join(root, ".git")
    if os.path.isdir(entry):
        return _alternates(entry)
    if not os.path.lexists(entry):
        return _repository_above(root)
    folder = _named_folder(entry)
    if not folder or not _belongs_to(folder, root):
        return []
    common = os.path.realpath(os.path.join(folder, _read(f"{folder}/commondir") or "."))
    return [path for path in {folder, common} if _is_repository(common)]


def _named_folder(entry: str) -> str:
    match = re.match(r"gitdir: (.+)", _read(entry))
    named = os.path.join(os.path.dirname(entry), match[1]) if match else ""
    return os.path.realpath(named) if named else ""


def _belongs_to(folder: str, root: str) -> bool:
    """Whether a repository's folder names this work tree: as a linked one, or in its settings."""
    linked = _read(f"{folder}/gitdir")
    named = re.search(r"^\s*worktree\s*=\s*(.+)$", _read(f"{folder}/config"), re.MULTILINE)
    paths = [os.path.dirname(linked)] if linked else []
    paths += [os.path.join(folder, named[1])] if named else []
    return any(os.path.realpath(path) == root for path in paths)


def _repository_above(root: str) -> list[str]:
    parents = Path(root).parents
    found = (f"{parent}/.git".replace("//", "/") for parent in parents)
    return next(([path] for path in found if _is_repository(path)), [])


def _alternates(folder: str) -> list[str]:
    """Return the repositories of this machine that a clone of them borrows objects of."""
    names = _read(f"{folder}/objects/info/alternates").splitlines()
    paths = [os.path.realpath(os.path.join(folder, "objects", name)) for name in names]
    return [path for path in paths if path.endswith("/objects") and _is_repository(path[:-8])]


def masked_settings(root: str) -> dict[str, bytes]:
    """Return the repository's settings that hold a password or token, without it, by path."""
    folder = os.path.join(root, GIT)
    if not os.path.isdir(folder) or os.path.islink(folder):
        return {}
    modules = glob.glob(f"{glob.escape(folder)}/modules/**/config", recursive=True)
    found = {}
    for path in (f"{folder}/config", f"{folder}/config.worktree", *modules):
        with contextlib.suppress(OSError):
            text = read_regular(path, SETTINGS_BYTES).decode("utf-8", "surrogateescape")
            masked = mask_secrets(text)
            if masked != text:
                found[path] = masked.encode("utf-8", "surrogateescape")
    return found


def _is_repository(folder: str) -> bool:
    return os.path.isfile(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects")


def _read(path: str) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), errors="surrogateescape") as file:
            return file.read(64 * 1024).strip()
    except OSError:
        return ""


def read_identity(root: str, variables: Mapping[str, str]) -> str:
    """Return a file of settings with the user's identity in a repository; blocks."""
    program = find_program("git", root)
    try:
        settings = git.read_settings(program, root, variables) if program else []
    except ToolError:
        settings = []
    own = {each.name: each.value for each in settings if each.scope == "global"}
    return BASE + "".join(
        _line(name, value) for name, value in own.items() if name in IDENTITY_KEYS
    )


def _line(name: str, value: str) -> str:
    section, _, key = name.partition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{key} = "{quoted}"\n'
