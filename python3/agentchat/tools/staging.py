"""With ``tools.edits = "stage"`` the tools that change files stage a preview instead.

The staged calls of a reply make one preview: each is computed on top of the earlier ones, and a
file that one deletes and another creates is a rename.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.diff.changeset import (
    ChangeSet,
    FileChange,
    ReplacedLines,
    combine,
    count_lines,
    lines_before,
)
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.tools.tool import (
    Access,
    DryRunResult,
    Extra,
    StagedPreview,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.core.workspace import FileKind, Workspace, WrappedWorkspace
from agentchat.tools.files import apply_change
from agentchat.tools.format import count_summary

MIN_SIMILARITY = 0.5
"""The share of equal lines from which on a file counts as renamed, as in git."""


def compose(first: ChangeSet, second: ChangeSet) -> ChangeSet:
    """Return two consecutive changes as one, with renames.

    Raises ValueError if the second does not begin where the first ends.
    """
    parts = {file.path: file for file in first.parts}
    for file in second.parts:
        earlier = parts.get(file.path)
        parts[file.path] = combine(earlier, file) if earlier is not None else file
    changed = [f for f in parts.values() if f.before is not None or f.after is not None]
    return with_renames(changed)


def with_renames(files: Iterable[FileChange]) -> ChangeSet:
    """Return the change with a deleted and a similar created file as one renamed file."""
    files = list(files)
    deleted = [file for file in files if file.letter == "D"]
    for new in [file for file in files if file.letter == "A"]:
        scores = [(_similarity(old, new), old) for old in deleted]
        score, old = max(scores, key=lambda pair: pair[0], default=(0.0, new))
        if score >= MIN_SIMILARITY:
            deleted.remove(old)
            files.remove(old)
            files[files.index(new)] = _rename(old, new)
    return ChangeSet(tuple(files))


def _rename(old: FileChange, new: FileChange) -> FileChange:
    return replace(
        new,
        before=old.before,
        display_path=f"{old.name} → {new.name}",
        old_path=old.path,
        mode=old.mode,
    )


def _similarity(old: FileChange, new: FileChange) -> float:
    """Return the share of the longer text that both have, from 0 to 1."""
    if old.before == new.after:
        return 1.0 if old.before else 0.0
    both = replace(new, before=old.before)
    if both.is_binary:
        return 0.0
    added, removed = count_lines(both)
    lines = [len((side or b"").splitlines()) for side in (old.before, new.after)]
    return 1 - max(added, removed) / max(*lines, 1)


STAGES = (
    "Only stages a preview, one for all such calls of a reply; resolve applies or discards it. A "
    "later call works on what the earlier ones staged; other tools see the unchanged files."
)
_WOULD = {"A": "create", "D": "delete", "M": "change", "R": "rename"}
_DONE = {"A": "created", "M": "rewritten", "D": "deleted", "R": "renamed"}


def make_staging(tool: Tool) -> Tool:
    """Return a tool whose calls stage the change of its dry run in one preview."""
    compute = tool.dry_run
    if compute is None:
        raise ValueError(f"{tool.name} has no dry run")

    async def dry_run(arguments: Any, context: ToolContext) -> DryRunResult:
        staged = context.open_preview.preview.change if context.open_preview else None
        files = StagedFiles(context.workspace, staged or ChangeSet(()))
        return await compute(arguments, replace(context, workspace=files))

    async def run(arguments: Any, context: ToolContext) -> ToolOutput:
        preview = context.preview or await dry_run(arguments, context)
        return stage_call(tool.name, preview, context)

    def touches(arguments: Any) -> Access:
        # Applying the preview asks about what it writes.
        return Access(reads=tool.touches(arguments).writes)

    return replace(
        tool,
        description=f"{tool.description} {STAGES}",
        steps=(run,),
        touches=touches,
        dry_run=dry_run,
        asks=False,
    )


class StagedFiles(WrappedWorkspace):
    """A workspace as a change would leave it."""

    def __init__(self, inner: Workspace, change: ChangeSet) -> None:
        super().__init__(inner)
        self._files = {part.path: part.after for part in change.parts}

    async def kind(self, path: str) -> FileKind | None:
        """Return ``file``, ``directory``, ``other`` or ``None`` (missing)."""
        if path not in self._files:
            return await super().kind(path)
        return None if self._files[path] is None else "file"

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return len(await self.read(path)) if path in self._files else await super().size(path)

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file, at most ``limit`` from ``start``; raises OSError."""
        if path not in self._files:
            return await super().read(path, limit, start)
        data = self._files[path]
        if data is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        return data[start : len(data) if limit is None else start + limit]


