"""What an undo or a redo takes back, and how each file is restored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from agentchat.core.errors import UserError
from agentchat.journal.records import ContentStored, Record
from agentchat.journal.timeline import CallRun, FileStep, LostPreview, Timeline, UndoRun

NO_TURN = "Nothing to undo: no turn of this chat has changes left to take back."
NO_UNDO = "Nothing to redo: no undo of this chat is left to take back."


@dataclass(frozen=True, slots=True)
class FileUndo:
    """The changes of one file that are to be taken back, newest first."""

    path: str
    steps: tuple[FileStep, ...]

    @property
    def index(self) -> int:
        """The place of the newest one among the records."""
        return self.steps[0].index


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo of ``turn`` takes back, newest first; for a redo ``undone`` is the undo's id.

    A call may be one that nothing takes back; it is there to be reported.
    """

    turn: int
    items: tuple[FileUndo | CallRun, ...]
    undone: str = ""

    @property
    def files(self) -> tuple[FileUndo, ...]:
        """The files in it."""
        return tuple(item for item in self.items if isinstance(item, FileUndo))

    @property
    def calls(self) -> tuple[CallRun, ...]:
        """The calls in it that another call takes back."""
        return tuple(i for i in self.items if isinstance(i, CallRun) and i.can_be_undone)


@dataclass(frozen=True, slots=True)
class FileRestore:
    """How a file is restored: ``target`` is the hash of its bytes then, ``None`` for no file.

    ``mode``, ``owner`` and ``attributes`` are those of a file that comes back, ``folders`` how
    many were made with one that is removed. ``reverts`` are the changes this takes back; ``rest``
    is how many older ones stay, because the file was changed by someone else in between.
    """

    reverts: tuple[int, ...]
    target: str | None
    mode: int | None = None
    rest: int = 0
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0


def undoable_turns(timeline: Timeline) -> tuple[int, ...]:
    """Return the turns that an undo without a number would take back, newest first.

    One that an undo took back, if only in part, comes again when it is redone or changes more.
    """
    tried = {undo.turn: undo.index for undo in timeline.effective_undos() if not undo.undone}
    calls = (call for call in timeline.effective_calls() if call.can_be_undone)
    effects: tuple[FileStep | CallRun, ...] = (*timeline.effective_steps(), *calls)
    found = (item for item in effects if not timeline.undo_of(item))
    return tuple(sorted({i.turn for i in found if i.index > tried.get(i.turn, -1)}, reverse=True))


def plan_undo(
    timeline: Timeline, turn: int | None, is_reported: Callable[[CallRun], bool]
) -> UndoPlan:
    """Return the plan to undo a turn, by default the newest that can be.

    Args:
        is_reported: whether a call that nothing takes back is worth reporting.

    Raises:
        UserError: there is nothing to take back.
    """
    turn = _check_turn(timeline, turn)
    steps = [s for s in timeline.effective_steps() if s.turn == turn and not timeline.undo_of(s)]
    calls = [c for c in timeline.effective_calls() if c.turn == turn and not timeline.undo_of(c)]
    calls = [call for call in calls if call.undo is not None or is_reported(call)]
    if not steps and not any(call.can_be_undone for call in calls):
        if any(undo.turn == turn and not undo.undone for undo in timeline.effective_undos()):
            raise UserError(f"Turn {turn} is undone already; :AgentRedo takes that back.")
        if not calls:
            raise UserError(f"Nothing to undo in turn {turn}: it changed nothing.")
    return UndoPlan(turn, _items(steps, calls))


def plan_redo(timeline: Timeline) -> UndoPlan:
    """Return the plan to take the last undo back; raises UserError if there is none."""
    undos = timeline.effective_undos()
    tried = {undo.undone for undo in undos if undo.undone}
    last = next((u for u in reversed(undos) if not u.undone and u.id not in tried), None)
    if last is None:
        raise UserError(NO_UNDO)
    steps = [step for step in timeline.effective_steps() if timeline.undo_of(step) == last.id]
    calls = [c for c in timeline.effective_calls() if timeline.undo_of(c) == last.id]
    succeeded = [call for call in calls if call.status == "success"]
    return UndoPlan(last.turn, _items(steps, succeeded), undone=last.id)


