"""The built-in tools; with ``tools.edits = "stage"`` those that change files stage previews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from agentchat.core.diff.changeset import (
    ChangeSet,
    FileChange,
    ReplacedLines,
    combine,
    count_lines,
    lines_before,
)
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import (
    Access,
    DryRunResult,
    Extra,
    StagedChange,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.tools.astgrep.rewrite import count_summary
from agentchat.tools.builtin import (
    ask,
    ast_edit,
    bash,
    delete,
    diagnostics,
    edit,
    find,
    grep,
    ls,
    read,
    resolve,
    tool_search,
    write,
)
from agentchat.tools.files import apply_change as apply_change

MIN_SIMILARITY = 0.5
"""The share of a text's lines that must stay for its file to count as renamed, as in git."""


def compose(first: ChangeSet, second: ChangeSet) -> ChangeSet:
    """Return both changes as one, renamed files found; the second begins where the first ends.

    Raises ValueError if it does not.
    """
    parts = {file.path: file for file in first.parts}
    for file in second.parts:
        earlier = parts.get(file.path)
        parts[file.path] = combine(earlier, file) if earlier is not None else file
    return with_renames(file for file in parts.values() if _is_there(file))


def _is_there(file: FileChange) -> bool:
    return file.before is not None or file.after is not None


def with_renames(files: Iterable[FileChange]) -> ChangeSet:
    """Return the change with each file that is deleted here and created there as one file."""
    found = list(files)
    gone = [file for file in found if file.letter == "D"]
    for made in [file for file in found if file.letter == "A"]:
        scores = [(_similarity(old, made), old) for old in gone]
        score, old = max(scores, key=lambda pair: pair[0], default=(0.0, made))
        if score >= MIN_SIMILARITY:
            gone.remove(old)
            found.remove(old)
            found[found.index(made)] = _as_rename(old, made)
    return ChangeSet(tuple(found))


def _as_rename(old: FileChange, new: FileChange) -> FileChange:
    shown = f"{old.name} → {new.name}"
    return replace(new, before=old.before, display_path=shown, old_path=old.path, mode=old.mode)


def _similarity(old: FileChange, new: FileChange) -> float:
    """Return how much of the longer text the two share, from 0 to 1."""
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
    "later call works on what the earlier ones staged; other tools see the files as they are."
)
_WOULD = {"A": "create", "D": "delete", "M": "change", "R": "rename"}
_DONE = {"A": "created", "M": "rewritten", "D": "deleted", "R": "renamed"}


def make_staging(tool: Tool) -> Tool:
    """Return a tool whose calls stage what its dry run says, in one preview with their like."""
    compute = tool.dry_run
    if compute is None:
        raise ValueError(f"{tool.name} cannot say what it would do")

    async def dry_run(arguments: Any, context: ToolContext) -> DryRunResult:
        staged = context.open_preview.preview.change if context.open_preview else None
        files = StagedFiles(context.workspace, staged or ChangeSet(()))
        return await compute(arguments, replace(context, workspace=cast("Workspace", files)))

    async def run(arguments: Any, context: ToolContext) -> ToolOutput:
        preview = context.preview or await dry_run(arguments, context)
        return stage_call(tool.name, preview, context)

    def touches(arguments: Any) -> Access:
        # What is written is judged when the preview is applied.
        return Access(reads=tool.touches(arguments).writes)

    about = f"{tool.description} {STAGES}"
    return replace(
        tool, description=about, steps=(run,), touches=touches, dry_run=dry_run, asks=False
    )


class StagedFiles:
    """A workspace as it would be with a change made; what is not named here is its own."""

    def __init__(self, inner: Workspace, change: ChangeSet) -> None:
        self._inner = inner
        self._files = {part.path: part.after for part in change.parts}

    async def kind(self, path: str) -> str | None:
        """Return ``file``, ``directory``, ``other`` or ``None`` (missing)."""
        if path not in self._files:
            return await self._inner.kind(path)
        return None if self._files[path] is None else "file"

    async def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return len(await self.read(path)) if path in self._files else await self._inner.size(path)

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        """Return the bytes of a file, at most ``limit`` from ``start``; raises OSError."""
        if path not in self._files:
            return await self._inner.read(path, limit, start)
        data = self._files[path]
        if data is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        return data[start : len(data) if limit is None else start + limit]

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def stage_call(name: str, preview: DryRunResult, context: ToolContext) -> ToolOutput:
    """Stage a change together with those of the calls before, and say what it is."""
    change, earlier = preview.change, context.open_preview
    if change is None:
        raise ToolError("There is no change to make. Nothing was changed.")
    names = (*(earlier.collects if earlier is not None else ()), name)
    whole = _joined(earlier.preview, preview) if earlier is not None else _first(preview)
    staged = _staged(whole, tuple(dict.fromkeys(names)), context)
    context.stage(staged)
    said = [preview.headline, *preview.notes] if preview.headline else [*_would(change, preview)]
    if earlier is not None:
        said.append(f"The preview is now {staged.label}.")
    return ToolOutput("\n".join(said), details={"files": list(change.paths)})


