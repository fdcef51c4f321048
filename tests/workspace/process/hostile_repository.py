"""A repository in which every setting of git that could name a program names one.

Each program leaves a file in a folder, so the disk says whether git ran anything.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")

PROGRAMS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass",
    "core.gitProxy", "core.alternateRefsCommand", "credential.helper", "diff.external",
    "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.smudge", "filter.x.process",
    "merge.x.driver", "mergetool.x.cmd", "difftool.x.cmd", "gpg.program", "gpg.ssh.program",
    "pager.diff", "pager.config", "sequence.editor", "remote.origin.uploadpack",
    "remote.origin.vcs",
    "uploadpack.packObjectsHook", "interactive.diffFilter", "alias.diff", "alias.check-ignore",
    "trailer.x.command", "man.x.cmd", "web.browser", "browser.x.cmd", "sendemail.smtpServer",
    "trace2.eventTarget",
)  # fmt: skip
"""Settings that name programs, as of git 2.50."""

HOOKS = (
    "post-index-change",
    "pre-commit",
    "post-checkout",
    "fsmonitor-watchman",
    "reference-transaction",
)


@dataclass(frozen=True)
class HostileRepository:
    """A repository at ``root`` with a changed file; what its programs leave is in ``marks``."""

    root: Path
    marks: Path

    @classmethod
    def make(cls, folder: Path) -> HostileRepository:
        """Make one whose settings are still git's own."""
        made = cls(folder / "project", folder / "marks")
        made.root.mkdir()
        made.marks.mkdir()
        (made.root / "a.py").write_text("before\n")
        (made.root / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
        (made.root / ".gitignore").write_text("*.log\n")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
            made.git(*words)
        (made.root / "a.py").write_text("after\n")
        return made

    def git(self, *words: str, folder: Path | None = None) -> None:
        """Run the user's git, which obeys all settings."""
        subprocess.run([*GIT, *words], cwd=folder or self.root, capture_output=True)

    def command(self, name: str) -> str:
        """Return a command that leaves a mark, and copies its input."""
        return f"touch {self.marks}/{name.replace('/', '_')}; cat"

    def name_programs(self, *names: str, file: Path | None = None) -> None:
        """Let settings name programs, in the repository's own file or another one."""
        target = str(file or self.root / ".git/config")
        for name in names:
            words = ["git", "config", "--file", target, name, self.command(name)]
            subprocess.run(words, check=True, capture_output=True)

    def add_hooks(self) -> None:
        """Add a hook for what git does."""
        folder = self.root / ".git/hooks"
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            path = folder / name
            path.write_text(f"#!/bin/sh\n{self.command(name)}\n")
            path.chmod(0o755)

    def ran(self) -> list[str]:
        """Return what ran, and forget it."""
        names = sorted(os.listdir(self.marks))
        for name in names:
            (self.marks / name).unlink()
        return names
