"""What a command in an overlay sees of the file system, as a list of mounts in their order.

Around them everything is read-only. ``namespace`` makes the mounts itself, ``bubblewrap`` turns
them into the options of that program. A kind of mount is what commands notice of it:

========== ========================================================================
private    an empty folder, whose content ends with the overlay
show       what is there on this machine, read-only
hide       an empty folder or file
forget     what is there; what commands write ends with the overlay
stage      what is there; what commands write stays in the upper folder
========== ========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

Mount = tuple[str, str]
"""The kind, and the path without symlinks."""

PRIVATE = ("/tmp", "/var/tmp")

REPLACED = ("/dev", "/proc")
"""Folders that the overlay has of its own, whatever the workspace is."""

CREDENTIALS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh",
    ".config/hub", ".config/op", ".config/1Password", ".config/containers/auth.json",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".terraform.d",
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/Signal",
    ".netrc", ".pgpass", ".my.cnf", ".git-credentials", ".config/git/credentials", ".pypirc",
    ".npmrc", ".yarnrc.yml", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".vault-token", ".claude.json", ".claude/.credentials.json", ".codex/auth.json",
    ".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history",
)  # fmt: skip
"""Folders and files below the home directory that no command in an overlay can read."""

CACHES = (
    ".cache", ".cargo", ".rustup", "go", ".npm", ".yarn", ".bun", ".deno", ".local/share/pnpm",
    ".gradle", ".m2", ".ivy2", ".sbt", ".nuget", ".dotnet", ".pub-cache", ".cabal", ".stack",
    ".ccache", ".conan", ".hex", ".mix", ".gem", ".bundle", ".composer",
)  # fmt: skip
"""Folders below the home directory that builds write in; what a turn writes there is forgotten."""

SOCKETS = (
    "/run/user", "/run/dbus", "/run/systemd/private", "/run/docker.sock", "/run/docker",
    "/run/containerd", "/run/podman", "/run/crio", "/run/libvirt", "/run/lxd.socket",
    "/run/snapd.socket", "/run/snapd-snap.socket", "/var/lib/lxd/unix.socket",
)  # fmt: skip
"""Where programs listen that do what they are told without being confined."""


def list_mounts(
    root: str,
    home: str,
    programs: str,
    hidden: Iterable[str],
    private: Iterable[str] = PRIVATE,
) -> list[Mount]:
    """Return the mounts for an overlay over ``root``; later ones may cover earlier ones.

    Args:
        home: the user's home directory.
        programs: a folder that stays visible wherever it is.
        hidden: folders and files to hide, beside those with credentials and sockets.
    """
    private = _existing(private)
    secret = _existing((*hidden, *_below(home, CREDENTIALS), *SOCKETS))
    around = [path for path in secret if _contains(path, root)]
    emptied = (*private, *around, *REPLACED)
    caches = [path for path in _existing(_below(home, CACHES)) if not _contains(root, path)]
    inside = [path for path in secret if _contains(root, path) and path != root]
    outside = [path for path in secret if not any(_contains(top, path) for top in emptied)]
    return [
        *(("private", path) for path in private),
        *(("show", programs) for top in private if _contains(top, programs)),
        *(("hide", path) for path in around),
        *(("forget", path) for path in caches),
        ("stage", root),
        *(("show", path) for path in _mounts_below(root)),
        *(("hide", path) for path in dict.fromkeys((*inside, *outside))),
    ]


def _below(folder: str, names: Iterable[str]) -> list[str]:
    return [os.path.join(folder, name) for name in names]


def _existing(paths: Iterable[str]) -> list[str]:
    """Return the real paths of those that exist, each once."""
    real = (os.path.realpath(path) for path in paths)
    return [path for path in dict.fromkeys(real) if os.path.exists(path)]


def _contains(folder: str, path: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def _mounts_below(folder: str) -> Iterator[str]:
    """Yield what is mounted below a folder: an overlay does not show it."""
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            raw = line.split()[4].decode("unicode_escape").encode("latin-1")
            path = os.fsdecode(raw)
            if path != folder and _contains(folder, path):
                yield path