def _would(change: ChangeSet, preview: DryRunResult) -> Iterable[str]:
    for file in change.files:
        added, removed = count_lines(file)
        yield f"It would {_WOULD[file.letter]} {file.name}: +{added} -{removed} lines."
    yield from preview.notes


def _first(preview: DryRunResult) -> DryRunResult:
    return replace(preview, impact=_replacements(preview))


def _joined(earlier: DryRunResult, preview: DryRunResult) -> DryRunResult:
    """Return both previews as one; raises Stale if the second does not begin at the first."""
    first, second = earlier.change or ChangeSet(()), preview.change or ChangeSet(())
    try:
        change = compose(first, second)
    except ValueError as error:
        raise StalePreview(second.files[0].name) from error
    impact = dict(earlier.impact)
    for path, number in _replacements(preview).items():
        impact[path] = impact.get(path, 0) + number
    before = {file.path: file for file in first.files}
    places = (_in_first(place, before.get(place.path)) for place in preview.places)
    return DryRunResult(
        change,
        notes=(*earlier.notes, *preview.notes),
        impact=impact,
        places=(*earlier.places, *places),
    )


def _in_first(place: ReplacedLines, earlier: FileChange | None) -> ReplacedLines:
    """Return a place in the text that an earlier change began with."""
    if earlier is None:
        return place
    lines = lines_before(earlier, place.first, place.last)
    return ReplacedLines(place.path, *lines)


def _replacements(preview: DryRunResult) -> dict[str, int]:
    """Return the number of replacements by path."""
    number = int(preview.impact.get("replacements", 0))
    return {file.path: number for file in (preview.change.files if preview.change else ())}


def _staged(whole: DryRunResult, names: tuple[str, ...], context: ToolContext) -> StagedChange:
    async def make(preview: DryRunResult) -> ToolOutput:
        change = preview.change or ChangeSet(())
        notes = await apply_change(change, context)
        said = preview.headline or f"Applied {extent(change.files, whole.impact)}."
        made = [place for place in preview.places if place.path in change.paths]
        number = len(made) or sum(whole.impact.get(path, 0) for path in change.paths)
        details = {"replacements": number, "files": list(change.paths)}
        return ToolOutput("\n".join([said, *notes]), details=details)

    async def apply(reason: str, extra: Extra) -> ToolOutput:
        return await make(whole)

    files = whole.change.files if whole.change is not None else ()
    label = f"Edit: {extent(files, whole.impact)}"
    return StagedChange(label, names[0], apply, preview=whole, make=make, collects=names)


def extent(files: Iterable[FileChange], replaced: Mapping[str, int]) -> str:
    """Return how much it is, like ``5 replacements in 3 files, 1 file created``.

    ``replaced`` holds the number of replacements by path.
    """
    all_files = list(files)
    edited = [file.path for file in all_files if file.letter == "M" and replaced.get(file.path)]
    number = sum(replaced[path] for path in edited)
    said = (
        [f"{count_summary(number, 'replacement')} in {count_summary(len(edited), 'file')}"]
        if edited
        else []
    )
    for letter, done in _DONE.items():
        some = [f for f in all_files if f.letter == letter and f.path not in edited]
        said += [f"{count_summary(len(some), 'file')} {done}"] if some else []
    return ", ".join(said) or "no changes"


BUILTINS: tuple[Tool, ...] = (
    read.TOOL,
    grep.TOOL,
    find.TOOL,
    ls.TOOL,
    diagnostics.TOOL,
    edit.TOOL,
    write.TOOL,
    delete.TOOL,
    bash.TOOL,
    ast_edit.TOOL,
    ask.TOOL,
    resolve.TOOL,
    tool_search.TOOL,
)
"""In the order in which they are listed."""

CHANGING = frozenset({edit.TOOL.name, write.TOOL.name, delete.TOOL.name})


def builtin_tools(edits: str = "ask") -> tuple[Tool, ...]:
    """Return the tools; those that change files ``ask`` before each call, or ``stage`` it."""
    if edits != "stage":
        return BUILTINS
    return tuple(make_staging(tool) if tool.name in CHANGING else tool for tool in BUILTINS)
