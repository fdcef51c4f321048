"""A file that goes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from agentchat.workspace.disk import Disk
from agentchat.workspace.job import Job

if TYPE_CHECKING:
    from agentchat.core.changes import FileChange


class Remove(Job):
    """A file that goes; set aside first, so that it can come back as it was."""

    def __init__(self, disk: Disk, file: FileChange) -> None:
        super().__init__(disk, file)
        self.aside: str | None = None

    def prepare(self) -> None:
        """Check the bytes."""
        self.check(self.before or b"")

    def commit(self) -> None:
        """Set the file aside, and make sure it was the one meant."""
        self.check(self.before or b"")
        aside = self.temp_name()
        self.disk.rename(self.name, aside, self.at)
        self.aside = aside
        self.check(self.before or b"", aside)
        self.sync_folder()

    def roll_back(self) -> None:
        """Give the file its name back, unless something took it."""
        if self.aside is not None:
            self.disk.link(self.aside, self.name, self.at)
            self.drop(self.aside)
            self.aside = None

    def close(self) -> None:
        """Remove what was set aside: the change holds."""
        if self.aside is not None:
            with contextlib.suppress(OSError):
                self.drop(self.aside)
                self.sync_folder()
        super().close()
