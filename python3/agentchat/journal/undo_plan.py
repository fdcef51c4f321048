"""What an undo or a redo takes back, and how each file gets there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from agentchat.core.errors import UserError
from agentchat.journal.records import Content, Record
from agentchat.journal.timeline import Lost, Past, Ran, Saga, Step

NO_TURN = "Nothing to undo: no turn of this chat has changes that are still there."
NO_UNDO = "Nothing to redo: no undo of this chat is left to take back."


@dataclass(frozen=True, slots=True)
class FileWork:
    """The changes of one file that are to be taken back, newest first."""

    path: str
    steps: tuple[Step, ...]

    @property
    def at(self) -> int:
        """The place of the newest one."""
        return self.steps[0].at


@dataclass(frozen=True, slots=True)
class Work:
    """What an undo of ``turn`` takes back, newest first; for a redo ``undone`` is the undo's id.

    A call may be one that nothing takes back; it is there to be named.
    """

    turn: int
    items: tuple[FileWork | Ran, ...]
    undone: str = ""

    @property
    def files(self) -> tuple[FileWork, ...]:
        """The files in it."""
        return tuple(item for item in self.items if isinstance(item, FileWork))

    @property
    def calls(self) -> tuple[Ran, ...]:
        """The calls in it that another call takes back."""
        return tuple(item for item in self.items if isinstance(item, Ran) and item.can_be_undone)


@dataclass(frozen=True, slots=True)
class Way:
    """How a file gets back: ``target`` is the hash of its bytes then, ``None`` for no file.

    ``mode``, ``owner`` and ``attributes`` are those of a file that comes back, ``folders`` how
    many were made with one that goes. ``takes`` are the changes this takes back; ``rest`` is how
    many older ones stay, because the file was changed by someone else in between.
    """

    takes: tuple[int, ...]
    target: str | None
    mode: int | None = None
    rest: int = 0
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0


def turns(past: Past) -> tuple[int, ...]:
    """Return the turns that an undo without a number would take back, newest first.

    One that an undo took back, if only in part, comes again when it is redone or changes more.
    """
    tried = {saga.turn: saga.at for saga in past.sagas_in_force() if not saga.undone}
    calls = (call for call in past.calls_in_force() if call.can_be_undone)
    all_there: tuple[Step | Ran, ...] = (*past.steps_in_force(), *calls)
    found = (item for item in all_there if not past.saga_of(item))
    return tuple(sorted({i.turn for i in found if i.at > tried.get(i.turn, -1)}, reverse=True))


def undoing(past: Past, turn: int | None, named: Callable[[Ran], bool]) -> Work:
    """Return what taking back a turn means, by default the newest that can be.

    Args:
        named: whether a call that nothing takes back is worth naming.

    Raises:
        UserError: there is nothing to take back.
    """
    turn = _turn(past, turn)
    steps = [s for s in past.steps_in_force() if s.turn == turn and not past.saga_of(s)]
    calls = [c for c in past.calls_in_force() if c.turn == turn and not past.saga_of(c)]
    calls = [call for call in calls if call.undo is not None or named(call)]
    if not steps and not any(call.can_be_undone for call in calls):
        if any(saga.turn == turn and not saga.undone for saga in past.sagas_in_force()):
            raise UserError(f"Turn {turn} is undone already; :AgentRedo takes that back.")
        if not calls:
            raise UserError(f"Nothing to undo in turn {turn}: it changed nothing.")
    return Work(turn, _items(steps, calls))


def redoing(past: Past) -> Work:
    """Return what taking back the last undo means; raises UserError if there is none."""
    tried = {saga.undone for saga in past.sagas_in_force() if saga.undone}
    undos = (s for s in reversed(past.sagas_in_force()) if not s.undone and s.id not in tried)
    saga = next(undos, None)
    if saga is None:
        raise UserError(NO_UNDO)
    steps = [step for step in past.steps_in_force() if past.saga_of(step) == saga.id]
    calls = [c for c in past.calls_in_force() if past.saga_of(c) == saga.id]
    return Work(saga.turn, _items(steps, [c for c in calls if c.status == "success"]), saga.id)


def later_turn(past: Past, work: FileWork, now: str | None) -> int | None:
    """Return the later turn that left the file as it is now, if one did."""
    later = (s for s in past.steps_in_force() if s.path == work.path and s.at > work.at)
    return next((s.turn for s in later if s.after == now and not past.saga_of(s)), None)


def way_back(steps: Sequence[Step], now: str | None) -> Way | None:
    """Return how a file that is ``now`` gets back; ``None`` if someone else changed it since.

    Newer steps that are not to be seen in the file any more were taken back by hand.
    """
    first = next((i for i, step in enumerate(steps) if step.after == now), None)
    if first is None:
        everything = tuple(step.number for step in steps)
        return Way(everything, now) if steps[-1].before == now else None
    last, target = first, steps[first].before
    while last + 1 < len(steps) and steps[last + 1].after == target:
        last += 1
        target = steps[last].before
    taken = steps[: last + 1]
    numbers, rest = tuple(step.number for step in taken), len(steps) - len(taken)
    folders = sum(step.folders for step in taken if step.before is None)
    gone = next((step for step in taken if step.after is None), None)
    if gone is None:
        return Way(numbers, target, rest=rest, folders=folders)
    return Way(numbers, target, gone.mode, rest, gone.owner, gone.attributes, folders)


def contents(records: Iterable[Record], wanted: Collection[str]) -> dict[str, bytes | None]:
    """Return kept bytes by their hash: ``None`` for those withheld, nothing for unknown ones."""
    return {
        record.sha256: None if record.withheld else record.data
        for record in records
        if isinstance(record, Content) and record.sha256 in wanted
    }


def untold(past: Past) -> tuple[str, ...]:
    """Return what the model does not know yet of what was taken back, one text for each time."""
    return tuple(_told(past, saga) for saga in past.sagas if saga.at > past.told)


def gone(lost: Lost) -> str:
    """Return what the model is told of a preview that the process before this one left."""
    if lost.begun:
        how = "while it was resolved: look at its files before you go on."
    else:
        how = "before it was resolved. Nothing of it was changed; stage it again if it is wanted."
    return f"The preview ({lost.label}) is gone: the plugin's process ended {how}"


def _told(past: Past, saga: Saga) -> str:
    command = ":AgentRedo" if saga.undone else ":AgentUndo"
    paths = {step.path for step in past.steps if past.saga_of(step) == saga.id}
    names = ", ".join(sorted(paths)) or "none"
    return f"The user ran {command} on turn {saga.turn}. Files it changed: {names}."


def _turn(past: Past, turn: int | None) -> int:
    if turn is None:
        turn = next(iter(turns(past)), None)
        if turn is None:
            raise UserError(NO_TURN)
    if not 1 <= turn <= past.turn:
        there = f"turns 1 to {past.turn}" if past.turn else "no turns yet"
        raise UserError(f"There is no turn {turn}: this chat has {there}.")
    return turn


def _items(steps: Sequence[Step], calls: Sequence[Ran]) -> tuple[FileWork | Ran, ...]:
    """Return files with their steps, and calls, newest first."""
    paths = dict.fromkeys(step.path for step in steps)
    files = (FileWork(path, tuple(s for s in steps if s.path == path)) for path in paths)
    return tuple(sorted((*files, *calls), key=lambda item: item.at, reverse=True))
