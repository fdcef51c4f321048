"""The history of file changes, calls and undos of a chat, read from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import Note
from agentchat.core.tools.tool import UndoCall
from agentchat.journal import records as r


@frozen
class FileStep:
    """One change of one file.

    ``index`` counts records, ``number`` counts changes. ``before`` and ``after`` are hashes of
    bytes, ``None`` for no file. ``reverts`` are the numbers of the changes that it reverts. If it
    is not ``certain``, no record says whether the change was made. The other fields are those of
    ``core.diff.changeset.FileChange``.
    """

    index: int
    number: int
    turn: int
    source: str
    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    reverts: tuple[int, ...] = ()
    certain: bool = False
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0


@frozen
class CallRun:
    """A call that ran; ``status`` is empty if it never ended.

    ``undo`` is what its tool offered after success, ``reverts`` the id of the call it reverts.
    """

    index: int
    turn: int
    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    status: str = ""
    undo: UndoCall | None = None
    reverts: str = ""
    is_saved: bool = False
    """Whether the files before it are saved, so that what it did is a change of files."""

    @property
    def can_be_undone(self) -> bool:
        """Whether another call can revert it."""
        return self.undo is not None and bool(self.undo.tool) and not self.undo.irreversible


@frozen
class UndoRun:
    """An undo of a turn, or a redo: then ``undone`` is the id of the undo that it reverts.

    ``partial``: an undo of a part of a change.
    """

    index: int
    id: str
    turn: int
    calls: Mapping[str, str]
    undone: str = ""
    partial: bool = False


@frozen
class PendingPreview:
    """A preview that was pending when its process ended; ``resolving``: it was being resolved."""

    staged: r.PreviewStaged
    resolving: bool = False


@frozen
class UnfinishedChange:
    """A change of files that the previous process started and did not finish."""

    source: str
    steps: tuple[FileStep, ...]


@frozen
class Timeline:
    """All that undo, redo and recovery need; each list is oldest first.

    ``turn`` is the number of the newest turn, ``last_note`` the index of the newest note to the
    model. ``pending_previews`` and ``unfinished`` were left by the previous process. ``recoveries``
    are the sources of changes that reverted unfinished ones.
    """

    turn: int = 0
    steps: tuple[FileStep, ...] = ()
    calls: tuple[CallRun, ...] = ()
    undos: tuple[UndoRun, ...] = ()
    last_note: int = -1
    pending_previews: tuple[PendingPreview, ...] = ()
    unfinished: tuple[UnfinishedChange, ...] = ()
    recoveries: frozenset[str] = frozenset()
    open_checkpoints: tuple[UnfinishedChange, ...] = ()
    """The files before calls that the previous process did not end, by the id of the call."""

    def uncertain_paths(self) -> frozenset[str]:
        """Return the paths of changes that may or may not have been made."""
        return frozenset(step.path for step in self.steps if not step.certain)

    def resolve_uncertain(self, current: Mapping[str, str | None]) -> Timeline:
        """Return the timeline with each uncertain step made certain or left out.

        Args:
            current: by path of ``uncertain_paths``, the hash of the file now.
        """
        steps = (step for step in self.steps if step.certain or self._was_made(step, current))
        return replace(self, steps=tuple(replace(step, certain=True) for step in steps))

    def effective_steps(self) -> tuple[FileStep, ...]:
        """Return the changes that no other change has reverted, newest first."""
        steps: list[FileStep] = []
        reverted: set[tuple[int, str]] = set()
        for step in reversed(self.steps):
            if (step.number, step.path) not in reverted:
                if step.source not in self.recoveries:
                    steps.append(step)
                reverted.update((number, step.path) for number in step.reverts)
        return tuple(steps)

    def effective_calls(self) -> tuple[CallRun, ...]:
        """Return the calls that no other call has reverted, newest first."""
        calls: list[CallRun] = []
        reverted: set[str] = set()
        for call in reversed(self.calls):
            if call.call_id not in reverted:
                calls.append(call)
                if call.status == "success":
                    reverted.add(call.reverts)
        return tuple(calls)

    def reverted_by(self, call: CallRun) -> CallRun:
        """Return the call that this one has reverted; itself if it reverts none."""
        return next((other for other in self.calls if other.call_id == call.reverts), call)

    def undo_of(self, item: FileStep | CallRun) -> str:
        """Return the id of the undo or redo that did this; empty if a turn did."""
        source = item.source if isinstance(item, FileStep) else item.call_id
        ids = (undo.id for undo in self.undos if source == undo.id or source in undo.calls)
        return next(ids, "")

    def steps_of_turn(self, turn: int | None) -> tuple[FileStep, ...]:
        """Return the effective changes of a turn, or of all, newest first.

        With them are the changes that took parts of them back.
        """
        parts = {undo.id: undo.turn for undo in self.undos if undo.partial}
        found = []
        for step in self.effective_steps():
            undo = self.undo_of(step)
            if undo and (undo not in parts or step.reverts):
                continue
            if turn is None or turn == (parts[undo] if undo else step.turn):
                found.append(step)
        return tuple(found)

    def effective_undos(self) -> tuple[UndoRun, ...]:
        """Return the undos and redos with effective changes or calls, oldest first."""
        ids = {self.undo_of(step) for step in self.effective_steps()}
        ids |= {self.undo_of(call) for call in self.effective_calls() if call.status == "success"}
        return tuple(undo for undo in self.undos if undo.id in ids)

    def _was_made(self, step: FileStep, current: Mapping[str, str | None]) -> bool:
        same_file = (other for other in self.steps if other.path == step.path and other.certain)
        follower = next((other for other in same_file if other.index > step.index), None)
        result = current.get(step.path) if follower is None else follower.before
        return result == step.after


def read_timeline(records: Iterable[r.Record], reopened: bool = False) -> Timeline:
    """Return the timeline of a journal.

    Args:
        reopened: the process that wrote these records has ended.
    """
    builder = _Builder()
    for index, record in enumerate(records):
        builder.add(index, record)
    if reopened:
        builder.end_process()
    return builder.timeline()


class _Builder:
    """Builds a timeline record by record."""

    def __init__(self) -> None:
        self._turn = 0
        self._last_note = -1
        self._steps: list[FileStep] = []
        self._changes: list[range] = []
        self._newest: dict[str, range] = {}
        self._calls: dict[str, CallRun] = {}
        self._undos: dict[str, UndoRun] = {}
        self._reverts: dict[str, str] = {}
        self._pending: dict[str, PendingPreview] = {}
        self._left: tuple[PendingPreview, ...] = ()
        self._open: dict[str, range] = {}
        self._unfinished: dict[str, range] = {}
        self._failed: set[int] = set()
        self._recoveries: set[str] = set()
        self._checkpoints: dict[str, tuple[FileStep, ...]] = {}
        self._open_checkpoints: dict[str, tuple[FileStep, ...]] = {}

    def add(self, index: int, record: r.Record) -> None:  # noqa: C901 - one case for each record
        """Add the next record."""
        match record:
            case r.ChatOpened():
                self.end_process()
            case r.TurnStarted():
                self._turn = max(self._turn, record.number)
            case r.MessageRecorded():
                if isinstance(record.message, Note):
                    self._last_note = index
            case r.PreviewStaged(source="stage"):
                pass  # what it shows is in the overlay, and is shown again
            case r.PreviewStaged():
                self._pending[record.preview] = PendingPreview(record)
            case r.PreviewResolving() if preview := self._pending.get(record.preview):
                self._pending[record.preview] = replace(preview, resolving=True)
            case r.PreviewResolved():
                self._pending.pop(record.preview, None)
            case r.ChangeStarted():
                self._start_change(index, record)
            case r.CheckpointCreated() if record.files:
                self._add_checkpoint(index, record)
            case r.ChangeApplied() | r.ChangeSettled():
                self._end_change(record)
            case r.RecoveryStarted():
                self._recoveries.add(record.id)
            case r.CallStarted():
                self._start_call(index, record)
            case r.CallFinished() | r.UndoOffered() if call := self._calls.get(record.call_id):
                self._calls[record.call_id] = _end_call(call, record)
                if isinstance(record, r.CallFinished):
                    self._checkpoints.pop(record.call_id, None)
            case r.UndoStarted() | r.RedoStarted():
                self._add_undo(index, record)

    def end_process(self) -> None:
        """Mark what is pending or open as left behind by a process that has ended."""
        self._left, self._pending = tuple(self._pending.values()), {}
        self._unfinished = dict(self._open)
        self._open_checkpoints = dict(self._checkpoints)

    def timeline(self) -> Timeline:
        """Return the timeline of the records so far."""
        unfinished = [source for source in self._unfinished if source in self._open]
        return Timeline(
            turn=self._turn,
            steps=tuple(s for i, s in enumerate(self._steps) if i not in self._failed),
            calls=tuple(self._calls.values()),
            undos=tuple(self._undos.values()),
            last_note=self._last_note,
            pending_previews=self._left,
            unfinished=tuple(self._unfinished_change(source) for source in unfinished),
            recoveries=frozenset(self._recoveries),
            open_checkpoints=tuple(
                UnfinishedChange(call_id, steps)
                for call_id, steps in self._open_checkpoints.items()
                if call_id in self._checkpoints
            ),
        )

    def _unfinished_change(self, source: str) -> UnfinishedChange:
        return UnfinishedChange(source, tuple(self._steps[i] for i in self._unfinished[source]))

    def _start_change(self, index: int, record: r.ChangeStarted) -> None:
        first = len(self._steps)
        steps = (self._step(index, record.source, file) for file in record.files)
        self._steps += [replace(step, reverts=record.reverts) for step in steps]
        self._checkpoints.pop(record.source, None)
        self._changes.append(range(first, len(self._steps)))
        self._newest[record.source] = self._changes[-1]
        if record.source not in self._recoveries:
            self._open[record.source] = self._changes[-1]

    def _step(self, index: int, source: str, file: r.RecordedFile) -> FileStep:
        return FileStep(
            index=index,
            number=len(self._changes),
            turn=self._turn,
            source=source,
            path=file.path,
            before=file.before,
            after=file.after,
            mode=file.mode,
            owner=file.owner,
            attributes=file.attributes,
            folders=file.folders,
        )

    def _add_checkpoint(self, index: int, record: r.CheckpointCreated) -> None:
        steps = (self._step(index, record.call_id, file) for file in record.files)
        self._checkpoints[record.call_id] = tuple(steps)
        call = self._calls.get(record.call_id)
        if call is not None:
            self._calls[record.call_id] = replace(call, is_saved=True)

    def _end_change(self, record: r.ChangeApplied | r.ChangeSettled) -> None:
        """Update the files of the newest change of a source from the record of its end."""
        self._open.pop(record.source, None)
        self._checkpoints.pop(record.source, None)
        after = {file.path: file.after for file in record.files}
        if isinstance(record, r.ChangeSettled) and not after:
            return  # the change failed as a whole: its steps stay uncertain
        for i in self._newest.get(record.source, ()):
            step = self._steps[i]
            if isinstance(record, r.ChangeSettled) and step.path not in after:
                self._failed.add(i)
            else:
                self._steps[i] = replace(step, certain=True, after=after.get(step.path, step.after))

    def _add_undo(self, index: int, record: r.UndoStarted | r.RedoStarted) -> None:
        if isinstance(record, r.UndoStarted):
            run = UndoRun(index, record.id, record.turn, record.calls, partial=record.partial)
        else:
            undo = self._undos.get(record.undone)
            turn = undo.turn if undo is not None else 0
            run = UndoRun(index, record.id, turn, record.calls, record.undone)
        self._undos[record.id] = run
        self._reverts.update(record.calls)

    def _start_call(self, index: int, record: r.CallStarted) -> None:
        self._calls[record.call_id] = CallRun(
            index=index,
            turn=self._turn,
            call_id=record.call_id,
            tool=record.tool,
            arguments=record.arguments,
            is_saved=record.staged,
            reverts=self._reverts.get(record.call_id, ""),
        )


def _end_call(call: CallRun, record: r.CallFinished | r.UndoOffered) -> CallRun:
    if isinstance(record, r.CallFinished):
        return replace(call, status=record.status)
    undo = UndoCall(
        description=record.description,
        tool=record.tool,
        arguments=record.arguments,
        irreversible=record.irreversible,
        guide=record.guide,
        result=record.result,
        is_redo=record.is_redo,
    )
    return replace(call, undo=undo)
