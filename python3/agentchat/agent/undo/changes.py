"""The review of what was changed, long after: the changes of a turn or of the chat, hunk by hunk.

A file that was changed several times is one change, from before the first to after the last; if
something else changed it in between, several. A hunk is taken back on top of what its file is now:
lines that were changed elsewhere since stay, and a hunk that was changed itself is left alone.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace, read_file
from agentchat.agent.undo.commands import current_timeline
from agentchat.agent.undo.rollback import check_place, one_line
from agentchat.core.diff.aspects import shown_name
from agentchat.core.diff.changeset import ChangeSet, FileChange, combine, rebase
from agentchat.core.diff.diff_text import diff_lines_of
from agentchat.core.errors import ToolError, UserError
from agentchat.core.frozen import frozen
from agentchat.core.text import mask_secrets
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.hunk_decisions import HunkDecision, apply_decisions, change_hash
from agentchat.core.turn.view import ChangesPage, Observer, View
from agentchat.core.workspace import Workspace
from agentchat.journal import records as r
from agentchat.journal.timeline import FileStep, Timeline
from agentchat.journal.undo_plan import check_turn, is_new_git_object, read_contents
from agentchat.journal.writer import JournalWriter

NOTHING = "Nothing was changed in {}."
NOT_STORED = "{}: not shown, there is a secret in it, and the journal never stores one."
CHANGED = "{} has changed since where this hunk is: it is left alone. Nothing was changed."
NOT_SHOWN = "The changes are others now: they are shown again, look at them first."
GIT = ".git: {} files of git's own data, which :AgentUndo takes back with their turn"
GONE = "{}: this hunk is taken back already."
NOTED_LINES = 60
"""Lines of a hunk in the note to the model."""


@frozen
class ChangedFile:
    """A change of one file that was made; ``steps`` are the numbers of its changes."""

    change: FileChange
    turn: int
    steps: tuple[int, ...]

    @property
    def stamp(self) -> str:
        """The same for the same change."""
        return change_hash(ChangeSet((self.change,)))


class AppliedChanges:
    """What was changed in one chat, as its journal has it."""

    def __init__(
        self, *, workspace: Workspace, view: View, journal: JournalWriter, observer: Observer
    ) -> None:
        self._workspace = workspace
        self._view = view
        self._journal = journal
        self._observer = observer

    async def show(self, turn: int | None) -> None:
        """Show what a turn changed, or the chat; raises UserError if that is nothing."""
        timeline = await current_timeline(self._journal, self._workspace)
        if turn is not None:
            check_turn(timeline, turn)
        files, notes = await self._read(timeline, turn)
        if not (files or notes):
            raise UserError(NOTHING.format(_where(turn)))
        self._show(turn, files, notes)

    async def take_back(
        self, turn: int | None, stamp: str, unwanted: Sequence[HunkDecision]
    ) -> None:
        """Take hunks of one file back, as an undo of a part, and show what is left.

        Args:
            stamp: the :attr:`ChangedFile.stamp` of the change that was shown.
            unwanted: each of its hunks, or of their parts, that is not to be kept.

        Raises:
            UserError: they cannot be taken back. Nothing was changed.
        """
        timeline = await current_timeline(self._journal, self._workspace)
        files, notes = await self._read(timeline, turn)
        file = next((file for file in files if file.stamp == stamp), None)
        if file is None:
            self._show(turn, files, notes)
            raise UserError(NOT_SHOWN)
        try:
            await self._undo(file, unwanted)
        except (ToolError, OSError) as error:
            raise UserError(f"{file.change.name}: {error}") from error
        timeline = await current_timeline(self._journal, self._workspace)
        self._show(turn, *await self._read(timeline, turn))

    async def _undo(self, file: ChangedFile, unwanted: Sequence[HunkDecision]) -> None:
        """Take hunks back and tell of it; raises UserError, ToolError or OSError."""
        change = await self._undo_of(file, unwanted)
        whole = change.after == file.change.before
        id = f"undo-{uuid.uuid4().hex[:12]}"
        self._journal.add(r.UndoStarted(id, file.turn, {}, partial=True))
        reverts = file.steps if whole else ()
        workspace = JournaledWorkspace(self._workspace, self._journal, id, reverts)
        await workspace.apply(ChangeSet((change,)))
        self._report(file, change, len(unwanted))

    async def _undo_of(self, file: ChangedFile, unwanted: Sequence[HunkDecision]) -> FileChange:
        """Return the change that takes hunks back, on top of what the file is now."""
        made, name = file.change, file.change.name
        await check_place(self._workspace, made.path)
        kept = apply_decisions(DryRunResult(ChangeSet((made,))), unwanted)
        after = kept.change.files[0].after if kept and kept.change else made.before
        current = await read_file(self._workspace, made.path)
        undo = rebase(replace(made, before=made.after, after=after), current)
        if undo is None:
            raise UserError(CHANGED.format(name))
        if undo.changes_nothing:
            raise UserError(GONE.format(name))
        return replace(undo, splits=())

    def _report(self, file: ChangedFile, change: FileChange, number: int) -> None:
        what = f"{number} {'hunk' if number == 1 else 'hunks'} of {one_line(change.name)}"
        line = f"Took back {what}, a change of turn {file.turn}. :AgentRedo brings it back."
        self._view.add_note("info", line)
        lines = diff_lines_of(ChangeSet((change,)))[:NOTED_LINES]
        text = "\n".join((f"The user took back {what}, a change of turn {file.turn}:", *lines))
        self._observer.add_note(mask_secrets(text))

    def _show(self, turn: int | None, files: Sequence[ChangedFile], notes: Sequence[str]) -> None:
        change = ChangeSet(tuple(file.change for file in files))
        page = ChangesPage(
            title=f"Changes of {_where(turn)}",
            turn=turn,
            change=change,
            stamps=tuple(file.stamp for file in files),
            notes=tuple(notes),
        )
        self._view.show_changes(page)

    async def _read(
        self, timeline: Timeline, turn: int | None
    ) -> tuple[list[ChangedFile], list[str]]:
        """Return what was changed, in the order of paths, and a line about each file not stored."""
        steps = [s for s in timeline.steps_of_turn(turn) if not is_new_git_object(s)]
        git = {step.path for step in steps if "/.git/" in step.path}
        steps = [step for step in steps if step.path not in git]
        hashes = {hash for step in steps for hash in (step.before, step.after) if hash}
        records = self._journal.records()
        contents = await asyncio.to_thread(read_contents, records, hashes)
        parts = {step.number for step in steps if timeline.undo_of(step)}
        files: list[ChangedFile] = []
        notes = [GIT.format(len(git))] if git else []
        for path in sorted({step.path for step in steps}):
            mine = [step for step in reversed(steps) if step.path == path]
            if any(contents.get(hash) is None for step in mine for hash in _hashes(step)):
                notes.append(NOT_STORED.format(shown_name(path, self._workspace.root)))
                continue
            files += _joined(self._changes(mine, contents), parts)
        return [file for file in files if not file.change.changes_nothing], notes

    def _changes(
        self, steps: Iterable[FileStep], contents: dict[str, bytes | None]
    ) -> Iterable[ChangedFile]:
        for step in steps:
            change = FileChange(
                path=step.path,
                before=contents[step.before] if step.before else None,
                after=contents[step.after] if step.after else None,
                display_path=shown_name(step.path, self._workspace.root),
                mode=step.mode,
                owner=step.owner,
                attributes=step.attributes,
                folders=step.folders,
            )
            yield ChangedFile(change, step.turn, (step.number,))


def _joined(files: Iterable[ChangedFile], parts: set[int]) -> list[ChangedFile]:
    """Return successive changes of one file as one, as far as nothing else came in between.

    Args:
        parts: the numbers of the changes that took hunks back.
    """
    joined: list[ChangedFile] = []
    for file in files:
        last = joined[-1] if joined else None
        change: FileChange | None = file.change
        is_part = bool(parts.intersection(file.steps))
        if last is not None and last.change.after != file.change.before:
            change = rebase(file.change, last.change.after) if is_part else None
        if last is None or change is None:
            joined += [] if is_part else [file]
        else:
            turn = last.turn if is_part else file.turn
            both = combine(last.change, change)
            joined[-1] = ChangedFile(both, turn, (*last.steps, *file.steps))
    return joined


def _hashes(step: FileStep) -> list[str]:
    return [hash for hash in (step.before, step.after) if hash]


def _where(turn: int | None) -> str:
    return "this chat" if turn is None else f"turn {turn}"
