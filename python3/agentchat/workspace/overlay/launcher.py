"""How the server of stage mode's overlay is started, and why no overlay works here."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from agentchat.workspace.overlay import server
from agentchat.workspace.overlay.client import DEFAULT_LIMITS, Limits, server_argv
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.git import read_identity
from agentchat.workspace.overlay.mounts import Sight, contains, list_hidden, list_mounts
from agentchat.workspace.remote.bootstrap import pack

MOST_NAMESPACES = "user.max_user_namespaces"
SETTINGS = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    (MOST_NAMESPACES, "0", "15000"),
)
"""Settings of the kernel, with the value that forbids overlays and one that allows them."""

PASSED_VARIABLES = frozenset(
    {
        "PATH", "LANG", "LANGUAGE", "USER", "LOGNAME", "TZ", "TERM", "NO_COLOR", "SHELL",
        "PAGER", "MANPAGER", "SYSTEMD_PAGER", "DEBIAN_FRONTEND", "PIP_NO_INPUT",
        "GIT_PAGER", "GIT_EDITOR", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
        "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
    }
)  # fmt: skip
"""Variables that a command gets, beside the locale; others may hold keys, or name a socket."""


@dataclass(frozen=True)
class OverlayLauncher:
    """Starts the workspace server in an overlay over ``root``.

    Args:
        hidden: more folders and files that are hidden.
        visible: more folders and files that can be read.
        connection: the number of the file by which the process takes commands.
    """

    root: str
    folder: OverlayFolder
    hidden: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    connection: int = -1
    cwd: str = "/"

    @property
    def machine(self) -> str:
        """The name in messages."""
        return "the overlay"

    @property
    def path(self) -> str:
        """The directory."""
        return self.root

    @property
    def home(self) -> str:
        """The user's home directory, resolved."""
        return os.path.realpath(self.variables.get("HOME") or os.path.expanduser("~"))

    @cached_property
    def environment(self) -> Mapping[str, str]:
        """The variables of the server."""
        return environment_inside(self.variables, self.home)

    @property
    def prelude(self) -> bytes:
        """The settings, with all that is to be seen."""
        return pack(json.dumps(self._settings()).encode())

    def argv(self) -> tuple[str, ...]:
        """Return the command line: this interpreter, which reads what to do."""
        return server_argv("hold", self.connection)

    def sight(self) -> Sight:
        """Return what is to be seen; blocks."""
        return make_sight(self.root, self.home, self.variables, self.visible, self.hidden)

    def _settings(self) -> dict[str, object]:
        interpreter = (sys.prefix, sys.base_prefix)
        sight = make_sight(
            self.root, self.home, self.variables, (*self.visible, *interpreter), self.hidden
        )
        paths = (str(self.folder.upper), str(self.folder.path / "work"))
        stage = ("stage", self.root, (), *paths)
        return {
            "root": self.root,
            "top": str(self.folder.path / "top"),
            "size": self.limits.temporary,
            "masks": str(self.folder.masks),
            "mounts": [*list_mounts(sight), stage, *self.folder.hide(list_hidden(sight))],
        }

    def explain_missing(self, error: OSError) -> str:
        """Return a message for an interpreter that cannot be started."""
        reason = error.strerror or str(error)
        return f"Cannot run {sys.executable}: {reason}. Run :checkhealth agentchat."

    def explain_failure(self, output: str) -> str:
        """Return why there is no overlay and what to do, in one line."""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        failure = next((line for line in lines if line.startswith(server.FAILED)), "")
        step = failure.removeprefix(server.FAILED)
        return explain(step or (lines[-1] if lines else "it ended without an answer"))


def make_sight(
    root: str,
    home: str,
    variables: Mapping[str, str],
    visible: tuple[str, ...],
    hidden: tuple[str, ...],
) -> Sight:
    """Return what commands in an overlay see beside the system; blocks."""
    identity = read_identity(root, variables)
    files = ((os.path.join(home, ".gitconfig"), identity),) if identity and home != "/" else ()
    shown = tuple(os.path.expanduser(path) for path in visible)
    return Sight(root, home, variables.get("PATH", os.defpath), shown, hidden, files)


def environment_inside(variables: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the variables of a command in an overlay, of those that it would have outside."""
    passed = {
        name: value
        for name, value in variables.items()
        if name in PASSED_VARIABLES or name.startswith("LC_")
    }
    return {**passed, "HOME": home, "TMPDIR": "/tmp"}


def explain(step: str) -> str:
    """Return why there is no overlay, and what to do about a step that failed, in one line."""
    return f"No overlay works here ({step}). {_advice(step)}"


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
    if mounted := next(_mounts_below(root), ""):
        return (
            f"{mounted} is mounted inside the workspace, so no overlay can show it. Open a folder "
            "without mounts."
        )
    if _setting(MOST_NAMESPACES) == "0":
        return f"No overlay works here ({MOST_NAMESPACES} is 0). {_advice('')}"
    return ""


def _mounts_below(folder: str) -> Iterator[str]:
    """Yield what is mounted below a folder."""
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            raw = line.split()[4].decode("unicode_escape").encode("latin-1")
            path = os.fsdecode(raw)
            if path != folder and contains(folder, path):
                yield path
