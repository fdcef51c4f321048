"""What a chat changed and what took it back, read from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentchat.core.messages import Note
from agentchat.core.tools.tool import Undo
from agentchat.journal import records as r


@dataclass(frozen=True, slots=True)
class Step:
    """One change of one file.

    ``at`` is its place among the records, ``number`` that of its change among all changes.
    ``before`` and ``after`` are hashes of bytes, ``None`` for no file. ``takes`` are the changes
    it takes back. One that is not ``certain`` was begun, and nothing says that it was made.
    The rest is as in ``core.changes.FileChange``.
    """

    at: int
    number: int
    turn: int
    source: str
    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    takes: tuple[int, ...] = ()
    certain: bool = False
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0


@dataclass(frozen=True, slots=True)
class Ran:
    """A call that ran; ``status`` is empty if it never ended.

    ``undo`` is what its tool said after success, ``takes`` the call that this one takes back.
    """

    at: int
    turn: int
    call_id: str
    tool: str
    given: Mapping[str, Any]
    status: str = ""
    undo: Undo | None = None
    takes: str = ""

    @property
    def can_be_undone(self) -> bool:
        """Whether there is a call that takes it back."""
        return self.undo is not None and bool(self.undo.tool) and not self.undo.irreversible


@dataclass(frozen=True, slots=True)
class Saga:
    """An undo of a turn, or a redo: then ``undone`` is the id of the undo it takes back."""

    at: int
    id: str
    turn: int
    calls: Mapping[str, str]
    undone: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A preview that nothing can resolve any more; ``begun``: it was just being resolved."""

    label: str
    begun: bool = False


@dataclass(frozen=True, slots=True)
class CutOff:
    """A change of files that the process before this one began, and did not live to end."""

    source: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """All that can matter to an undo; each list is oldest first.

    ``turn`` is the newest turn's number, ``told`` where the model was last told something;
    ``lost`` are the previews that the process before this one left unresolved, ``cut_off`` the
    changes it left half made, ``recoveries`` the ids under which such were taken back.
    """

    turn: int = 0
    steps: tuple[Step, ...] = ()
    calls: tuple[Ran, ...] = ()
    sagas: tuple[Saga, ...] = ()
    told: int = -1
    lost: tuple[Lost, ...] = ()
    cut_off: tuple[CutOff, ...] = ()
    recoveries: frozenset[str] = frozenset()

    def doubtful(self) -> frozenset[str]:
        """Return the paths of changes that may have been made or not."""
        return frozenset(step.path for step in self.steps if not step.certain)

    def settled(self, now: Mapping[str, str | None]) -> Past:
        """Return the past with every doubt resolved; ``now`` has the hash of each doubtful file."""
        kept = (step for step in self.steps if step.certain or self._was_made(step, now))
        return replace(self, steps=tuple(replace(step, certain=True) for step in kept))

    def steps_in_force(self) -> tuple[Step, ...]:
        """Return the changes that nothing has taken back, newest first."""
        kept: list[Step] = []
        taken: set[tuple[int, str]] = set()
        for step in reversed(self.steps):
            if (step.number, step.path) not in taken:
                if step.source not in self.recoveries:
                    kept.append(step)
                taken.update((number, step.path) for number in step.takes)
        return tuple(kept)

    def calls_in_force(self) -> tuple[Ran, ...]:
        """Return the calls that no other call has taken back, newest first."""
        kept: list[Ran] = []
        taken: set[str] = set()
        for call in reversed(self.calls):
            if call.call_id not in taken:
                kept.append(call)
                if call.status == "success":
                    taken.add(call.takes)
        return tuple(kept)

    def saga_of(self, item: Step | Ran) -> str:
        """Return the id of the undo or redo that did this; empty if a turn did."""
        source = item.source if isinstance(item, Step) else item.call_id
        found = (saga.id for saga in self.sagas if source == saga.id or source in saga.calls)
        return next(found, "")

    def sagas_in_force(self) -> tuple[Saga, ...]:
        """Return the undos and redos that took something back, and still do; oldest first."""
        ids = {self.saga_of(step) for step in self.steps_in_force()}
        ids |= {self.saga_of(c) for c in self.calls_in_force() if c.status == "success"}
        return tuple(saga for saga in self.sagas if saga.id in ids)

    def _was_made(self, step: Step, now: Mapping[str, str | None]) -> bool:
        later = (other for other in self.steps if other.path == step.path and other.certain)
        follower = next((other for other in later if other.at > step.at), None)
        found = now.get(step.path) if follower is None else follower.before
        return found == step.after


def past(records: Iterable[r.Record]) -> Past:
    """Return what a journal tells of changes and of those taken back."""
    reader = _Reader()
    for at, record in enumerate(records):
        reader.take(at, record)
    return reader.past()


