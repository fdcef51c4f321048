"""What the user keeps of a change, hunk by hunk, and what the model is told of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentchat.core.diff.changeset import (
    ChangeSet,
    FileChange,
    Hunk,
    ReplacedLines,
    hunks,
    keep_hunks,
    rebase,
    split_hunks,
)
from agentchat.core.diff.text_file import encode
from agentchat.core.errors import StalePreview
from agentchat.core.tools.tool import DryRunResult

_EDITED_LINES = 60
"""Lines of the user's own changes that the model is told; the rest it can read."""


@dataclass(frozen=True, slots=True)
class HunkDecision:
    """What the user says of one hunk of the file ``path``; ``index`` counts from 0.

    ``part`` is which part of it, from 0, if the user has split it.
    """

    path: str
    index: int
    keep: bool = False
    comment: str = ""
    part: int | None = None


@dataclass(frozen=True, slots=True)
class ProposedText:
    """The text that the user would have a file get instead of the proposed one."""

    path: str
    text: str


def change_hash(change: ChangeSet) -> str:
    """Return a hash of exactly this change, for telling whether it is still the one shown."""
    said = "\0".join(f"{f.origin}\0{f.path}\0{f.before_hash}\0{f.after_hash}" for f in change.files)
    return hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()


def changed_lines(hunk: Hunk) -> tuple[int, int]:
    """Return the first and last line that a hunk changes, 1-based, in the text before.

    Of a hunk that only adds: the lines around the new ones, or in a new file the new ones.
    """
    removed = [line.old for line in hunk.lines if line.kind == "-" and line.old is not None]
    if removed:
        return removed[0], removed[-1]
    changed = [at for at, line in enumerate(hunk.lines) if line.kind == "+"]
    if not changed:
        return 1, 1
    around = hunk.lines[max(changed[0] - 1, 0)], hunk.lines[min(changed[-1] + 1, _last(hunk))]
    old = [line.old for line in around if line.old is not None]
    new = [line.new for line in hunk.lines if line.new is not None]
    numbers = old or new
    return numbers[0], numbers[-1]


def _last(hunk: Hunk) -> int:
    return len(hunk.lines) - 1


def hunk_keys(file: FileChange) -> list[str]:
    """Return a name for each hunk that it has in every diff of the file, wherever it moves."""
    seen: dict[str, int] = {}
    names = []
    for hunk in hunks(file):
        said = "".join(f"{line.kind}{line.text}{line.end}" for line in hunk.lines)
        said = said or f"{file.before_hash} {file.after_hash}"
        name = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        seen[name] = seen.get(name, 0) + 1
        names.append(f"{name}.{seen[name]}")
    return names


def replace_proposed_texts(change: ChangeSet, replaced: Iterable[ProposedText]) -> ChangeSet:
    """Return the change with the user's text in place of the proposed one."""
    texts = {one.path: encode(one.text) for one in replaced}
    return ChangeSet(
        tuple(replace(file, after=texts.get(file.path, file.after)) for file in change.files)
    )


def rebase_change(change: ChangeSet, now: Mapping[str, bytes | None]) -> ChangeSet:
    """Return the change on top of what its files are now; the same one if none changed.

    Args:
        now: the bytes of every file of the change by its origin, ``None`` for no file.

    Raises:
        StalePreview: a file changed in the very place.
    """
    files = []
    for file in change.files:
        moved = rebase(file, now[file.origin])
        if moved is None:
            raise StalePreview(file.name)
        files.append(moved)
    return change if tuple(files) == change.files else ChangeSet(tuple(files))


def apply_decisions(
    preview: DryRunResult, decisions: Sequence[HunkDecision], proposed: ChangeSet | None = None
) -> DryRunResult | None:
    """Return the preview with only what the user keeps; ``None`` if they keep nothing.

    ``proposed`` is the change before the user edited its text, if they did. The headline says
    what is not as it was proposed.
    """
    change = preview.change
    if change is None or not (decisions or proposed):
        return preview
    change, decisions = _split_as_decided(change, decisions)
    left = [_without_rejected(file, decisions) for file in change.files]
    if all(file.changes_nothing for file in left):
        return None
    made = ChangeSet(tuple(file for file in left if not file.changes_nothing))
    edited = _user_edits(proposed, change)
    said = [
        *_count_applied(change, decisions, {one.path for one in edited}),
        *_describe_edits(edited),
    ]
    places = tuple(place for place in preview.places if _is_made(place, change, decisions))
    return replace(preview, change=made, headline="\n".join(said), places=places)


def kept_extent(whole: ChangeSet | None, kept: ChangeSet | None) -> str:
    """Return how much of a change is kept, like ``1 of 3 hunks in 1 file``; empty if all is."""
    if whole is None or kept is None or whole == kept:
        return ""
    total = sum(len(hunks(file)) for file in whole.files)
    number = sum(len(hunks(file)) for file in kept.files)
    if number >= total:
        return ""
    files = len(kept.files)
    return f"{number} of {total} hunks in {files} {'file' if files == 1 else 'files'}"


def _is_made(place: ReplacedLines, change: ChangeSet, decisions: Sequence[HunkDecision]) -> bool:
    """Whether a replacement is in a hunk that is kept."""
    rejected = {one.index for one in decisions if one.path == place.path and not one.keep}
    kept = (
        hunk
        for file in change.files
        if place.path == file.path
        for hunk in hunks(file)
        if hunk.index not in rejected
    )
    return any(
        place.first <= last and first <= place.last for first, last in map(changed_lines, kept)
    )


