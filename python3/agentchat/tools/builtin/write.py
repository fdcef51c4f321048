"""Create a file, or replace all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import (
    Access,
    Capability,
    DryRunResult,
    Metadata,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.tools.files import apply_change, cannot_read, read_for_change, refuse_locked
from agentchat.tools.format import argument_text
from agentchat.tools.schema import PydanticArguments, ToolArguments


class WriteArguments(ToolArguments):
    """What ``write`` takes."""

    path: str = Field(description="Path of the file, relative to the workspace or absolute")
    content: str = Field(description="The whole content of the file")


async def dry_run(arguments: WriteArguments, context: ToolContext) -> DryRunResult:
    """Return the change; raises ToolError if the path cannot be a file."""
    target = await context.workspace.locate(arguments.path)
    try:
        kind = await context.workspace.kind(target.path)
    except OSError as error:
        raise cannot_read(target, error) from error
    if kind not in ("file", None):
        what = "a directory" if kind == "directory" else "a device, socket or pipe"
        raise ToolError(f"Path is {what}, not a file: {target.display_path}. Nothing was changed.")
    refuse_locked(target)
    before = await read_for_change(target, context) if kind else None
    after, anchor = encoded(arguments.content), target.anchor if before is None else None
    change = FileChange(target.path, before, after, target.display_path, anchor=anchor)
    return DryRunResult(ChangeSet((change,)))


def encoded(text: str) -> bytes:
    """Return the bytes of a text; raises ToolError for what is no text."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError("content holds lone surrogates. Nothing was changed.") from error


async def run(arguments: WriteArguments, context: ToolContext) -> ToolOutput:
    """Write the file as it was shown, or as the arguments say if nothing was."""
    preview = context.preview or await dry_run(arguments, context)
    change = preview.change
    if change is None:
        raise ToolError(f"{arguments.path} has no change to make. Nothing was changed.")
    notes = await apply_change(change, context)
    file = change.files[0]
    size = len(file.after or b"")
    said = f"{'Created' if file.before is None else 'Wrote'} {file.name} ({size} bytes)."
    return ToolOutput(
        "\n".join([preview.headline or said, *notes]), details={"path": file.path, "bytes": size}
    )


def touches(arguments: WriteArguments) -> Access:
    """Return what a call writes."""
    return Access(writes=(arguments.path,))


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``write src/a.py``."""
    return f"write {argument_text(given.get('path'))}"


TOOL = Tool(
    name="write",
    description=(
        "Create a file, with the directories it needs, or replace the whole content of one that "
        "exists. To change part of a file use edit."
    ),
    arguments=PydanticArguments(WriteArguments),
    steps=(run,),
    metadata=Metadata(
        aliases=("create_file",),
        search_hint="create or overwrite a file",
        permission_class="write",
        audit_operation="write",
    ),
    capability=Capability(dry_run=True, reversible=True),
    touches=touches,
    dry_run=dry_run,
    render_call=render_call,
    snippet="Create or overwrite files",
    guidelines=("Use write for new files and complete rewrites only.",),
)
