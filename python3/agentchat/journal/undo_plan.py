"""Plans an undo or redo: which changes and calls it reverts, and how each file is restored."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.journal.records import ContentStored, Record
from agentchat.journal.timeline import CallRun, FileStep, Timeline, UndoRun

NO_TURN = "Nothing to undo: no turn of this chat has changes left to undo."
NO_UNDO = "Nothing to redo: no undo of this chat is left to redo."

_GIT_OBJECT = re.compile(r"/\.git/(?:.+/)?objects/(?:[0-9a-f]{2}|pack)/[^/]+\Z")


@frozen
class FileUndo:
    """The changes of one file to revert, newest first."""

    path: str
    steps: tuple[FileStep, ...]

    @property
    def index(self) -> int:
        """The index of the newest change among the records."""
        return self.steps[0].index


@frozen
class UndoPlan:
    """What an undo of ``turn`` reverts, newest first; for a redo ``undone`` is the id of the undo.

    Calls that cannot be undone are included, to be reported.
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
        """The calls in it that can be undone."""
        return tuple(i for i in self.items if isinstance(i, CallRun) and i.can_be_undone)


@frozen
class FileRestore:
    """How a file is restored: ``target`` is the hash of its bytes then, ``None`` for no file.

    ``mode``, ``owner`` and ``attributes`` are those of a deleted file that is restored; ``folders``
    is the number of folders made with a file that is removed. ``reverts`` are the numbers of the
    changes that are reverted; ``rest`` older ones stay, because the file was changed by someone
    else in between.
    """

    reverts: tuple[int, ...]
    target: str | None
    mode: int | None = None
    rest: int = 0
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0


def undoable_turns(timeline: Timeline) -> tuple[int, ...]:
    """Return the turns that an undo without a number chooses from, newest first.

    A turn that was undone, even in part, is offered again only after a redo or another change.
    """
    undos = timeline.effective_undos()
    redone = {undo.undone for undo in undos}
    whole = (u for u in undos if not (u.undone or u.partial))
    tried = {u.turn: u.index for u in whole if u.id not in redone}
    calls = (call for call in timeline.effective_calls() if call.can_be_undone)
    effects: tuple[FileStep | CallRun, ...] = (*timeline.effective_steps(), *calls)
    by_turns = (item for item in effects if not timeline.undo_of(item))
    return tuple(
        sorted({i.turn for i in by_turns if i.index > tried.get(i.turn, -1)}, reverse=True)
    )


def plan_undo(
    timeline: Timeline, turn: int | None, is_reported: Callable[[CallRun], bool]
) -> UndoPlan:
    """Return the plan to undo a turn, by default the newest that can be.

    Args:
        is_reported: whether a call that cannot be undone is reported.

    Raises:
        UserError: there is nothing to undo.
    """
    turn = _chosen_turn(timeline, turn)
    steps = [step for step in timeline.steps_of_turn(turn) if not is_new_git_object(step)]
    steps = _without_loose_parts(timeline, steps)
    calls = [c for c in timeline.effective_calls() if c.turn == turn and not timeline.undo_of(c)]
    calls = [c for c in calls if c.undo is not None or not (c.is_saved or not is_reported(c))]
    if not steps and not any(call.can_be_undone for call in calls):
        if any(undo.turn == turn and not undo.undone for undo in timeline.effective_undos()):
            raise UserError(f"Turn {turn} is already undone; :AgentRedo redoes it.")
        if not calls:
            raise UserError(f"Nothing to undo in turn {turn}: it changed nothing.")
    return UndoPlan(turn, _items(steps, calls))


def is_new_git_object(step: FileStep) -> bool:
    """Whether a change created an object of git, which stays: a later commit may refer to it."""
    return step.before is None and _GIT_OBJECT.search(step.path) is not None


