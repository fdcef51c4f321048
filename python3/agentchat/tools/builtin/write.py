"""Create a file, or replace its whole content."""

from __future__ import annotations

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
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import (
    apply_file_change,
    read_error,
    read_for_change,
    refuse_locked,
    writes_path,
)
from agentchat.tools.format import argument_text


@frozen
class WriteArguments(ToolArguments):
    """What ``write`` takes."""

    path: Annotated[str, "Path of the file, relative to the workspace or absolute"]
    content: Annotated[str, "The whole content of the file"]


async def dry_run(arguments: WriteArguments, context: ToolContext) -> DryRunResult:
    """Return the change; raises ToolError if the path cannot be a file."""
    target = await context.workspace.locate(arguments.path)
    try:
        kind = await context.workspace.kind(target.path)
    except OSError as error:
        raise read_error(target, error) from error
    if kind not in ("file", None):
        noun = "a directory" if kind == "directory" else "a device, socket or pipe"
        raise ToolError(f"Path is {noun}, not a file: {target.display_path}. Nothing was changed.")
    refuse_locked(target)
    before = await read_for_change(target, context) if kind else None
    after, anchor = encode_content(arguments.content), target.anchor if before is None else None
    change = FileChange(target.path, before, after, target.display_path, anchor=anchor)
    return DryRunResult(ChangeSet((change,)))


def encode_content(text: str) -> bytes:
    """Return the bytes of a text; raises ToolError if it is not valid Unicode."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError("content contains lone surrogates. Nothing was changed.") from error


async def run(arguments: WriteArguments, context: ToolContext) -> ToolOutput:
    """Make the change that the user approved, or that of the arguments."""
    preview = context.preview or await dry_run(arguments, context)
    file, notes = await apply_file_change(preview, context)
    size = len(file.after or b"")
    verb = "Created" if file.before is None else "Wrote"
    headline = preview.headline or f"{verb} {file.name} ({size} bytes)."
    return ToolOutput("\n".join([headline, *notes]), details={"path": file.path, "bytes": size})


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``write src/a.py``."""
    return f"write {argument_text(given.get('path'))}"


TOOL = Tool(
    name="write",
    description=(
        "Create a file, with the directories it needs, or replace the whole content of one that "
        "exists. To change part of a file use edit."
    ),
    arguments=ValueArguments(WriteArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        aliases=("create_file",),
        search_hint="create or overwrite a file",
        permission_class="write",
        audit_operation="write",
    ),
    capability=Capability(dry_run=True, reversible=True),
    touches=writes_path,
    dry_run=dry_run,
    render_call=render_call,
    snippet="Create or overwrite files",
    guidelines=("Use write for new files and complete rewrites only.",),
)
