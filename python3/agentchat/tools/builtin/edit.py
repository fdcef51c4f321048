"""Replace text in a file: each old text must stand in exactly one place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from agentchat.core.diff.changeset import ChangeSet, FileChange, ReplacedLines
from agentchat.core.diff.text_file import decode, encode
from agentchat.core.edit.match import Edit, EditError, EditOutcome, apply_edits
from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import FileTarget, Zone
from agentchat.core.tools.tool import (
    Access,
    Capability,
    DryRunResult,
    Metadata,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.tools.files import apply_change, locate_file, read_for_change, refuse_locked
from agentchat.tools.format import argument_text
from agentchat.tools.schema import PydanticArguments, ToolArguments

_SPELLINGS = {
    "oldText": "old_text",
    "newText": "new_text",
    "old_string": "old_text",
    "new_string": "new_text",
    "replaceAll": "replace_all",
}
_FIELDS = ("old_text", "new_text", "replace_all")


class ReplacementArgument(ToolArguments):
    """One replacement."""

    old_text: str = Field(description="Literal text that stands in exactly one place of the file")
    new_text: str = Field(description="Literal text in its place; empty removes old_text")
    replace_all: bool = Field(False, description="Replace every occurrence instead")

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, value: Any) -> Any:
        return normalize_names(value)


class EditArguments(ToolArguments):
    """What ``edit`` takes."""

    path: str = Field(description="Path of the file, relative to the workspace or absolute")
    edits: list[ReplacementArgument] = Field(
        description="Replacements; all are matched against the file as it is now"
    )

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, value: Any) -> Any:
        return gather_edits(value)

    @field_validator("edits")
    @classmethod
    def _some(cls, value: list[ReplacementArgument]) -> list[ReplacementArgument]:
        if not value:
            raise ValueError("edits must contain at least one replacement. Nothing was changed.")
        return value


def normalize_names(value: Any) -> Any:
    """Return an object with the usual spelling of its fields."""
    if not isinstance(value, Mapping):
        return value
    return {_SPELLINGS.get(key, key): item for key, item in value.items()}


def gather_edits(value: Any) -> Any:
    """Return the arguments with ``edits`` as a list, whichever way the model wrote them.

    ``edits`` may be JSON text, or one object; one replacement may stand at the top level.
    """
    if not isinstance(value, Mapping):
        return value
    given = dict(normalize_names(value))
    edits = _parsed(given.get("edits"))
    alone = {key: given.pop(key) for key in _FIELDS if key in given}
    if "old_text" in alone or "new_text" in alone:
        edits = [*(edits or []), alone] if edits is None or isinstance(edits, list) else edits
    else:
        given.update(alone)
    return given if edits is None else {**given, "edits": edits}


def _parsed(edits: Any) -> Any:
    if isinstance(edits, str):
        try:
            edits = json.loads(edits)
        except ValueError:
            return edits
    return [edits] if isinstance(edits, Mapping) else edits


async def dry_run(arguments: EditArguments, context: ToolContext) -> DryRunResult:
    """Return the change; raises ToolError if an edit fits no place, or several."""
    target = await locate_file(arguments.path, context)
    refuse_locked(target)
    before = await read_for_change(target, context)
    edits = [Edit(one.old_text, one.new_text, one.replace_all) for one in arguments.edits]
    outcome = await asyncio.to_thread(_edited, before, edits, target)
    # Each replacement is decided on its own, except those of one text in many places.
    separate = not any(one.replace_all for one in edits)
    splits = tuple(sorted(first - 1 for first, _ in outcome.lines)) if separate else ()
    after = encode(outcome.text)
    change = FileChange(target.path, before, after, target.shown, splits=splits)
    return DryRunResult(
        ChangeSet((change,)),
        notes=outcome.notes,
        impact={"replacements": outcome.count},
        places=tuple(ReplacedLines(target.path, *lines) for lines in outcome.lines),
    )


def _edited(before: bytes, edits: list[Edit], target: FileTarget) -> EditOutcome:
    """Return the outcome; an error quotes no file that the user was not asked about."""
    try:
        return apply_edits(decode(before, target.shown), edits, target.shown)
    except EditError as error:
        if target.zone in (Zone.SECRET, Zone.OUTSIDE):
            said = str(error).partition(" Closest match")[0].removesuffix(" Nothing was changed.")
            raise EditError(said) from None
        raise


async def run(arguments: EditArguments, context: ToolContext) -> ToolOutput:
    """Make the change that was shown, or what the arguments say if nothing was."""
    preview = context.preview or await dry_run(arguments, context)
    change = preview.change
    if change is None:
        raise ToolError(f"{arguments.path} has no change to make. Nothing was changed.")
    notes = [*preview.notes, *await apply_change(change, context)]
    count = len(preview.places) or int(preview.impact.get("replacements", len(arguments.edits)))
    said = f"{count} replacement" if count == 1 else f"{count} replacements"
    return ToolOutput(
        "\n".join([preview.headline or f"Edited {change.files[0].name}: {said}.", *notes]),
        details={"path": change.files[0].path, "replacements": count},
    )


def touches(arguments: EditArguments) -> Access:
    """Return what a call writes."""
    return Access(writes=(arguments.path,))


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
    arguments=PydanticArguments(EditArguments),
    steps=(run,),
    metadata=Metadata(
        aliases=("insert_edit_into_file",),
        search_hint="change part of a file",
        permission_class="write",
        audit_operation="edit",
    ),
    capability=Capability(dry_run=True, reversible=True, undo_method="journal"),
    touches=touches,
    dry_run=dry_run,
    render_call=render_call,
    snippet="Edit parts of a file by exact text",
    guidelines=(
        "Read a file before you edit it, and keep old_text as short as is unique.",
        "Put several changes of one file into one edit call.",
    ),
)