def plan_redo(timeline: Timeline) -> UndoPlan:
    """Return the plan to revert the last undo; raises UserError if there is none."""
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
    """Return the later turn that wrote the current content of the file, if any."""
    steps = timeline.effective_steps()
    later = (step for step in steps if step.path == file.path and step.index > file.index)
    return next((s.turn for s in later if s.after == current and not timeline.undo_of(s)), None)


def plan_restore(steps: Sequence[FileStep], current: str | None) -> FileRestore | None:
    """Return how a file with this hash is restored; ``None`` if someone else changed it since.

    Newer steps whose result is no longer in the file were reverted by the user.
    """
    first = next((i for i, step in enumerate(steps) if step.after == current), None)
    if first is None:
        everything = tuple(step.number for step in steps)
        return FileRestore(everything, current) if steps[-1].before == current else None
    last, target = first, steps[first].before
    while last + 1 < len(steps) and steps[last + 1].after == target:
        last += 1
        target = steps[last].before
    reverted = steps[: last + 1]
    deletion = next((step for step in reverted if step.after is None), None)
    return FileRestore(
        reverts=tuple(step.number for step in reverted),
        target=target,
        mode=deletion.mode if deletion else None,
        rest=len(steps) - len(reverted),
        owner=deletion.owner if deletion else None,
        attributes=deletion.attributes if deletion else (),
        folders=sum(step.folders for step in reverted if step.before is None),
    )


def read_contents(records: Iterable[Record], hashes: Collection[str]) -> dict[str, bytes | None]:
    """Return stored bytes by hash: ``None`` if withheld.

    Unknown hashes are left out, and bytes that are not those that were stored.
    """
    return {
        record.sha256: None if record.withheld else record.data
        for record in records
        if isinstance(record, ContentStored) and record.sha256 in hashes and record.is_whole
    }


def unreported_undos(timeline: Timeline) -> tuple[str, ...]:
    """Return a message to the model for each undo and redo since the last note."""
    unreported = (undo for undo in timeline.undos if undo.index > timeline.last_note)
    return tuple(_describe_undo(timeline, undo) for undo in unreported)


def _describe_undo(timeline: Timeline, undo: UndoRun) -> str:
    command = ":AgentRedo" if undo.undone else ":AgentUndo"
    paths = {step.path for step in timeline.steps if timeline.undo_of(step) == undo.id}
    names = ", ".join(sorted(paths)) or "none"
    if undo.partial:
        return f"The user took back a part of turn {undo.turn}. Files that changed: {names}."
    return f"The user ran {command} on turn {undo.turn}. Files it changed: {names}."


def check_turn(timeline: Timeline, turn: int) -> int:
    """Return a turn of the chat; raises UserError for a number that it does not have."""
    if not 1 <= turn <= timeline.turn:
        known = f"turns 1 to {timeline.turn}" if timeline.turn else "no turns yet"
        raise UserError(f"There is no turn {turn}: this chat has {known}.")
    return turn


def _chosen_turn(timeline: Timeline, turn: int | None) -> int:
    if turn is None:
        turn = next(iter(undoable_turns(timeline)), None)
        if turn is None:
            raise UserError(NO_TURN)
    return check_turn(timeline, turn)


def _items(steps: Sequence[FileStep], calls: Sequence[CallRun]) -> tuple[FileUndo | CallRun, ...]:
    """Return files with their steps, and calls, newest first."""
    paths = dict.fromkeys(step.path for step in steps)
    files = (FileUndo(path, tuple(s for s in steps if s.path == path)) for path in paths)
    return tuple(sorted((*files, *calls), key=lambda item: item.index, reverse=True))


def _without_loose_parts(timeline: Timeline, steps: Sequence[FileStep]) -> list[FileStep]:
    """Leave out parts that were taken back of another text than the changes of the turn left.

    Reverting such a part alone would only bring it back.
    """
    kept: list[FileStep] = []
    left: dict[str, str | None] = {}
    for step in reversed(steps):  # the oldest first
        follows = step.path in left and left[step.path] == step.before
        if follows or not timeline.undo_of(step):
            kept.append(step)
            left[step.path] = step.after
    return kept[::-1]
