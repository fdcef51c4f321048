"""Performs an undo or redo: each file and each call separately."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace, read_file
from agentchat.agent.execution.steps import GUIDE, parse_arguments
from agentchat.agent.execution.tool_runner import ToolRunner
from agentchat.core.diff.aspects import LINK, split_aspect
from agentchat.core.diff.changeset import ChangeSet, FileChange, digest
from agentchat.core.errors import Irreversible, StalePreview, ToolError
from agentchat.core.frozen import frozen
from agentchat.core.messages import Status, ToolCall
from agentchat.core.permissions.policy import Decision, Reason, Verdict
from agentchat.core.text import escape_hidden_characters
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import (
    ArgumentError,
    Hooks,
    Step,
    Tool,
    ToolContext,
    ToolOutput,
    UndoCall,
)
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.effects import ReadyCall
from agentchat.core.workspace import AppliedFile, Workspace
from agentchat.journal import records as r
from agentchat.journal.entries import has_own_effect, start_records, undo_record
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
from agentchat.workspace.overlay.git import is_index, says_same

NO_ANSWER = "(no output)"
SHOWN_CHARACTERS = 200
CHANGED = "it changed since"


@frozen
class UndoOutcome:
    """The result for one file or call, in one line."""

    text: str
    done: bool


class Rollback:
    """Performs one undo plan; ``id`` is the source of its changes in the journal."""

    def __init__(
        self,
        id: str,
        timeline: Timeline,
        plan: UndoPlan,
        *,
        workspace: Workspace,
        journal: JournalWriter,
        runner: ToolRunner,
        toolbox: Toolset,
    ) -> None:
        self.id = id
        self._timeline = timeline
        self._plan = plan
        self._workspace = workspace
        self._journal = journal
        self._runner = runner
        self._toolbox = toolbox
        self._contents: dict[str, bytes | None] = {}
        self._ids = {call.call_id: f"{id}.{n}" for n, call in enumerate(plan.calls, 1)}

    @property
    def calls(self) -> dict[str, str]:
        """The ids of the calls it makes, each with the id of the call that it undoes."""
        return {new: old for old, new in self._ids.items()}

    async def prepare(self) -> None:
        """Read the contents to restore from the journal."""
        await self._read(_index_hashes(self._plan.files))
        targets = await asyncio.gather(*map(self._find_target, self._plan.files))
        await self._read({target for target in targets if target is not None})

    async def _read(self, hashes: Set[str]) -> None:
        if hashes:
            records = self._journal.records()
            self._contents.update(await asyncio.to_thread(read_contents, records, hashes))

    def _digest(self, file: FileUndo, content: bytes | None) -> str | None:
        """Return the hash of a content; of an index that git only refreshed, the one before."""
        if content is not None and is_index(file.path):
            for step in file.steps:
                known = self._contents.get(step.after) if step.after else None
                if known is not None and says_same(known, content):
                    return step.after
        return digest(content)

    async def _find_target(self, file: FileUndo) -> str | None:
        """Return the hash of the content to restore, if it is known and the file can be read."""
        try:
            content = await read_file(self._workspace, file.path)
        except OSError:
            return None
        restore = plan_restore(file.steps, self._digest(file, content))
        return None if restore is None else restore.target

    async def undo(self, item: FileUndo | CallRun) -> UndoOutcome:
        """Undo one file or call; a failure is an outcome too."""
        if isinstance(item, FileUndo):
            return await self._undo_file(item)
        return await self._undo_call(item)

    async def undo_together(self, files: Sequence[FileUndo]) -> dict[str, UndoOutcome]:
        """Restore many files in one change, which is much faster than one by one.

        Returns the outcomes by path. Files that are not among them are left to ``undo``.
        """
        plans = [plan for plan in await asyncio.gather(*map(self._plan_simple, files)) if plan]
        changes = {change.path: change for change, _ in plans}
        reverts = {number for _, restore in plans for number in restore.reverts}
        workspace = JournaledWorkspace(self._workspace, self._journal, self.id, sorted(reverts))
        try:
            await workspace.apply(ChangeSet(tuple(changes.values())))
        except ToolError:
            return {}
        redo = bool(self._plan.undone)
        return {
            path: UndoOutcome(f"{_verb(change, redo)}: {one_line(change.name)}", True)
            for path, change in changes.items()
        }

    async def _plan_simple(self, file: FileUndo) -> tuple[FileChange, FileRestore] | None:
        """Return the change that restores a file as it was; ``None`` if there is more to it."""
        with contextlib.suppress(ToolError, OSError):
            shown = await check_place(self._workspace, file.path)
            change, restore = await self._plan_restore(file, shown)
            if not (change.changes_nothing or restore.rest):
                return change, restore
        return None

    async def _undo_file(self, file: FileUndo) -> UndoOutcome:
        name = one_line(file.path)
        try:
            shown = await check_place(self._workspace, file.path)
            name = one_line(shown)
            return await self._restore(file, shown)
        except StalePreview:
            reason = CHANGED
        except ToolError as error:
            reason = str(error)
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
        return UndoOutcome(f"left alone: {name}: {one_line(reason)}", False)

    async def _restore(self, file: FileUndo, shown: str) -> UndoOutcome:
        """Restore the file; raises ToolError or OSError if it must be left alone."""
        name = one_line(shown)
        change, restore = await self._plan_restore(file, shown)
        if change.changes_nothing:
            self._journal.add(
                r.ChangeStarted(
                    self.id, self._journal.store(ChangeSet((change,)).parts), tuple(restore.reverts)
                )
            )
            self._journal.add(r.ChangeApplied(self.id))
            return UndoOutcome(f"already as it was: {name}", True)
        workspace = JournaledWorkspace(self._workspace, self._journal, self.id, restore.reverts)
        applied = await workspace.apply(ChangeSet((change,)))
        remarks = [*_save_remarks(applied[0]), *_older_changes(restore)]
        verb = _verb(change, redo=bool(self._plan.undone))
        return UndoOutcome("; ".join([f"{verb}: {name}", *remarks]), True)

    async def _plan_restore(self, file: FileUndo, shown: str) -> tuple[FileChange, FileRestore]:
        """Return the change that restores a file; raises ToolError or OSError."""
        content = await read_file(self._workspace, file.path)
        current = self._digest(file, content)
        restore = plan_restore(file.steps, current)
        if restore is None:
            raise ToolError(self._explain_change(file, current))
        change = FileChange(
            path=file.path,
            before=content,
            after=self._content(restore),
            display_path=shown,
            mode=restore.mode,
            owner=restore.owner,
            attributes=restore.attributes,
            folders=restore.folders,
        )
        return change, restore

    def _explain_change(self, file: FileUndo, current: str | None) -> str:
        later = find_later_turn(self._timeline, file, current)
        if later is not None and later > self._plan.turn:
            return f"turn {later} changed it since; undo that first"
        return CHANGED

    def _content(self, restore: FileRestore) -> bytes | None:
        """Return the content to restore; raises ToolError if it is not in the journal."""
        if restore.target is None:
            return None
        if restore.target not in self._contents:
            raise ToolError("its old content is not in the journal")
        data = self._contents[restore.target]
        if data is None:
            raise ToolError("its old content has a secret in it, which is never stored")
        return data

    async def _undo_call(self, call: CallRun) -> UndoOutcome:
        tool, undo = find_tool(self._toolbox, call.tool), call.undo
        named = self._timeline.reverted_by(call) if undo is not None and undo.is_redo else call
        line = render_call(named, find_tool(self._toolbox, named.tool))
        word = "redoable" if self._plan.undone else "undoable"
        if undo is None or not call.can_be_undone:
            return UndoOutcome(f"not {word}: {line}{_guide(undo)}", False)
        handler = self._toolbox.checkpoint_handler(undo.tool)
        undo_tool = handler.restore if handler else find_tool(self._toolbox, undo.tool)
        if undo_tool is None:
            missing = f"there is no tool {one_line(undo.tool)}"
            return UndoOutcome(f"not {word}: {line}: {missing}", False)
        try:
            said = await self._run(_reverting(undo_tool, call, undo), undo, self._ids[call.call_id])
        except Irreversible as error:
            guide = f". By hand: {one_line(error.manual_guide)}" if error.manual_guide else ""
            return UndoOutcome(f"not {word}: {line}{guide}", False)
        except (ArgumentError, ToolError) as error:
            verb = "redo" if undo.is_redo else "undo"
            return UndoOutcome(f"could not {verb} {line}: {one_line(str(error))}", False)
        if tool is not None and tool.redo is not None and not undo.is_redo:
            again = UndoCall(
                f"{tool.name} does it again",
                tool=tool.name,
                arguments=call.arguments,
                result=undo.result,
                is_redo=True,
            )
            self._journal.add(undo_record(self._ids[call.call_id], again))
        verb = "redone" if undo.is_redo else "undone"
        answer = one_line(said)
        answer = f": {answer}" if answer and answer != NO_ANSWER else ""
        return UndoOutcome(f"{verb}: {line} ({one_line(undo.description)}){answer}", True)

    async def _run(self, tool: Tool, undo: UndoCall, call_id: str) -> str:
        """Run a call that undoes another one; return what it says.

        Raises ArgumentError or ToolError.
        """
        arguments = await parse_arguments(tool, undo.arguments)
        fields = dict(undo.arguments)
        sent = ToolCall(call_id, tool.name, json.dumps(fields, default=str))
        call = ValidCall(sent, tool, fields, arguments)
        decision = Decision(Verdict.ALLOW, Reason("command"))
        try:
            await self._runner.set_up(call)
            return await self._run_steps(
                ReadyCall(call, CallTarget(self._workspace.root), decision)
            )
        finally:
            await self._runner.tear_down(call)

    async def _run_steps(self, ready: ReadyCall) -> str:
        self._journal.add(*start_records(ready), durable=has_own_effect(ready))
        outcome = await self._runner.run(ready)
        self._journal.add(r.CallFinished(outcome.call_id, outcome.status.value))
        guide = outcome.detail(GUIDE)
        if guide is not None:
            raise Irreversible(guide)
        if outcome.status is not Status.SUCCESS:
            raise ToolError(outcome.text)
        return outcome.text


async def check_place(workspace: Workspace, path: str) -> str:
    """Return the name of a file in messages; raises ToolError if its path leads elsewhere."""
    entry, aspect = split_aspect(path)
    # A symlink itself is restored, not what it leads to: its folder must be the same.
    folder, base = os.path.split(entry) if aspect == LINK else (entry, "")
    target = await workspace.locate(folder)
    if target.path != folder:
        raise ToolError("its path leads to another file now")
    return f"{target.display_path}/{base}".removeprefix("./").rstrip("/")


def _index_hashes(files: Sequence[FileUndo]) -> set[str]:
    """Return the hashes of the indexes of git that changes made."""
    steps = (step for file in files if is_index(file.path) for step in file.steps)
    return {step.after for step in steps if step.after}


def _reverting(tool: Tool, call: CallRun, undo: UndoCall) -> Tool:
    """Return the tool as it undoes or redoes a call of its own; another tool is just called."""
    function = tool.redo if undo.is_redo else tool.undo
    if function is None or not (undo.is_redo or tool.name == call.tool):
        return tool
    return replace(tool, steps=(_with_result(function, undo),), hooks=Hooks(), dry_run=None)


def _with_result(function: Step, undo: UndoCall) -> Step:
    """Return a step that has the output of the call to undo as its last output."""
    output = ToolOutput(str(undo.result.get("text", "")), details=undo.result.get("details"))

    async def step(arguments: Any, context: ToolContext) -> Any:
        value = function(arguments, replace(context, last_output=output))
        return await value if inspect.isawaitable(value) else value

    return step


def find_tool(toolbox: Toolset, name: str) -> Tool | None:
    """Return a tool by its name or an alias, also one that the model cannot call."""
    tools = (t for t in toolbox.all_tools() if name in (t.name, *t.metadata.aliases))
    return toolbox.find(name) or next(tools, None)


def one_line(text: str) -> str:
    """Return a text that others wrote as a part of one line."""
    return " ".join(escape_hidden_characters(text).split())[:SHOWN_CHARACTERS]


def _verb(change: FileChange, redo: bool) -> str:
    when_undone, when_redone = {
        "A": ("brought back", "created again"),
        "D": ("removed", "deleted again"),
        "M": ("restored", "changed again"),
    }[change.letter]
    return when_redone if redo else when_undone


def _save_remarks(applied: AppliedFile) -> list[str]:
    remarks = [] if applied.saved else ["not saved, for its buffer has unsaved changes"]
    if applied.reformatted:
        remarks.append("saving changed more of it (a formatter or autocommand)")
    return remarks


def _older_changes(restore: FileRestore) -> list[str]:
    if not restore.rest:
        return []
    return ["older changes stay, for it was changed by something else in between"]


def render_call(call: CallRun, tool: Tool | None) -> str:
    """Return a call like ``bash `make all` ``."""
    command = call.arguments.get("command")
    if isinstance(command, str):
        line, *more = command.strip().split("\n")
        text = line + (" ..." if more else "")
    elif tool is not None:
        text = tool.title(call.arguments)
    else:
        text = json.dumps(dict(call.arguments), default=str)
    # The title may begin with the name of the tool, as in a block.
    text = one_line(text).removeprefix(call.tool).lstrip(": ")
    return f"{call.tool} `{text}`" if text else call.tool


def _guide(undo: UndoCall | None) -> str:
    if undo is None:
        return ""
    text = f": {one_line(undo.description)}" if undo.description else ""
    return f"{text}. By hand: {one_line(undo.guide)}" if undo.guide else text
