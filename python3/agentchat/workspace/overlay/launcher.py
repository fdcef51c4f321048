"""How the server of an overlay is started, what is hidden from it, and why it does not start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from agentchat.workspace.overlay import namespace
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.remote.bootstrap import BEGIN, pack

MIB = 1024 * 1024
QUOTA_MB = 2048
TEMPORARY_MB = 512

PRIVATE = ("/tmp", "/var/tmp")

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


@dataclass(frozen=True)
class OverlayLauncher:
    """Starts the workspace server in an overlay over ``root``.

    Args:
        hidden: more folders that are hidden.
        quota: the most bytes of one file, and of all changes.
    """

    root: str
    folder: OverlayFolder
    hidden: tuple[str, ...] = ()
    network: bool = False
    quota: int = QUOTA_MB * MIB
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: str = "/"

    @property
    def machine(self) -> str:
        """The name in messages."""
        return "the overlay"

    @property
    def path(self) -> str:
        """The directory."""
        return self.root

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The variables of the server."""
        return {**self.variables, "TMPDIR": "/tmp"}

    @property
    def prelude(self) -> bytes:
        """The program that enters the overlay, and its settings."""
        home = self.variables.get("HOME") or os.path.expanduser("~")
        hidden = (*(os.path.join(home, name) for name in CREDENTIALS), *self._sockets())
        settings = {
            "root": self.root,
            "programs": os.path.realpath(sys.prefix),
            "upper": str(self.folder.upper),
            "work": str(self.folder.path / "work"),
            "top": str(self.folder.path / "top"),
            "empty": str(self.folder.path / "empty"),
            "private": PRIVATE,
            "caches": [os.path.join(home, name) for name in CACHES],
            "scratch": str(self.folder.path / "scratch"),
            "hidden": list(dict.fromkeys((*self.hidden, *hidden))),
            "network": self.network,
            "quota": self.quota,
            "temporary": TEMPORARY_MB * MIB,
        }
        source = Path(str(namespace.__file__)).read_bytes()
        return pack(source, json.dumps(settings).encode())

    def _sockets(self) -> tuple[str, ...]:
        own = (self.variables.get(name, "") for name in ("XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"))
        return (*SOCKETS, *(path for path in own if path.startswith("/")))

    def argv(self) -> tuple[str, ...]:
        """Return the command line: this interpreter, which reads what to do."""
        return (sys.executable, "-I", "-S", "-u", "-X", "utf8", "-c", BEGIN)

    def explain_missing(self, error: OSError) -> str:
        """Return a message for an interpreter that cannot be started."""
        reason = error.strerror or str(error)
        return f"Cannot run {sys.executable}: {reason}. Run :checkhealth agentchat."

    def explain_failure(self, output: str) -> str:
        """Return why there is no overlay and what to do, in one line."""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        failure = next((line for line in lines if line.startswith(namespace.FAILED)), "")
        step = failure.removeprefix(namespace.FAILED)
        reason = step or (lines[-1] if lines else "it ended without an answer")
        return f"No overlay works here ({reason}). {_advice(step)}"


def _advice(step: str) -> str:
    """Return what the user can do about a step that failed."""
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return _command("kernel.apparmor_restrict_unprivileged_userns=0")
    if _setting("kernel/unprivileged_userns_clone") == "0":
        return _command("kernel.unprivileged_userns_clone=1")
    if _setting("user/max_user_namespaces") == "0":
        return _command("user.max_user_namespaces=15000")
    if step.startswith(("create a user namespace", "map the ids")):
        return (
            "A container must allow user namespaces: with Docker or Podman, "
            "--security-opt seccomp=unconfined."
        )
    if step.startswith("mount proc"):
        return "This container masks /proc: with Docker, --security-opt systempaths=unconfined."
    if step.startswith("mount overlay"):
        return (
            "Linux 5.11 or newer is needed, and a state folder, $XDG_STATE_HOME, outside the "
            "workspace and on a file system like ext4, btrfs, xfs or tmpfs."
        )
    return "See :help agentchat-stage-requirements."


def _command(setting: str) -> str:
    return f"Run: sudo sysctl -w {setting}"


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def why_impossible(root: str, folder: Path) -> str:
    """Return why no overlay over ``root`` can be tried; empty if it can be."""
    if sys.platform != "linux":
        return "Overlays need Linux. Stage edits of files with tools.edits = 'stage' instead."
    if f"{folder}/".startswith(root.rstrip("/") + "/"):
        return (
            f"The workspace {root} contains the state folder of the plugin. Open a folder below "
            "it, or set $XDG_STATE_HOME."
        )
    return ""
