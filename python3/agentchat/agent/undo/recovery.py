"""Takes back what a process that ended left half made, so that every change is whole or not there.

A change of which all files were written stays. Of the others every file gets its bytes from
before, unless somebody wrote it since.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from agentchat.agent.execution.journaled_workspace import RecordedWorkspace
from agentchat.agent.scribe import Scribe
from agentchat.agent.undo.rollback import one_line, read
from agentchat.core.diff.changeset import ChangeSet, FileChange, digest
from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import Workspace
from agentchat.core.turn.view import Screen
from agentchat.journal.timeline import CutOff, Step
from agentchat.journal.undo_plan import contents


class Leftovers(Protocol):
    """What a process that was killed leaves beside the files it was changing."""

    def put_back(self, paths: Iterable[str]) -> None:
        """Give files that were set aside their names back."""

    def sweep(self, made: Mapping[str, int]) -> None:
        """Remove temporary files beside paths, and the so many folders made for each of them."""


class State(Enum):
    """What a file of a change is found to be; ``PART``: partly written in place."""

    BEFORE = "before"
    AFTER = "after"
    SAME = "before and after are the same"
    PART = "part"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Found:
    """One file of a change, and what it holds now."""

    step: Step
    now: bytes | None
    state: State
    why: str = "it changed since"


class Recovery:
    """Recovers the files of one chat; ``tell`` takes what the model must know."""

    def __init__(
        self,
        workspace: Workspace,
        screen: Screen,
        scribe: Scribe,
        leftovers: Leftovers,
        tell: Callable[[str], None],
    ) -> None:
        self._workspace = workspace
        self._screen = screen
        self._scribe = scribe
        self._leftovers = leftovers
        self._tell = tell

    async def recover(self, cut_off: Sequence[CutOff], touched: Iterable[str]) -> None:
        """Bring every change to an end, the newest first; ``touched`` is every path ever changed.

        What could not be removed beside these when they were changed may go now.
        """
        for change in reversed(cut_off):
            await self._recover(change)
            self._leftovers.sweep({step.path: step.folders for step in change.steps})
        await asyncio.to_thread(self._leftovers.sweep, dict.fromkeys(touched, 0))

    async def _recover(self, change: CutOff) -> None:
        self._leftovers.put_back(step.path for step in change.steps if step.after is None)
        wanted = {name for step in change.steps for name in (step.before, step.after) if name}
        kept = await asyncio.to_thread(contents, self._scribe.records(), wanted)
        found = [await self._look(step, kept) for step in change.steps]
        if all(one.state in (State.AFTER, State.SAME) for one in found):
            self._scribe.changed(change.source)
            return
        written = [one for one in found if one.state in (State.AFTER, State.PART)]
        problem = await self._take_back(change, written, kept) if written else ""
        self._scribe.settled(change.source)
        self._report(written, [one for one in found if one.state is State.FOREIGN], problem)

    async def _look(self, step: Step, kept: Mapping[str, bytes | None]) -> Found:
        try:
            now = await read(self._workspace, step.path)
        except OSError as error:
            why = f"it cannot be read: {error.strerror or error}"
            return Found(step, None, State.FOREIGN, why)
        return Found(step, now, _state(step, now, kept))

    async def _take_back(
        self, change: CutOff, written: Sequence[Found], kept: Mapping[str, bytes | None]
    ) -> str:
        """Give the files their bytes from before; return why that failed, if it did."""
        id = f"recovery-{uuid.uuid4().hex[:12]}"
        self._scribe.recovering(id, change.source)
        takes = sorted({one.step.number for one in written})
        recorded = RecordedWorkspace(self._workspace, self._scribe, id, takes)
        try:
            await recorded.apply(ChangeSet(tuple(_back(one, kept) for one in written)))
        except ToolError as error:
            return str(error)
        return ""

    def _report(self, written: Sequence[Found], foreign: Sequence[Found], problem: str) -> None:
        if not written:
            return
        if problem:
            lines = [f"- left half made: {_names(written)}: {one_line(problem)}"]
        else:
            lines = [f"- taken back: {_names(written)}"]
        lines += [f"- left alone: {one_line(one.step.path)}: {one.why}" for one in foreign]
        said = "The plugin's process ended while it changed files:"
        self._screen.note("error" if problem else "info", "\n".join([said, *lines]))
        self._tell("\n".join([said, *lines]))


def _state(step: Step, now: bytes | None, kept: Mapping[str, bytes | None]) -> State:
    if digest(now) == step.before:
        return State.SAME if step.before == step.after else State.BEFORE
    if digest(now) == step.after:
        # Without its bytes from before, which hold a secret, a file can only stay as it is.
        known = step.before is None or kept.get(step.before) is not None
        return State.AFTER if known else State.FOREIGN
    old, new = kept.get(step.before or ""), kept.get(step.after or "")
    if now is None or old is None or new is None:
        return State.FOREIGN
    partly = _is_part(now, new, old) or _is_part(now, old, new)
    return State.PART if partly else State.FOREIGN


def _is_part(now: bytes, over: bytes, under: bytes) -> bool:
    """Whether writing ``over`` from the start of ``under`` gives this at some moment."""
    same = _common(now, over)
    return now[same:] == under[same:]


def _common(one: bytes, other: bytes) -> int:
    """Return how many bytes at the start are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _back(found: Found, kept: Mapping[str, bytes | None]) -> FileChange:
    step = found.step
    before = None if step.before is None else kept[step.before]
    about = (step.mode, "", step.owner, step.attributes)
    if before is None:
        return FileChange(step.path, found.now, None, folders=step.folders)
    return FileChange(step.path, found.now, before, "", *(about if found.now is None else ()))


def _names(found: Sequence[Found]) -> str:
    return ", ".join(one_line(one.step.path) for one in found)
