"""What a command in an overlay sees of the file system, as a list of mounts in their order.

The file system begins empty, and ``root`` mounts the list. A kind of mount is what commands notice
of it:

========== ========================================================================
show       what is there on this machine, read-only; no socket or pipe of it
forget     what is there; what commands write ends with the overlay
stage      what is there; what commands write stays in the upper folder
temporary  an empty folder, whose content ends with the overlay
hide       an empty folder; a file that cannot be opened
link, file a symlink to a path; a file with a text
========== ========================================================================
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence

from agentchat.core.frozen import frozen
from agentchat.workspace.overlay.git import git_folders

Mount = tuple[str, str, *tuple[object, ...]]
"""The kind, the path without symlinks, and what the kind needs."""

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu",
    "/sys/devices/system", "/sys/kernel/mm",
)  # fmt: skip
NAME_SERVICE = ("/etc/resolv.conf", "/etc/localtime")
"""Files of the system that may be links to a hidden folder."""

TEMPORARY = ("/tmp", "/var/tmp")
REPLACED = ("/dev", "/proc")
"""Folders that the overlay has of its own, whatever the workspace is."""

REMOVABLE = ("/mnt", "/media", "/run", "/proc", "/dev", "/sys")
"""Folders of which nothing is shown, even if it is on the PATH."""

TOOLS = (
    ".rustup", ".cargo/bin", ".cargo/env", ".nvm", ".fnm", ".local/share/fnm", ".volta", ".asdf",
    ".local/share/mise", ".pyenv", ".rbenv", ".rvm", ".nodenv", ".goenv", ".jenv", ".sdkman",
    ".ghcup", ".elan", ".juliaup", ".deno/bin", ".bun/bin", ".local/bin", ".local/lib",
    ".local/pipx", ".local/share/pipx", ".local/share/uv", ".virtualenvs",
    ".local/share/virtualenvs", ".dotnet/sdk", ".dotnet/shared", ".dotnet/tools", ".linuxbrew",
    "miniconda3", "anaconda3", "miniforge3", "mambaforge", "go/bin", ".opam", ".luarocks",
)  # fmt: skip
"""Below the home directory: programs and libraries of toolchains."""

CACHES = (
    ".cargo/registry", ".cargo/git", "go/pkg", ".npm/_cacache", ".yarn/berry/cache",
    ".bun/install/cache", ".cache/pip", ".cache/uv", ".cache/go-build", ".cache/yarn",
    ".cache/pypoetry", ".cache/pre-commit", ".cache/ccache", ".ccache", ".cache/node",
    ".cache/node-gyp", ".cache/deno", ".local/share/pnpm", ".gradle/caches", ".gradle/wrapper",
    ".m2/repository", ".m2/wrapper", ".ivy2/cache", ".sbt/boot", ".nuget/packages",
    ".pub-cache/hosted", ".cabal/packages", ".cabal/store", ".stack/programs", ".stack/snapshots",
    ".conan/data", ".conan2/p", ".hex/packages", ".mix", ".gem/ruby", ".bundle/cache",
    ".cache/composer", ".cache/bazel", ".cache/zig", ".cache/ms-playwright", ".julia/packages",
    ".julia/artifacts", ".julia/compiled",
)  # fmt: skip
"""Below the home directory: what builds write and need again, without credentials."""

PRIVATE = (".local", ".local/share", ".config", ".cache", ".ssh", ".gnupg", ".aws", ".docker")
"""Below the home directory: folders that hold more than one program's files."""

PROGRAM_FOLDERS = ("bin", "sbin", ".bin", "shims")
PREFIX_HAS = ("lib", "lib64", "libexec", "pyvenv.cfg")
"""A folder with one of these beside its programs needs to be shown as a whole."""


