"""Changes on disk, all files or none, each file its old bytes or its new ones at any moment.

A changed file is written beside its target, made durable, given the target's owner, mode and
attributes, and renamed over it after the target was looked at once more. Where that would lose
something (a second hard link, an owner we cannot set, a folder we cannot write in, a file mounted
by itself) the file is written in place; the caller has its old bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.workspace.files.disk import FOLDER_LOCKS, Disk
from agentchat.workspace.files.operation import FileOperation, UnchangedFile
from agentchat.workspace.files.operations import CreateFile, RemoveFile, ReplaceFile


class TransactionAborted(Exception):
    """The change was called off before its first file was touched."""


class ChangeFailed(ToolError):
    """A change that could not be made; ``reason`` says why, in a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} Nothing was changed.")
        self.reason = reason


class FileTransaction:
    """Makes changes on one disk; ``show`` turns an absolute path into what messages name."""

    def __init__(self, disk: Disk, show: Callable[[str], str]) -> None:
        self._disk = disk
        self._show = show

    def apply(
        self, files: Sequence[FileChange], called_off: Callable[[], bool] = lambda: False
    ) -> None:
        """Make the change.

        Raises:
            Stale: a file does not have its ``before`` bytes.
            ToolError: a file cannot be written; names it and the reason.
            Aborted: ``called_off()`` became true before the first file was touched.
            In all three cases the files are as they were, unless the message says otherwise.
        """
        with FOLDER_LOCKS.hold(_folders(files)):
            jobs: list[FileOperation] = []
            try:
                for file in files:
                    for job in self._jobs(file):
                        jobs.append(job)
                        self._step(job, job.prepare)
                if called_off():
                    raise TransactionAborted
                for job in jobs:
                    self._step(job, job.commit)
            except BaseException as error:
                self._roll_back(jobs, error)
                raise
            finally:
                for job in jobs:
                    job.close()

    def _jobs(self, file: FileChange) -> Iterable[FileOperation]:
        if not file.old_path:
            return [self._job(file)]
        made, gone = file.parts
        return [CreateFile(self._disk, made, like=gone), RemoveFile(self._disk, gone)]

    def _job(self, file: FileChange) -> FileOperation:
        if file.changes_nothing:
            return UnchangedFile(self._disk, file)
        if file.before is None:
            return CreateFile(self._disk, file)
        if file.after is None:
            return RemoveFile(self._disk, file)
        return ReplaceFile(self._disk, file)

    def _step(self, job: FileOperation, step: Callable[[], None]) -> None:
        shown = job.file.display_path or self._show(job.path)
        try:
            step()
        except StalePreview as error:
            raise StalePreview(shown) from error
        except ToolError as error:
            raise ChangeFailed(f"{shown} {error}") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise ChangeFailed(f"Cannot write {shown}: {reason}.") from error

    def _roll_back(self, jobs: Sequence[FileOperation], error: BaseException) -> None:
        """Undo what was done, newest first; raise if a file could not be taken back."""
        stuck = [self._show(job.path) for job in reversed(jobs) if not _taken_back(job)]
        if stuck:
            names = ", ".join(stuck)
            raise ToolError(f"{_reason(error)} Could not be taken back: {names}.") from error


def _folders(files: Sequence[FileChange]) -> Iterator[str]:
    """Yield the folders in which names change: also those that are made, or go with a file."""
    for file in files:
        for path in file.paths:
            folder, removed = os.path.dirname(path), file.folders - 1
            yield folder
            while folder != "/" and (removed > 0 or not os.path.lexists(folder)):
                folder, removed = os.path.dirname(folder), removed - 1
                yield folder


def _reason(error: BaseException) -> str:
    """Return why a change failed, without what became of the files."""
    if isinstance(error, StalePreview):
        return f"{error.path} changed since the preview."
    return error.reason if isinstance(error, ChangeFailed) else str(error)


def _taken_back(job: FileOperation) -> bool:
    try:
        job.roll_back()
    except (OSError, ToolError):
        return False
    return True
