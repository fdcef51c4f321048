"""A computed change on its way into the files, and what the model must know afterwards."""

from __future__ import annotations

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.tools.ports import Applied
from agentchat.core.tools.tool import ToolContext


async def apply(change: ChangeSet, context: ToolContext) -> list[str]:
    """Make the change; return a line for each thing that is not as the model would think.

    Raises Stale or ToolError; then nothing was changed.
    """
    applied = await context.workspace.apply(change)
    return [note for one in applied for note in notes(one)]


def notes(applied: Applied) -> list[str]:
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