@frozen
class Sight:
    """What is to be seen, beside the system.

    Args:
        root: the workspace, resolved.
        home: the user's home directory, resolved; empty if there is none.
        path: the user's PATH.
        visible: more folders and files to show.
        hidden: folders and files to hide, wherever they are.
        files: texts of files that are made up, by path.
    """

    root: str
    home: str
    path: str = ""
    visible: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def list_mounts(sight: Sight) -> list[Mount]:
    """Return the mounts around the workspace, which ``stage`` is to be added to."""
    temporary = [path for path in TEMPORARY if os.path.isdir(path)]
    shown = [
        *_existing(SYSTEM),
        *_tools(sight),
        *_existing(sight.visible),
        *git_folders(sight.root),
    ]
    shown += [path for path in _existing(NAME_SERVICE) if not _is_below(path, SYSTEM)]
    forgotten = _existing(_below(sight.home, CACHES)) if sight.home else []
    below_home = [path for path in forgotten if not contains(sight.root, path)]
    shown = _outermost(path for path in shown if not contains(sight.root, path))
    mounts: list[Mount] = [
        *(("link", f"/{name}", target) for name, target in _links_of_top()),
        *(("temporary", path, 0o1777) for path in temporary),
        *((("temporary", sight.home),) if sight.home not in ("", "/") else ()),
        *(("show", path) for path in shown if not _is_below(path, below_home)),
        *(("forget", path) for path in below_home if not _is_below(path, shown)),
    ]
    mounts.sort(key=lambda mount: mount[1].count("/"))
    return [*mounts, *(("file", path, text) for path, text in sight.files)]


def list_hidden(sight: Sight) -> list[str]:
    """Return what is to be hidden of what the mounts show."""
    hidden = _existing((*sight.hidden, *_unreadable("/etc")))
    return [path for path in hidden if path != sight.root]


def is_visible(path: str, mounts: Iterable[Sequence[object]]) -> bool:
    """Whether commands see what is at a path of this machine."""
    around = [mount for mount in mounts if contains(str(mount[1]), path)]
    kind = max(around, key=lambda mount: len(str(mount[1])))[0] if around else ""
    return kind in ("show", "forget", "stage", "file", "link") or path.startswith(REPLACED)


def _tools(sight: Sight) -> Iterator[str]:
    """Yield what the programs of the user's PATH need."""
    yield from _existing(_below(sight.home, TOOLS)) if sight.home else ()
    for folder in _existing(path for path in sight.path.split(":") if path.startswith("/")):
        if os.path.isdir(folder) and not _is_below(folder, REMOVABLE):
            yield _prefix(folder, sight)


def _prefix(folder: str, sight: Sight) -> str:
    """Return the folder to show for one with programs: with its libraries, if they are beside."""
    parent = os.path.dirname(folder)
    shared = (sight.root, sight.home, *_below(sight.home, PRIVATE), *TEMPORARY)
    if os.path.basename(folder) not in PROGRAM_FOLDERS or any(
        contains(parent, path) for path in shared if path
    ):
        return folder
    beside = any(os.path.exists(os.path.join(parent, name)) for name in PREFIX_HAS)
    return parent if beside or os.path.basename(folder) == ".bin" else folder


def _links_of_top() -> Iterator[tuple[str, str]]:
    """Yield the symlinks in the root folder, like ``/bin``, and their targets."""
    with os.scandir("/") as entries:
        for entry in entries:
            if entry.is_symlink():
                yield entry.name, os.readlink(entry.path)


def _unreadable(folder: str) -> Iterator[str]:
    """Yield what only some users may read of a folder of the system, like ``/etc/shadow``."""
    if os.geteuid() != 0:
        return
    for top, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = os.path.join(top, name)
            mode = os.lstat(path).st_mode
            if not mode & 0o004 and not os.path.islink(path):
                yield path
                if name in folders:
                    folders.remove(name)


def _below(folder: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names]


def _existing(paths: Iterable[str]) -> list[str]:
    """Return the real paths of those that exist, each once."""
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            real = os.path.realpath(path, strict=True)
            found.append(real)
    return list(dict.fromkeys(found))


def _outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that are not below another of them."""
    found: list[str] = []
    for path in sorted(set(paths), key=len):
        if not _is_below(path, found):
            found.append(path)
    return found


def _is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether a path is one of these folders or lies below one."""
    return any(contains(folder, path) for folder in folders)


def contains(folder: str, path: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")
