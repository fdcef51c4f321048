"""How the server of an overlay is started, and why it does not start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from agentchat.workspace.overlay import bubblewrap, namespace
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.mounts import Mount, list_mounts
from agentchat.workspace.remote.bootstrap import BEGIN, pack

MIB = 1024 * 1024
QUOTA_MB = 2048
TEMPORARY = 512 * MIB
"""The most bytes of a folder whose content ends with the overlay."""


MOST_NAMESPACES = "user.max_user_namespaces"
SETTINGS = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    (MOST_NAMESPACES, "0", "15000"),
)
"""Settings of the kernel, with the value that forbids overlays and one that allows them."""


@dataclass(frozen=True)
class OverlayLauncher:
    """Starts the workspace server in an overlay over ``root``.

    Args:
        hidden: more folders that are hidden.
        quota: the most bytes of one file, and of all changes.
        bubblewrap: the program that makes the overlay; without one, ``namespace`` does.
    """

    root: str
    folder: OverlayFolder
    hidden: tuple[str, ...] = ()
    network: bool = False
    quota: int = QUOTA_MB * MIB
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    bubblewrap: str = ""
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
        settings: dict[str, object] = {"quota": self.quota}
        if not self.bubblewrap:
            settings |= {
                **self._paths(),
                "root": self.root,
                "top": str(self.folder.path / "top"),
                "scratch": str(self.folder.path / "scratch"),
                "mounts": self._mounts(),
                "network": self.network,
                "temporary": TEMPORARY,
            }
        source = Path(str(namespace.__file__)).read_bytes()
        return pack(source, json.dumps(settings).encode())

    def argv(self) -> tuple[str, ...]:
        """Return the command line: this interpreter, which reads what to do."""
        python = (sys.executable, "-I", "-S", "-u", "-X", "utf8", "-c", BEGIN)
        if not self.bubblewrap:
            return python
        options = bubblewrap.options(
            self._mounts(), **self._paths(), temporary=TEMPORARY, network=self.network
        )
        return (self.bubblewrap, *options, "--", *python)

    def _paths(self) -> dict[str, str]:
        return {
            "upper": str(self.folder.upper),
            "work": str(self.folder.path / "work"),
            "empty": str(self.folder.path / "empty"),
        }

    def _mounts(self) -> list[Mount]:
        home = self.variables.get("HOME") or os.path.expanduser("~")
        own = (self.variables.get(name, "") for name in ("XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"))
        sockets = (path for path in own if path.startswith("/"))
        programs = os.path.realpath(sys.prefix)
        return list_mounts(self.root, home, programs, (*self.hidden, *sockets))

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
    for name, forbids, allows in SETTINGS:
        unprivileged = "unprivileged" in name
        if _setting(name) == forbids and not (unprivileged and os.geteuid() == 0):
            return f"Run `sudo sysctl -w {name}={allows}`."
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


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name.replace(".", "/")).read_text().strip()
    except OSError:
        return ""


def why_impossible(root: str, folder: Path) -> str:
    """Return why no overlay over ``root`` can be tried; empty if it can be."""
    if sys.platform != "linux":
        return "Overlays need Linux."
    if f"{folder}/".startswith(root.rstrip("/") + "/"):
        return (
            f"The workspace {root} contains the state folder of the plugin. Open a folder below "
            "it, or set $XDG_STATE_HOME."
        )
    if _setting(MOST_NAMESPACES) == "0":
        return f"No overlay works here ({MOST_NAMESPACES} is 0). {_advice('')}"
    return ""
