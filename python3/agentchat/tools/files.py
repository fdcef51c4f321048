"""Files for tools: located by the path of a call, read for a change, changed."""

from __future__ import annotations

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.text_file import LARGEST_EDIT
from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import AppliedFile, BufferState, FileTarget
from agentchat.core.tools.tool import ToolContext


async def locate_existing(path: str, context: ToolContext) -> tuple[FileTarget, str]:
    """Return the target and its kind (``file``, ``directory``, ``other``).

    Raises:
        ToolError: nothing is there, or the path is none.
    """
    target = await context.workspace.locate(path)
    try:
        kind = await context.workspace.kind(target.path)
    except OSError as error:
        raise cannot_read(target, error) from error
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
    """Return all bytes of a file that is to be changed; raises ToolError, also if it is huge."""
    try:
        if await context.workspace.size(target.path) > LARGEST_EDIT:
            size = LARGEST_EDIT // (1024 * 1024)
            raise ToolError(
                f"{target.display_path} is larger than {size} MiB, too large to change here; "
                "use bash. Nothing was changed."
            )
        return await context.workspace.read(target.path)
    except FileNotFoundError as error:
        raise ToolError(f"Path not found: {target.display_path}") from error
    except OSError as error:
        raise cannot_read(target, error) from error


def refuse_locked(target: FileTarget) -> None:
    """Raise ToolError if the file is open in a buffer that cannot be changed."""
    if target.loaded is BufferState.LOCKED:
        raise ToolError(
            f"The buffer of {target.display_path} is 'nomodifiable'. Nothing was changed."
        )


def cannot_read(target: FileTarget, error: OSError) -> ToolError:
    """Return what the model is told when the system refuses to read."""
    return ToolError(f"Cannot read {target.display_path}: {error.strerror or error}.")


async def apply_change(change: ChangeSet, context: ToolContext) -> list[str]:
    """Make the change; return a line for each thing that is not as the model would think.

    Raises Stale or ToolError; then nothing was changed.
    """
    applied = await context.workspace.apply(change)
    return [note for one in applied for note in apply_notes(one)]


def apply_notes(applied: AppliedFile) -> list[str]:
    """Return what the model must know of one file."""
    found = []
    if not applied.saved:
        found.append(
            "Not saved: the file is open with the user's unsaved changes, so the change is in "
            "the editor only."
        )
    if applied.reformatted:
        ranges = ", ".join(_range(first, last) for first, last in applied.reformatted)
        found.append(f"Saving changed {ranges} as well (a formatter or autocommand).")
    return found


def _range(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"