class _Reader:
    """Gathers a past record by record."""

    def __init__(self) -> None:
        self._turn = 0
        self._told = -1
        self._steps: list[Step] = []
        self._changes: list[range] = []
        self._newest: dict[str, range] = {}
        self._calls: dict[str, Ran] = {}
        self._sagas: dict[str, Saga] = {}
        self._takes: dict[str, str] = {}
        self._waiting: dict[str, Lost] = {}
        self._lost: tuple[Lost, ...] = ()
        self._open: dict[str, range] = {}
        self._cut_off: dict[str, range] = {}
        self._recoveries: set[str] = set()

    def take(self, at: int, record: r.Record) -> None:
        """Take the next record."""
        if isinstance(record, (r.Opened, r.Staged, r.Resolving, r.Resolved)):
            self._previewed(record)
        elif isinstance(record, r.TurnStarted):
            self._turn = max(self._turn, record.number)
        elif isinstance(record, r.Said):
            self._told = at if isinstance(record.message, Note) else self._told
        elif isinstance(record, r.Changing):
            self._changing(at, record)
        elif isinstance(record, (r.Changed, r.Settled)):
            self._changed(record)
        elif isinstance(record, r.Recovering):
            self._recoveries.add(record.id)
        elif isinstance(record, (r.Undone, r.Redone)):
            self._saga(at, record)
        elif isinstance(record, r.CallStarted):
            self._started(at, record)
        elif isinstance(record, (r.CallFinished, r.UndoNoted)) and record.call_id in self._calls:
            self._calls[record.call_id] = _ended(self._calls[record.call_id], record)

    def past(self) -> Past:
        """Return what was gathered."""
        calls, sagas = tuple(self._calls.values()), tuple(self._sagas.values())
        return Past(
            self._turn,
            tuple(self._steps),
            calls,
            sagas,
            self._told,
            self._lost,
            tuple(self._left(source) for source in self._cut_off if source in self._open),
            frozenset(self._recoveries),
        )

    def _left(self, source: str) -> CutOff:
        return CutOff(source, tuple(self._steps[i] for i in self._cut_off[source]))

    def _previewed(self, record: r.Opened | r.Staged | r.Resolving | r.Resolved) -> None:
        if isinstance(record, r.Opened):
            self._lost, self._waiting = tuple(self._waiting.values()), {}
            self._cut_off = dict(self._open)
        elif isinstance(record, r.Staged):
            self._waiting[record.preview] = Lost(record.label)
        elif isinstance(record, r.Resolved):
            self._waiting.pop(record.preview, None)
        elif record.preview in self._waiting:
            self._waiting[record.preview] = replace(self._waiting[record.preview], begun=True)

    def _changing(self, at: int, record: r.Changing) -> None:
        first, number = len(self._steps), len(self._changes)
        for f in record.files:
            about = (record.source, f.path, f.before, f.after, f.mode, record.takes)
            more = (False, f.owner, f.attributes, f.folders)
            self._steps.append(Step(at, number, self._turn, *about, *more))
        self._changes.append(range(first, len(self._steps)))
        self._newest[record.source] = self._changes[-1]
        if record.source not in self._recoveries:
            self._open[record.source] = self._changes[-1]

    def _changed(self, record: r.Changed | r.Settled) -> None:
        """The newest change of this source is over.

        If it was made, saving may have changed its files further.
        """
        self._open.pop(record.source, None)
        if isinstance(record, r.Settled):
            return
        after = {file.path: file.after for file in record.files}
        for i in self._newest.get(record.source, ()):
            step = self._steps[i]
            settled = after.get(step.path, step.after)
            self._steps[i] = replace(step, certain=True, after=settled)

    def _saga(self, at: int, record: r.Undone | r.Redone) -> None:
        if isinstance(record, r.Undone):
            saga = Saga(at, record.id, record.turn, record.calls)
        else:
            undone = self._sagas.get(record.undone)
            turn = undone.turn if undone is not None else 0
            saga = Saga(at, record.id, turn, record.calls, record.undone)
        self._sagas[saga.id] = saga
        self._takes.update(record.calls)

    def _started(self, at: int, record: r.CallStarted) -> None:
        about = (record.call_id, record.tool, record.arguments)
        takes = self._takes.get(record.call_id, "")
        self._calls[record.call_id] = Ran(at, self._turn, *about, takes=takes)


def _ended(ran: Ran, record: r.CallFinished | r.UndoNoted) -> Ran:
    if isinstance(record, r.CallFinished):
        return replace(ran, status=record.status)
    about = (record.description, record.tool, record.given, record.irreversible, record.guide)
    return replace(ran, undo=Undo(*about))
