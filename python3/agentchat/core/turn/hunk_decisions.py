"""Apply the user's decisions about hunks to a change, and describe them to the model."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet, FileChange, ReplacedLines, rebase
from agentchat.core.diff.hunks import Hunk, hunks, keep_hunks, split_hunks
from agentchat.core.diff.text_file import encode
from agentchat.core.errors import StalePreview
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import DryRunResult

_EDITED_LINES = 60
"""Most lines of the user's own changes in a result; the model can read the rest."""


@frozen
class HunkDecision:
    """The user's decision about one hunk of the file ``path``; ``index`` counts from 0.

    ``part`` is the part of it, from 0, if the user has split the hunk.
    """

    path: str
    index: int
    keep: bool = False
    comment: str = ""
    part: int | None = None


@frozen
class ProposedText:
    """The text that a file gets instead of the proposed one, written by the user."""

    path: str
    text: str


def change_hash(change: ChangeSet) -> str:
    """Return a hash of exactly this change, to check whether it is still the one shown."""
    files = ((f.origin, f.path, f.before_hash, f.after_hash) for f in change.files)
    text = "\0".join(str(field) for file in files for field in file)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def hunk_line_range(hunk: Hunk) -> tuple[int, int]:
    """Return the first and last line that a hunk changes, 1-based, in the text before.

    If the hunk only adds lines: the lines around them, or in a new file the added lines.
    """
    removed = [line.old for line in hunk.lines if line.kind == "-" and line.old is not None]
    if removed:
        return removed[0], removed[-1]
    changed = [index for index, line in enumerate(hunk.lines) if line.kind == "+"]
    if not changed:
        return 1, 1
    around = (
        hunk.lines[max(changed[0] - 1, 0)],
        hunk.lines[min(changed[-1] + 1, len(hunk.lines) - 1)],
    )
    old = [line.old for line in around if line.old is not None]
    new = [line.new for line in hunk.lines if line.new is not None]
    numbers = old or new
    return numbers[0], numbers[-1]


def hunk_keys(file: FileChange) -> list[str]:
    """Return a key for each hunk that stays the same when the hunk moves in the file."""
    counts: Counter[str] = Counter()
    keys = []
    for hunk in hunks(file):
        text = "".join(f"{line.kind}{line.text}{line.end}" for line in hunk.lines)
        text = text or f"{file.before_hash} {file.after_hash}"
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        counts[key] += 1
        keys.append(f"{key}.{counts[key]}")
    return keys


def replace_proposed_texts(change: ChangeSet, replacements: Iterable[ProposedText]) -> ChangeSet:
    """Return the change with the user's texts instead of the proposed ones."""
    texts = {replacement.path: encode(replacement.text) for replacement in replacements}
    return ChangeSet(
        tuple(replace(file, after=texts.get(file.path, file.after)) for file in change.files)
    )


def rebase_change(change: ChangeSet, current: Mapping[str, bytes | None]) -> ChangeSet:
    """Return the change on top of the current files; the same object if no file changed.

    Args:
        current: the bytes of the files by their origins, ``None`` for no file; a file that is not
            in it stays as it is.

    Raises:
        StalePreview: a file changed in the same place.
    """
    files = []
    for file in change.files:
        rebased = rebase(file, current[file.origin]) if file.origin in current else file
        if rebased is None:
            raise StalePreview(file.name)
        files.append(rebased)
    return change if tuple(files) == change.files else ChangeSet(tuple(files))


def apply_decisions(
    preview: DryRunResult, decisions: Sequence[HunkDecision], original: ChangeSet | None = None
) -> DryRunResult | None:
    """Return the preview with only what the user keeps; ``None`` if they keep nothing.

    ``original`` is the change before the user edited its text, if they did. The headline
    describes the differences from the proposal.
    """
    change = preview.change
    decisions = _with_left_out(change, decisions)
    if change is None or not (decisions or original):
        return preview
    change, decisions = _split_as_decided(change, decisions)
    reduced = [_without_rejected(file, decisions) for file in change.files]
    files = tuple(file for file in reduced if not file.changes_nothing)
    if not files:
        return None
    edits = _user_edits(original, change)
    headline = [
        *_count_applied(change, decisions, {file.path for file in edits}),
        *_describe_edits(edits),
    ]
    places = tuple(place for place in preview.places if _is_kept(place, change, decisions))
    return replace(preview, change=ChangeSet(files), headline="\n".join(headline), places=places)


def _with_left_out(
    change: ChangeSet | None, decisions: Sequence[HunkDecision]
) -> Sequence[HunkDecision]:
    """Return the decisions with one against each hunk that is left out and was not taken in."""
    decided = {(one.path, one.index) for one in decisions}
    files = change.files if change is not None else ()
    rejected = [
        HunkDecision(file.path, hunk.index)
        for file in files
        if file.left_out
        for hunk in hunks(file)
        if (file.path, hunk.index) not in decided
    ]
    return [*decisions, *rejected] if rejected else decisions


def left_out(
    whole: ChangeSet | None, preview: DryRunResult | None, decisions: Sequence[HunkDecision]
) -> frozenset[str]:
    """Return the paths of a change of which the user keeps nothing."""
    if whole is None or preview is None:
        return frozenset()
    kept = apply_decisions(preview, decisions)
    paths = {file.path for file in kept.change.files} if kept and kept.change else set()
    return frozenset(file.path for file in whole.files if file.path not in paths)