def rejection_reason(
    reason: str, preview: DryRunResult | None, decisions: Sequence[HunkDecision]
) -> str:
    """Return the reason of a *no* together with what the user said of single hunks."""
    said = [reason] if reason else []
    files, decisions = _split_files(preview, decisions)
    for file in files:
        commented = [(h, one) for h, one in _decided_hunks(file, decisions) if one.comment]
        said += [f"{file.name} {_describe_hunk(hunk, one)}" for hunk, one in commented]
    return "; ".join(said)


def decision_note(preview: DryRunResult | None, decisions: Sequence[HunkDecision]) -> str:
    """Return what the user kept and said, for the journal."""
    files, decisions = _split_files(preview, decisions)
    decided = [(file, list(_decided_hunks(file, decisions))) for file in files]
    return " ".join(_file_summary(file, some, "Kept") for file, some in decided if some)


def _split_files(
    preview: DryRunResult | None, decisions: Sequence[HunkDecision]
) -> tuple[tuple[FileChange, ...], Sequence[HunkDecision]]:
    if preview is None or preview.change is None:
        return (), decisions
    change, decisions = _split_as_decided(preview.change, decisions)
    return change.files, decisions


def _split_as_decided(
    change: ChangeSet, decisions: Sequence[HunkDecision]
) -> tuple[ChangeSet, Sequence[HunkDecision]]:
    """Return the change split as the user did it, and the decisions about its hunks now."""
    if all(one.part is None for one in decisions):
        return change, decisions
    files: list[FileChange] = []
    counted: list[HunkDecision] = []
    for file in change.files:
        mine = [one for one in decisions if one.path == file.path]
        split = {one.index for one in mine if one.part is not None}
        files.append(split_hunks(file, split))
        starts = _first_indexes(file, split)
        counted += (
            replace(one, index=starts[one.index] + (one.part or 0), part=None)
            for one in mine
            if one.index in starts
        )
    return ChangeSet(tuple(files)), counted


def _first_indexes(file: FileChange, split: Collection[int]) -> dict[int, int]:
    """Return for each hunk the index that it, or its first part, has once some are split."""
    starts: dict[int, int] = {}
    number = 0
    for hunk in hunks(file):
        starts[hunk.index] = number
        number += len(hunk.splits) + 1 if hunk.index in split else 1
    return starts


def _without_rejected(file: FileChange, decisions: Sequence[HunkDecision]) -> FileChange:
    rejected = {hunk.index for hunk, one in _decided_hunks(file, decisions) if not one.keep}
    if not rejected:
        return file
    return keep_hunks(file, {hunk.index for hunk in hunks(file)} - rejected)


def _decided_hunks(
    file: FileChange, decisions: Sequence[HunkDecision]
) -> Iterator[tuple[Hunk, HunkDecision]]:
    """Yield the hunks of a file that the user said something of, in order."""
    mine = {one.index: one for one in decisions if one.path == file.path}
    return ((hunk, mine[hunk.index]) for hunk in hunks(file) if hunk.index in mine)


def _count_applied(
    change: ChangeSet, decisions: Sequence[HunkDecision], edited: Collection[str]
) -> Iterator[str]:
    """Yield a line for each file the user said something of, and one for the others."""
    others = 0
    for file in change.files:
        decided = list(_decided_hunks(file, decisions))
        if decided or file.path in edited:
            yield _file_summary(file, decided)
        else:
            others += 1
    if others and others < len(change.files):
        yield f"Applied all hunks in {others} other {'file' if others == 1 else 'files'}."


def _file_summary(
    file: FileChange, decided: Sequence[tuple[Hunk, HunkDecision]], verb: str = "Applied"
) -> str:
    total = len(hunks(file))
    rejected = [_describe_hunk(hunk, one) for hunk, one in decided if not one.keep]
    remarks = [_describe_hunk(hunk, one) for hunk, one in decided if one.keep and one.comment]
    line = f"{verb} {total - len(rejected)} of {total} hunks in {file.name}."
    if rejected:
        line += f" Rejected: {'; '.join(rejected)}"
    if remarks:
        line += f"{'.' if rejected else ''} Comment on {'; '.join(remarks)}"
    return line


def _describe_hunk(hunk: Hunk, decision: HunkDecision) -> str:
    first, last = changed_lines(hunk)
    comment = " ".join(decision.comment.split())
    return f"hunk {hunk.index + 1} (lines {first}-{last}){': ' if comment else ''}{comment}"


def _user_edits(proposed: ChangeSet | None, change: ChangeSet) -> list[FileChange]:
    """Return what the user made of the proposed text, file by file."""
    before = {file.path: file.after for file in (proposed.files if proposed is not None else ())}
    return [
        replace(file, before=before[file.path])
        for file in change.files
        if file.path in before and before[file.path] != file.after
    ]


def _describe_edits(edited: Iterable[FileChange]) -> Iterator[str]:
    for file in edited:
        yield f"The user edited the proposed text of {file.name}:"
        yield from _diff(file)


def _diff(file: FileChange) -> list[str]:
    lines = []
    for hunk in hunks(file):
        lines += [hunk.header, *(line.kind + line.text for line in hunk.lines)]
    if len(lines) > _EDITED_LINES:
        lines[_EDITED_LINES:] = [f"[{len(lines) - _EDITED_LINES} more lines; read the file]"]
    return lines
