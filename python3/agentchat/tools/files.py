"""What tools do with files: locate, read and change them."""

from __future__ import annotations

from typing import Any

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.diff.text_file import LARGEST_EDIT
from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import Access, DryRunResult, ToolContext
from agentchat.core.workspace import AppliedFile, BufferState, FileTarget


def reads_path(arguments: Any) -> Access:
    """Return what a call with a ``path`` reads; without one, the workspace."""
    return Access(reads=(arguments.path or ".",))


def writes_path(arguments: Any) -> Access:
    """Return what a call with a ``path`` writes."""
    return Access(writes=(arguments.path,))


async def locate_existing(path: str, context: ToolContext) -> tuple[FileTarget, str]:
    """Return the target and its kind (``file``, ``directory``, ``other``).

    Raises:
        ToolError: the path does not exist, or is not valid.
    """
    target = await context.workspace.locate(path)
    try:
        kind = await context.workspace.kind(target.path)
    except OSError as error:
        raise read_error(target, error) from error
    if kind is None:
        raise ToolError(f"Path not found: {target.display_path}")
    return target, kind


async def locate_file(path: str, context: ToolContext) -> FileTarget:
    """Return the target; raises ToolError unless it is a file."""
    target, kind = await locate_existing(path, context)
    if kind == "directory":
        raise ToolError(f"Path is a directory, not a file: {target.display_path}")
    if kind != "file":
        raise ToolError(f"Path is a device, socket or pipe, not a file: {target.display_path}")
    return target


async def locate_directory(path: str, context: ToolContext) -> FileTarget:
    """Return the target; raises ToolError unless it is a directory."""
    target, kind = await locate_existing(path, context)
    if kind != "directory":
        raise ToolError(f"Path is not a directory: {target.display_path}")
    return target


async def read_for_change(target: FileTarget, context: ToolContext) -> bytes:
    """Return the bytes of a file before a change; raises ToolError, also if it is too large."""
    try:
        data = await context.workspace.read(target.path, LARGEST_EDIT + 1)
    except FileNotFoundError as error:
        raise ToolError(f"Path not found: {target.display_path}") from error
    except OSError as error:
        raise read_error(target, error) from error
    if len(data) > LARGEST_EDIT:
        size = LARGEST_EDIT // (1024 * 1024)
        raise ToolError(
            f"{target.display_path} is larger than {size} MiB, too large to change here; "
            "use bash. Nothing was changed."
        )
    return data


def refuse_locked(target: FileTarget) -> None:
    """Raise ToolError if the file is open in a buffer that cannot be changed."""
    if target.loaded is BufferState.LOCKED:
        raise ToolError(
            f"The buffer of {target.display_path} is 'nomodifiable'. Nothing was changed."
        )


def read_error(target: FileTarget, error: OSError) -> ToolError:
    """Return the error for a file that the system does not let us read."""
    return ToolError(f"Cannot read {target.display_path}: {error.strerror or error}.")


async def apply_change(change: ChangeSet | None, context: ToolContext) -> list[str]:
    """Make the change; return a line for each file that is not as the model expects.

    Raises StalePreview or ToolError; then nothing was changed.
    """
    if change is None:
        raise ToolError("There is no change to make. Nothing was changed.")
    applied = await context.workspace.apply(change)
    return [note for file in applied for note in apply_notes(file)]


async def apply_file_change(
    preview: DryRunResult, context: ToolContext
) -> tuple[FileChange, list[str]]:
    """Make the change of one file, as ``apply_change`` does; return it with the notes."""
    notes = await apply_change(preview.change, context)
    assert preview.change is not None
    return preview.change.files[0], notes


def apply_notes(applied: AppliedFile) -> list[str]:
    """Return what the model must know about one file."""
    notes = []
    if not applied.saved:
        notes.append(
            "Not saved: the file is open with the user's unsaved changes, so the change is in "
            "the editor only."
        )
    if applied.reformatted:
        ranges = ", ".join(_range(first, last) for first, last in applied.reformatted)
        notes.append(f"Saving changed {ranges} as well (a formatter or autocommand).")
    return notes


def _range(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"