def kept_extent(whole: ChangeSet | None, kept: ChangeSet | None) -> str:
    """Return how much of a change is kept, like ``1 of 3 hunks in 1 file``; empty for all of it."""
    if whole is None or kept is None or whole == kept:
        return ""
    total = sum(len(hunks(file)) for file in whole.files)
    number = sum(len(hunks(file)) for file in kept.files)
    if number >= total:
        return ""
    files = len(kept.files)
    return f"{number} of {total} hunks in {files} {'file' if files == 1 else 'files'}"


def _is_kept(place: ReplacedLines, change: ChangeSet, decisions: Sequence[HunkDecision]) -> bool:
    """Whether a replacement is in a hunk that is kept."""
    rejected = {d.index for d in decisions if d.path == place.path and not d.keep}
    kept = (
        hunk
        for file in change.files
        if place.path == file.path
        for hunk in hunks(file)
        if hunk.index not in rejected
    )
    return any(
        place.first <= last and first <= place.last for first, last in map(hunk_line_range, kept)
    )


def rejection_reason(
    reason: str, preview: DryRunResult | None, decisions: Sequence[HunkDecision]
) -> str:
    """Return the reason of a rejection together with the comments on single hunks."""
    parts = [reason] if reason else []
    files, decisions = _split_files(preview, decisions)
    for file in files:
        commented = [(hunk, d) for hunk, d in _decided_hunks(file, decisions) if d.comment]
        parts += [f"{file.name} {_describe_hunk(hunk, d)}" for hunk, d in commented]
    return "; ".join(parts)


def decision_note(preview: DryRunResult | None, decisions: Sequence[HunkDecision]) -> str:
    """Return what the user kept and commented, for the journal."""
    files, decisions = _split_files(preview, decisions)
    decided = [(file, list(_decided_hunks(file, decisions))) for file in files]
    return " ".join(_file_summary(file, pairs, "Kept") for file, pairs in decided if pairs)


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
    rejected = {hunk.index for hunk, d in _decided_hunks(file, decisions) if not d.keep}
    if not rejected:
        return file
    return keep_hunks(file, {hunk.index for hunk in hunks(file)} - rejected)


def _decided_hunks(
    file: FileChange, decisions: Sequence[HunkDecision]
) -> Iterator[tuple[Hunk, HunkDecision]]:
    """Return the hunks of a file that have a decision, in order."""
    by_index = {d.index: d for d in decisions if d.path == file.path}
    return ((hunk, by_index[hunk.index]) for hunk in hunks(file) if hunk.index in by_index)


def _count_applied(
    change: ChangeSet, decisions: Sequence[HunkDecision], edited_paths: Collection[str]
) -> Iterator[str]:
    """Yield a line for each file with decisions or edits, one for all others, one for the rest.

    The rest is what was left out and the user did not take in.
    """
    others, left_out = 0, []
    for file in change.files:
        decided = list(_decided_hunks(file, decisions))
        if file.left_out and not any(one.keep or one.comment for _, one in decided):
            left_out.append(file.name)
        elif decided or file.path in edited_paths:
            yield _file_summary(file, decided)
        else:
            others += 1
    if others and others + len(left_out) < len(change.files):
        yield f"Applied all hunks in {others} other {'file' if others == 1 else 'files'}."
    if left_out:
        yield f"Left out: {', '.join(left_out)}."


def _file_summary(
    file: FileChange, decided: Sequence[tuple[Hunk, HunkDecision]], verb: str = "Applied"
) -> str:
    total = len(hunks(file))
    rejected = [_describe_hunk(hunk, d) for hunk, d in decided if not d.keep]
    remarks = [_describe_hunk(hunk, d) for hunk, d in decided if d.keep and d.comment]
    line = f"{verb} {total - len(rejected)} of {total} hunks in {file.name}."
    if rejected:
        line += f" Rejected: {'; '.join(rejected)}"
    if remarks:
        line += f"{'.' if rejected else ''} Comment on {'; '.join(remarks)}"
    return line


def _describe_hunk(hunk: Hunk, decision: HunkDecision) -> str:
    first, last = hunk_line_range(hunk)
    comment = " ".join(decision.comment.split())
    return f"hunk {hunk.index + 1} (lines {first}-{last}){': ' if comment else ''}{comment}"


def _user_edits(original: ChangeSet | None, change: ChangeSet) -> list[FileChange]:
    """Return the user's changes of the proposed texts, file by file."""
    before = {file.path: file.after for file in (original.files if original is not None else ())}
    return [
        replace(file, before=before[file.path])
        for file in change.files
        if file.path in before and before[file.path] != file.after
    ]


def _describe_edits(edits: Iterable[FileChange]) -> Iterator[str]:
    for file in edits:
        yield f"The user edited the proposed text of {file.name}:"
        yield from _diff_lines(file)


def _diff_lines(file: FileChange) -> list[str]:
    lines = []
    for hunk in hunks(file):
        lines += [hunk.header, *(line.kind + line.text for line in hunk.lines)]
    if len(lines) > _EDITED_LINES:
        lines[_EDITED_LINES:] = [f"[{len(lines) - _EDITED_LINES} more lines; read the file]"]
    return lines
