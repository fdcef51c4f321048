"""Replace text in a file: each old text must occur exactly once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from agentchat.core.diff.changeset import ChangeSet, FileChange, ReplacedLines
from agentchat.core.diff.text_file import decode, encode
from agentchat.core.edit.match import Edit, EditError, EditOutcome, apply_edits
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import (
    Capability,
    DryRunResult,
    Metadata,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.core.workspace import FileTarget, Zone
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import (
    apply_file_change,
    locate_file,
    read_for_change,
    refuse_locked,
    writes_path,
)
from agentchat.tools.format import argument_text, count_summary

_SPELLINGS = {
    "oldText": "old_text",
    "newText": "new_text",
    "old_string": "old_text",
    "new_string": "new_text",
    "replaceAll": "replace_all",
}
_FIELDS = ("old_text", "new_text", "replace_all")


@frozen
class ReplacementArgument(ToolArguments):
    """One replacement."""

    old_text: Annotated[str, "Literal text that occurs exactly once in the file"]
    new_text: Annotated[str, "Literal text that replaces it; empty removes old_text"]
    replace_all: Annotated[bool, "Replace every occurrence"] = False

    @classmethod
    def normalize(cls, value: Any) -> Any:
        """Return an object with our names of its fields."""
        return normalize_names(value)


@frozen
class EditArguments(ToolArguments):
    """What ``edit`` takes."""

    path: Annotated[str, "Path of the file, relative to the workspace or absolute"]
    edits: Annotated[
        list[ReplacementArgument], "Replacements; all are matched against the file as it is now"
    ]

    @classmethod
    def normalize(cls, value: Any) -> Any:
        """Return the arguments with ``edits`` as a list."""
        return normalize_edits(value)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what the schema cannot say."""
        if not self.edits:
            reason = "edits must contain at least one replacement. Nothing was changed."
            yield "edits", reason


def normalize_names(value: Any) -> Any:
    """Return an object with our names of its fields."""
    if not isinstance(value, Mapping):
        return value
    return {_SPELLINGS.get(key, key): item for key, item in value.items()}


def normalize_edits(value: Any) -> Any:
    """Return the arguments with ``edits`` as a list.

    Models also send ``edits`` as JSON text or as one object, or one replacement at the top level.
    """
    if not isinstance(value, Mapping):
        return value
    arguments = dict(normalize_names(value))
    edits = _parse_edits(arguments.get("edits"))
    top_level = {key: arguments.pop(key) for key in _FIELDS if key in arguments}
    if "old_text" in top_level or "new_text" in top_level:
        edits = [*(edits or []), top_level] if edits is None or isinstance(edits, list) else edits
    else:
        arguments.update(top_level)
    return arguments if edits is None else {**arguments, "edits": edits}


def _parse_edits(edits: Any) -> Any:
    if isinstance(edits, str):
        try:
            edits = json.loads(edits)
        except ValueError:
            return edits
    return [edits] if isinstance(edits, Mapping) else edits


async def dry_run(arguments: EditArguments, context: ToolContext) -> DryRunResult:
    """Return the change; raises ToolError if an edit matches no place, or several."""
    target = await locate_file(arguments.path, context)
    refuse_locked(target)
    before = await read_for_change(target, context)
    edits = [Edit(edit.old_text, edit.new_text, edit.replace_all) for edit in arguments.edits]
    outcome = await asyncio.to_thread(_apply_edits, before, edits, target)
    # Each replacement is decided on its own, except those of one text in many places.
    separate = not any(edit.replace_all for edit in edits)
    splits = tuple(sorted(first - 1 for first, _ in outcome.lines)) if separate else ()
    after = encode(outcome.text)
    change = FileChange(target.path, before, after, target.display_path, splits=splits)
    return DryRunResult(
        ChangeSet((change,)),
        notes=outcome.notes,
        impact={"replacements": outcome.count},
        places=tuple(ReplacedLines(target.path, *lines) for lines in outcome.lines),
    )


def _apply_edits(before: bytes, edits: list[Edit], target: FileTarget) -> EditOutcome:
    """Return the outcome; an error does not quote a file whose reading needs approval."""
    try:
        return apply_edits(decode(before, target.display_path), edits, target.display_path)
    except EditError as error:
        if target.zone in (Zone.SECRET, Zone.OUTSIDE):
            message = str(error).partition(" Closest match")[0]
            raise EditError(message.removesuffix(" Nothing was changed.")) from None
        raise


async def run(arguments: EditArguments, context: ToolContext) -> ToolOutput:
    """Make the change that the user approved, or that of the arguments."""
    preview = context.preview or await dry_run(arguments, context)
    file, notes = await apply_file_change(preview, context)
    count = len(preview.places) or int(preview.impact.get("replacements", len(arguments.edits)))
    headline = preview.headline or f"Edited {file.name}: {count_summary(count, 'replacement')}."
    return ToolOutput(
        "\n".join([headline, *preview.notes, *notes]),
        details={"path": file.path, "replacements": count},
    )


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``edit src/a.py``."""
    return f"edit {argument_text(given.get('path'))}"


TOOL = Tool(
    name="edit",
    description=(
        "Replace text in a file. Each old_text must match exactly one place (or set replace_all); "
        "give enough surrounding text, and no line numbers. All edits of a call are matched "
        "against the file as it is, must not overlap, and are made all or none."
    ),
    arguments=ValueArguments(EditArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        aliases=("insert_edit_into_file",),
        search_hint="change part of a file",
        permission_class="write",
        audit_operation="edit",
    ),
    capability=Capability(dry_run=True, reversible=True),
    touches=writes_path,
    dry_run=dry_run,
    render_call=render_call,
    snippet="Edit parts of a file by exact text",
    guidelines=(
        "Read a file before you edit it, and keep old_text as short as is unique.",
        "Put several changes of one file into one edit call.",
    ),
)
