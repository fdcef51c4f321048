"""A file that goes."""

from __future__ import annotations

import contextlib
import os

from agentchat.core.diff.changeset import FileChange
from agentchat.workspace.disk import Disk, directory
from agentchat.workspace.job import Job


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
        self.aside = self.temp_name("old")
        self.disk.rename(self.name, self.aside, self.at)
        self.check(self.before or b"", self.aside)
        self.sync_folder()

    def roll_back(self) -> None:
        """Give the file its name back; if something took it, the bytes stay where they are."""
        aside, self.aside = self.aside, None
        if aside is None:
            return
        with contextlib.suppress(FileNotFoundError):  # it was never set aside
            self.disk.link(aside, self.name, self.at)
            self.drop(aside)

    def close(self) -> None:
        """Remove what was set aside: the change holds."""
        if self.aside is not None:
            with contextlib.suppress(OSError):
                self.drop(self.aside)
                self.sync_folder()
            self._remove_folders()
        super().close()

    def _remove_folders(self) -> None:
        """Remove the folders that were made for the file, as far as nothing else is in them."""
        folder = os.path.dirname(self.path)
        with contextlib.suppress(OSError):
            for _ in range(self.file.folders):
                folder, name = os.path.split(folder)
                with directory(folder) as at:
                    self.disk.rmdir(name, at)
