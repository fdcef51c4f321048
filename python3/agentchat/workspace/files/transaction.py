"""Changes on disk: all files or none, and each file has its old or its new bytes at any moment.

A changed file is written beside its target, made durable, given the target's owner, mode and
attributes, and renamed over the target after a last check of its content. Where that would lose
something (a second hard link, an owner we cannot set, a folder we cannot write in, a file mounted
by itself) the file is written in place; the journal has its old bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from agentchat.core.diff.aspects import FOLDER, entry_of, split_aspect
from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.workspace.files.aspects import aspect_operation
from agentchat.workspace.files.disk import FOLDER_LOCKS, Disk, FolderHandles
from agentchat.workspace.files.operation import FileOperation, UnchangedFile
from agentchat.workspace.files.operations import CreateFile, RemoveFile, ReplaceFile
from agentchat.workspace.files.steps import order_steps


def _never() -> bool:
    return False


class TransactionAborted(Exception):
    """The change was cancelled before its first file was touched."""


class ChangeFailed(ToolError):
    """A change that could not be made; ``reason`` is the message without its last sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} Nothing was changed.")
        self.reason = reason


class FileTransaction:
    """Makes changes on one disk; ``show`` returns the form of an absolute path in messages."""

    def __init__(self, disk: Disk, show: Callable[[str], str]) -> None:
        self._disk = disk
        self._show = show

    def apply(self, files: Sequence[FileChange], is_cancelled: Callable[[], bool] = _never) -> None:
        """Make the change.

        Raises:
            StalePreview: a file does not have its ``before`` bytes.
            ToolError: a file cannot be written; the message has its path and the reason.
            TransactionAborted: ``is_cancelled()`` was true before the first file was touched.
            In all three cases no file is changed, unless the message says otherwise.
        """
        done: list[list[FileChange]] = []
        with FOLDER_LOCKS.hold(_folders(files)):
            try:
                for step in order_steps(files):
                    self._apply_step(step, is_cancelled)
                    done.append(step)
                    is_cancelled = _never
            except BaseException as error:
                self._take_back(done, error)
                raise

    def _apply_step(self, files: Sequence[FileChange], is_cancelled: Callable[[], bool]) -> None:
        operations: list[FileOperation] = []
        handles = FolderHandles()
        disk = self._disk.for_files(len(files))
        removed = {entry_of(file.path) for file in files if file.after is None}
        try:
            for file in files:
                for operation in self._operations(disk, file, handles, removed):
                    operations.append(operation)
                    self._run_step(operation, operation.prepare)
            self._flush(disk, files)
            if is_cancelled():
                raise TransactionAborted
            for operation in operations:
                self._run_step(operation, operation.commit)
            self._flush(disk, files)
        except BaseException as error:
            self._roll_back(operations, error)
            raise
        finally:
            for operation in operations:
                operation.close()
            handles.close()

    def _take_back(self, done: Sequence[Sequence[FileChange]], error: BaseException) -> None:
        """Reverse the steps that were made; raises ToolError if that fails."""
        for step in reversed(done):
            back = [file.reversed() for file in step if not _is_kept_folder(file)]
            try:
                for part in order_steps(back):
                    self._apply_step(part, _never)
            except ToolError as failure:
                names = ", ".join(self._show(file.path) for file in step)
                raise ToolError(
                    f"{failure_reason(error)} Could not be rolled back: {names}."
                ) from failure

    def _flush(self, disk: Disk, files: Sequence[FileChange]) -> None:
        """Make what was written durable; raises ChangeFailed."""
        try:
            if files:  # a workspace is one file system, apart from what is mounted in it
                disk.flush(_existing_folder(files[0].path))
        except OSError as error:
            raise ChangeFailed(f"Cannot write: {error.strerror or error}.") from error

    def _operations(
        self, disk: Disk, file: FileChange, handles: FolderHandles, removed: Collection[str]
    ) -> Iterable[FileOperation]:
        """Return what a change consists of; ``removed`` are the paths that become free."""
        if split_aspect(file.path)[1]:
            return [] if file.changes_nothing else [aspect_operation(disk, file, handles)]
        if not file.old_path:
            return [self._operation(disk, file, handles, replaces=file.path in removed)]
        creation, removal = file.parts
        return [
            CreateFile(disk, creation, handles, like=removal),
            RemoveFile(disk, removal, handles),
        ]

    def _operation(
        self, disk: Disk, file: FileChange, handles: FolderHandles, *, replaces: bool
    ) -> FileOperation:
        if file.changes_nothing:
            return UnchangedFile(disk, file, handles)
        if file.before is None:
            return CreateFile(disk, file, handles, replaces=replaces)
        if file.after is None:
            return RemoveFile(disk, file, handles)
        return ReplaceFile(disk, file, handles)

    def _run_step(self, operation: FileOperation, step: Callable[[], None]) -> None:
        shown = operation.file.display_path or self._show(operation.path)
        try:
            step()
        except StalePreview as error:
            raise StalePreview(shown) from error
        except ToolError as error:
            raise ChangeFailed(f"{shown} {error}") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise ChangeFailed(f"Cannot write {shown}: {reason}.") from error

    def _roll_back(self, operations: Sequence[FileOperation], error: BaseException) -> None:
        """Roll back, newest first; raise ToolError if that fails for a file."""
        failed = [self._show(o.path) for o in reversed(operations) if not _is_rolled_back(o)]
        if failed:
            names = ", ".join(failed)
            raise ToolError(
                f"{failure_reason(error)} Could not be rolled back: {names}."
            ) from error


def _is_kept_folder(file: FileChange) -> bool:
    """Whether a folder was to be deleted and is still there."""
    entry, aspect = split_aspect(file.path)
    return aspect == FOLDER and file.after is None and os.path.isdir(entry)


def _existing_folder(path: str) -> str:
    folder = os.path.dirname(entry_of(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _folders(files: Sequence[FileChange]) -> Iterator[str]:
    """Yield the folders in which names change, also those created or removed with a file."""
    entries = {
        (os.path.dirname(entry_of(path)), file.folders - 1) for file in files for path in file.paths
    }
    for folder, removals in entries:
        yield folder
        while folder != "/" and (removals > 0 or not os.path.lexists(folder)):
            folder, removals = os.path.dirname(folder), removals - 1
            yield folder


def failure_reason(error: BaseException) -> str:
    """Return why a change failed, as a sentence without what became of the files."""
    if isinstance(error, StalePreview):
        return f"{error.path} changed since the preview."
    return error.reason if isinstance(error, ChangeFailed) else str(error)


def _is_rolled_back(operation: FileOperation) -> bool:
    try:
        operation.roll_back()
    except (OSError, ToolError):
        return False
    return True