def find_later_turn(timeline: Timeline, file: FileUndo, current: str | None) -> int | None:
    """Return the later turn that left the file as it is now, if one did."""
    steps = timeline.effective_steps()
    later = (step for step in steps if step.path == file.path and step.index > file.index)
    return next((s.turn for s in later if s.after == current and not timeline.undo_of(s)), None)


def plan_restore(steps: Sequence[FileStep], current: str | None) -> FileRestore | None:
    """Return how a file with this hash is restored; ``None`` if someone else changed it since.

    Newer steps that are not visible in the file any more were taken back by hand.
    """
    first = next((i for i, step in enumerate(steps) if step.after == current), None)
    if first is None:
        everything = tuple(step.number for step in steps)
        return FileRestore(everything, current) if steps[-1].before == current else None
    last, target = first, steps[first].before
    while last + 1 < len(steps) and steps[last + 1].after == target:
        last += 1
        target = steps[last].before
    taken = steps[: last + 1]
    deletion = next((step for step in taken if step.after is None), None)
    return FileRestore(
        reverts=tuple(step.number for step in taken),
        target=target,
        mode=deletion.mode if deletion else None,
        rest=len(steps) - len(taken),
        owner=deletion.owner if deletion else None,
        attributes=deletion.attributes if deletion else (),
        folders=sum(step.folders for step in taken if step.before is None),
    )


def read_contents(records: Iterable[Record], wanted: Collection[str]) -> dict[str, bytes | None]:
    """Return stored bytes by their hash: ``None`` for those withheld, nothing for unknown ones."""
    return {
        record.sha256: None if record.withheld else record.data
        for record in records
        if isinstance(record, ContentStored) and record.sha256 in wanted
    }


def unreported_undos(timeline: Timeline) -> tuple[str, ...]:
    """Return what the model does not know yet of what was taken back, one text for each time."""
    news = (undo for undo in timeline.undos if undo.index > timeline.last_note)
    return tuple(_describe_undo(timeline, undo) for undo in news)


def describe_lost_preview(lost: LostPreview) -> str:
    """Return what the model is told of a preview that the previous process left pending."""
    if lost.resolving:
        how = "while it was resolved: look at its files before you go on."
    else:
        how = "before it was resolved. Nothing of it was changed; stage it again if it is wanted."
    return f"The preview ({lost.label}) is gone: the plugin's process ended {how}"


def _describe_undo(timeline: Timeline, undo: UndoRun) -> str:
    command = ":AgentRedo" if undo.undone else ":AgentUndo"
    paths = {step.path for step in timeline.steps if timeline.undo_of(step) == undo.id}
    names = ", ".join(sorted(paths)) or "none"
    return f"The user ran {command} on turn {undo.turn}. Files it changed: {names}."


def _check_turn(timeline: Timeline, turn: int | None) -> int:
    if turn is None:
        turn = next(iter(undoable_turns(timeline)), None)
        if turn is None:
            raise UserError(NO_TURN)
    if not 1 <= turn <= timeline.turn:
        known = f"turns 1 to {timeline.turn}" if timeline.turn else "no turns yet"
        raise UserError(f"There is no turn {turn}: this chat has {known}.")
    return turn


def _items(steps: Sequence[FileStep], calls: Sequence[CallRun]) -> tuple[FileUndo | CallRun, ...]:
    """Return files with their steps, and calls, newest first."""
    paths = dict.fromkeys(step.path for step in steps)
    files = (FileUndo(path, tuple(s for s in steps if s.path == path)) for path in paths)
    return tuple(sorted((*files, *calls), key=lambda item: item.index, reverse=True))
