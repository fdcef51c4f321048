"""Performs an undo or redo: each file and each call by itself, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.execution.tool_runner import ToolRunner, parse_arguments
from agentchat.core.diff.changeset import ChangeSet, FileChange, digest
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.messages import Status, ToolCall
from agentchat.core.permissions.policy import Decision, Reason, Verdict
from agentchat.core.text import escape_hidden_characters
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.ports import AppliedFile, FileTarget, Workspace
from agentchat.core.tools.tool import ArgumentError, Hooks, Tool, UndoCall
from agentchat.core.turn.effects import ReadyCall
from agentchat.journal.timeline import CallRun, Timeline
from agentchat.journal.undo_plan import (
    FileRestore,
    FileUndo,
    UndoPlan,
    find_later_turn,
    plan_restore,
    read_contents,
)
from agentchat.journal.writer import JournalWriter

SHOWN_CHARACTERS = 200
CHANGED = "it changed since"
FindTool = Callable[[str], Tool | None]


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """What became of one file or call, in one line."""

    text: str
    done: bool


class Rollback:
    """Performs one undo plan; what it changes is recorded with its ``id`` as the source."""

    def __init__(
        self,
        id: str,
        timeline: Timeline,
        plan: UndoPlan,
        *,
        workspace: Workspace,
        journal: JournalWriter,
        runner: ToolRunner,
        find: FindTool,
    ) -> None:
        self.id = id
        self._timeline = timeline
        self._plan = plan
        self._workspace = workspace
        self._journal = journal
        self._runner = runner
        self._find = find
        self._contents: dict[str, bytes | None] = {}
        self._ids = {call.call_id: f"{id}.{n}" for n, call in enumerate(plan.calls, 1)}

    @property
    def calls(self) -> dict[str, str]:
        """The ids of the calls it makes, each with the call that this undoes."""
        return {new: old for old, new in self._ids.items()}

    async def prepare(self) -> None:
        """Fetch the bytes that files will get back."""
        wanted = set()
        for file in self._plan.files:
            with contextlib.suppress(OSError):
                now = await read_file(self._workspace, file.path)
                restore = plan_restore(file.steps, digest(now))
                wanted.add(restore.target if restore is not None else None)
        found = {name for name in wanted if name is not None}
        if found:
            records = self._journal.records()
            self._contents = await asyncio.to_thread(read_contents, records, found)

    async def take_back(self, item: FileUndo | CallRun) -> UndoOutcome:
        """Take one file or call back, or say why not."""
        if isinstance(item, FileUndo):
            return await self._take_back_file(item)
        return await self._take_back_call(item)

    async def _take_back_file(self, file: FileUndo) -> UndoOutcome:
        name = one_line(file.path)
        try:
            target = await self._workspace.locate(file.path)
            name = one_line(target.display_path)
            if target.path != file.path:
                raise ToolError("its path leads to another file now")
            return await self._restore(file, target, name)
        except StalePreview:
            reason = CHANGED
        except ToolError as error:
            reason = str(error)
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
        return UndoOutcome(f"left alone: {name}: {one_line(reason)}", False)

    async def _restore(self, file: FileUndo, target: FileTarget, name: str) -> UndoOutcome:
        """Restore the file; raises ToolError or OSError if it must be left alone."""
        now = await read_file(self._workspace, file.path)
        restore = plan_restore(file.steps, digest(now))
        if restore is None:
            raise ToolError(self._why_changed(file, digest(now)))
        change = FileChange(
            path=file.path,
            before=now,
            after=self._content(restore),
            display_path=target.display_path,
            mode=restore.mode,
            owner=restore.owner,
            attributes=restore.attributes,
            folders=restore.folders,
        )
        if change.changes_nothing:
            self._journal.record_change_started(self.id, ChangeSet((change,)), restore.reverts)
            self._journal.record_change_applied(self.id)
            return UndoOutcome(f"already as it was: {name}", True)
        workspace = JournaledWorkspace(self._workspace, self._journal, self.id, restore.reverts)
        applied = await workspace.apply(ChangeSet((change,)))
        remarks = [*_remarks(applied[0]), *_rest(restore)]
        verb = _verb(change, redo=bool(self._plan.undone))
        return UndoOutcome("; ".join([f"{verb}: {name}", *remarks]), True)

    def _why_changed(self, file: FileUndo, now: str | None) -> str:
        later = find_later_turn(self._timeline, file, now)
        if later is not None and later > self._plan.turn:
            return f"turn {later} changed it since; undo that first"
        return CHANGED

    def _content(self, restore: FileRestore) -> bytes | None:
        """Return the bytes that a file had; raises ToolError if they are not in the journal."""
        if restore.target is None:
            return None
        if restore.target not in self._contents:
            raise ToolError("what it held is not in the journal")
        data = self._contents[restore.target]
        if data is None:
            raise ToolError("what it held has a secret in it, and those are never kept")
        return data

    async def _take_back_call(self, call: CallRun) -> UndoOutcome:
        tool, undo = self._find(call.tool), call.undo
        shown = _render_call(call, tool)
        word = "redoable" if self._plan.undone else "undoable"
        if undo is None or not call.can_be_undone:
            return UndoOutcome(f"not {word}: {shown}{_guide(undo)}", False)
        undo_tool = self._find(undo.tool)
        if undo_tool is None:
            missing = f"there is no tool {one_line(undo.tool)}"
            return UndoOutcome(f"not {word}: {shown}: {missing}", False)
        if undo_tool.undo is not None and tool is not None and undo_tool.name == tool.name:
            undo_tool = replace(undo_tool, steps=(undo_tool.undo,), hooks=Hooks(), dry_run=None)
        try:
            await self._run(undo_tool, undo, self._ids[call.call_id])
        except (ArgumentError, ToolError) as error:
            return UndoOutcome(f"could not undo {shown}: {one_line(str(error))}", False)
        return UndoOutcome(f"undone: {shown} ({one_line(undo.description)})", True)

    async def _run(self, tool: Tool, undo: UndoCall, call_id: str) -> None:
        """Run the call that undoes another; raises ArgumentError or ToolError if it fails."""
        arguments = await parse_arguments(tool, undo.arguments)
        given = dict(undo.arguments)
        raw = ToolCall(call_id, tool.name, json.dumps(given, default=str))
        call = ValidCall(raw, tool, given, arguments)
        decision = Decision(Verdict.ALLOW, Reason("command"))
        try:
            await self._runner.set_up(call)
            await self._run_steps(ReadyCall(call, CallTarget(self._workspace.root), decision))
        finally:
            await self._runner.tear_down(call)

    async def _run_steps(self, ready: ReadyCall) -> None:
        self._journal.record_call_started(ready)
        outcome = await self._runner.run(ready)
        self._journal.record_call_finished(outcome)
        if outcome.status is not Status.SUCCESS:
            raise ToolError(outcome.text)


async def read_file(workspace: Workspace, path: str) -> bytes | None:
    """Return what the user sees of a file, ``None`` if there is none; raises OSError."""
    try:
        return await workspace.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def one_line(text: str) -> str:
    """Return a text from elsewhere as a part of one line."""
    return " ".join(escape_hidden_characters(text).split())[:SHOWN_CHARACTERS]


def _verb(change: FileChange, redo: bool) -> str:
    when_undone, when_redone = {
        "A": ("brought back", "created again"),
        "D": ("removed", "deleted again"),
        "M": ("restored", "changed again"),
    }[change.letter]
    return when_redone if redo else when_undone


def _remarks(applied: AppliedFile) -> list[str]:
    remarks = [] if applied.saved else ["not saved, for its buffer has unsaved changes"]
    if applied.reformatted:
        remarks.append("saving changed more of it (a formatter or autocommand)")
    return remarks


def _rest(restore: FileRestore) -> list[str]:
    if not restore.rest:
        return []
    return ["older changes stay, for it was changed by something else in between"]


def _render_call(call: CallRun, tool: Tool | None) -> str:
    """Return a call like ``bash `make all` ``."""
    command = call.arguments.get("command")
    if isinstance(command, str):
        line, *more = command.strip().split("\n")
        text = line + (" ..." if more else "")
    elif tool is not None:
        text = tool.title(call.arguments)
    else:
        text = json.dumps(dict(call.arguments), default=str)
    # The line of a call may begin with the name of its tool, as its block does.
    text = one_line(text).removeprefix(call.tool).lstrip(": ")
    return f"{call.tool} `{text}`" if text else call.tool


def _guide(undo: UndoCall | None) -> str:
    if undo is None:
        return ""
    said = f": {one_line(undo.description)}" if undo.description else ""
    return f"{said}. By hand: {one_line(undo.guide)}" if undo.guide else said
