"""A throw-away repository, and the marker ``m`` in it that tells whether something ran."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pexpect

from agentchat.tools.builtin.bash import environment

SETUP = """
git init -q -b main
git config user.email t@example.org
git config user.name t
printf 'a\\nb\\n' > f; printf 'b\\na\\n' > g; printf 'x\\n' > x
mkdir d src
printf '#!/bin/sh\\ntouch m\\n' > d/git-x
printf 'touch m\\n' > s
chmod +x d/git-x s
git add -A && git commit -qm one
"""

RAW_SECONDS = 4.0


class Ground:
    """One repository."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve()
        self.root.mkdir(parents=True, exist_ok=True)
        subprocess.run(["/bin/bash", "-ec", SETUP], cwd=self.root, env=self.env, check=True)

    def copy(self, folder: Path) -> Ground:
        """Return another repository like this one as it is."""
        shutil.copytree(self.root, folder, symlinks=True)
        made = object.__new__(Ground)
        made.root = folder.resolve()
        return made

    @property
    def env(self) -> dict[str, str]:
        """The environment that a command of the agent gets, with a home of its own."""
        return {**environment(os.environ), "HOME": str(self.root.parent)}

    @property
    def marker(self) -> Path:
        return self.root / "m"

    @property
    def marked(self) -> bool:
        return self.marker.exists()

    def run(self, command: str) -> bool:
        """Run a command as the agent would; return whether it made the marker."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                ["/bin/bash", "--noprofile", "--norc", "-c", "--", command],
                cwd=self.root,
                env=self.env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=RAW_SECONDS,
            )
        return self.marked

    def run_on_a_terminal(self, command: str) -> bool:
        """Run a command as a person would, where programs start pagers and editors."""
        env = {**self.env, "TERM": "xterm"}
        for name in ("PAGER", "GIT_PAGER", "GIT_EDITOR"):
            env.pop(name)
        child = pexpect.spawn("/bin/bash", ["-c", command], cwd=str(self.root), env=env)
        until = time.monotonic() + RAW_SECONDS
        with contextlib.suppress(pexpect.EOF):
            while not self.marked and time.monotonic() < until:
                try:
                    child.read_nonblocking(65536, 0.05)
                except pexpect.TIMEOUT:
                    child.send("\r")
        child.close(force=True)
        return self.marked
