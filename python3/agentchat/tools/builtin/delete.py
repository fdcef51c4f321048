"""Delete a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import (
    Capability,
    DryRunResult,
    Metadata,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.core.workspace import BufferState, FileTarget
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import apply_file_change, locate_file, read_for_change, writes_path
from agentchat.tools.format import argument_text


@frozen
class DeleteArguments(ToolArguments):
    """What ``delete`` takes."""

    path: Annotated[str, "Path of the file, relative to the workspace or absolute"]


async def dry_run(arguments: DeleteArguments, context: ToolContext) -> DryRunResult:
    """Return the change; raises ToolError if the path is not a file."""
    target = await locate_file(arguments.path, context)
    await _refuse_link(arguments.path, target, context)
    if target.loaded is BufferState.UNSAVED:
        raise ToolError(
            f"{target.display_path} is open with the user's unsaved changes. Nothing was changed."
        )
    change = FileChange(
        target.path, await read_for_change(target, context), None, target.display_path
    )
    return DryRunResult(ChangeSet((change,)))


async def _refuse_link(path: str, target: FileTarget, context: ToolContext) -> None:
    """Raise ToolError if the path's last name is a link: another file would be deleted."""
    folder, name = os.path.split(path.rstrip("/"))
    if name in ("", ".", ".."):
        return
    parent = await context.workspace.locate(folder or ".")
    names = (name, name.removeprefix("@"))
    # Some file systems fold case.
    if target.path.lower() not in {os.path.join(parent.path, name).lower() for name in names}:
        raise ToolError(
            f"{path} is a link to {target.display_path}. Nothing was changed. "
            "Name the file itself, or remove the link with bash."
        )


async def run(arguments: DeleteArguments, context: ToolContext) -> ToolOutput:
    """Make the change that the user approved, or that of the arguments."""
    preview = context.preview or await dry_run(arguments, context)
    file, notes = await apply_file_change(preview, context)
    headline = preview.headline or f"Deleted {file.name}."
    return ToolOutput("\n".join([headline, *notes]), details={"path": file.path})


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``delete src/a.py``."""
    return f"delete {argument_text(given.get('path'))}"


TOOL = Tool(
    name="delete",
    description="Delete a file. Directories are not deleted.",
    arguments=ValueArguments(DeleteArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        destructive=True,
        aliases=("delete_file",),
        search_hint="remove a file",
        permission_class="write",
        audit_operation="delete",
    ),
    capability=Capability(dry_run=True, reversible=True),
    touches=writes_path,
    dry_run=dry_run,
    render_call=render_call,
    snippet="Delete files",
)