def stage_call(name: str, preview: DryRunResult, context: ToolContext) -> ToolOutput:
    """Stage a change together with those of the earlier calls, and describe it."""
    change, earlier = preview.change, context.open_preview
    if change is None:
        raise ToolError("There is no change to make. Nothing was changed.")
    names = (*(earlier.collects if earlier is not None else ()), name)
    if earlier is None:
        whole = replace(preview, impact=_replacements(preview))
    else:
        whole = _join(earlier.preview, preview)
    staged = _staged_change(whole, tuple(dict.fromkeys(names)), context)
    context.stage(staged)
    lines = [preview.headline] if preview.headline else [_would_line(f) for f in change.files]
    lines += preview.notes
    if earlier is not None:
        lines.append(f"The preview is now {staged.label}.")
    return ToolOutput("\n".join(lines), details={"files": list(change.paths)}, change=change)


def _would_line(file: FileChange) -> str:
    added, removed = count_lines(file)
    return f"It would {_WOULD[file.letter]} {file.name}: +{added} -{removed} lines."


def _join(earlier: DryRunResult, preview: DryRunResult) -> DryRunResult:
    """Return two previews as one; raises StalePreview if the second does not follow the first."""
    first, second = earlier.change or ChangeSet(()), preview.change or ChangeSet(())
    try:
        change = compose(first, second)
    except ValueError as error:
        raise StalePreview(second.files[0].name) from error
    impact = dict(earlier.impact)
    for path, number in _replacements(preview).items():
        impact[path] = impact.get(path, 0) + number
    before = {file.path: file for file in first.files}
    places = (_original_place(place, before.get(place.path)) for place in preview.places)
    return DryRunResult(
        change,
        notes=(*earlier.notes, *preview.notes),
        impact=impact,
        places=(*earlier.places, *places),
    )


def _original_place(place: ReplacedLines, earlier: FileChange | None) -> ReplacedLines:
    """Return a place in the text before an earlier change."""
    if earlier is None:
        return place
    lines = lines_before(earlier, place.first, place.last)
    return ReplacedLines(place.path, *lines)


def _replacements(preview: DryRunResult) -> dict[str, int]:
    """Return the number of replacements by path."""
    number = int(preview.impact.get("replacements", 0))
    return {file.path: number for file in (preview.change.files if preview.change else ())}


def _staged_change(
    whole: DryRunResult, names: tuple[str, ...], context: ToolContext
) -> StagedPreview:
    async def make(preview: DryRunResult) -> ToolOutput:
        change = preview.change or ChangeSet(())
        notes = await apply_change(change, context)
        headline = preview.headline or f"Applied {change_summary(change.files, whole.impact)}."
        places = [place for place in preview.places if place.path in change.paths]
        number = len(places) or sum(whole.impact.get(path, 0) for path in change.paths)
        details = {"replacements": number, "files": list(change.paths)}
        return ToolOutput("\n".join([headline, *notes]), details=details)

    async def apply(reason: str, extra: Extra) -> ToolOutput:
        return await make(whole)

    files = whole.change.files if whole.change is not None else ()
    return StagedPreview(
        label=f"Edit: {change_summary(files, whole.impact)}",
        source=names[0],
        apply=apply,
        preview=whole,
        make=make,
        collects=names,
    )


def change_summary(files: Iterable[FileChange], replaced: Mapping[str, int]) -> str:
    """Return the extent of a change, like ``5 replacements in 3 files, 1 file created``.

    ``replaced`` has the number of replacements by path.
    """
    files = list(files)
    edited = {file.path for file in files if file.letter == "M" and replaced.get(file.path)}
    number = count_summary(sum(replaced[path] for path in edited), "replacement")
    parts = [f"{number} in {count_summary(len(edited), 'file')}"] if edited else []
    for letter, verb in _DONE.items():
        count = sum(file.letter == letter and file.path not in edited for file in files)
        parts += [f"{count_summary(count, 'file')} {verb}"] if count else []
    return ", ".join(parts) or "no changes"
