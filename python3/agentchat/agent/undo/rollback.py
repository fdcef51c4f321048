"""One undo or redo at work: each file and each call by itself, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from agentchat.agent.execution.journaled_workspace import RecordedWorkspace
from agentchat.agent.execution.tool_runner import Runner, parsed
from agentchat.agent.scribe import Scribe
from agentchat.core.diff.changeset import ChangeSet, FileChange, digest
from agentchat.core.errors import Stale, ToolError
from agentchat.core.messages import Status, ToolCall, ToolResult
from agentchat.core.permissions.policy import Decision, Reason, Verdict
from agentchat.core.text import escape
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.ports import Applied, Target, Workspace
from agentchat.core.tools.tool import ArgumentError, Hooks, Tool, Undo
from agentchat.core.turn.effects import Ready
from agentchat.journal.past import Past, Ran
from agentchat.journal.undo import FileWork, Way, Work, contents, later_turn, way_back

SHOWN_CHARACTERS = 200
CHANGED = "it changed since"
FindTool = Callable[[str], Tool | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file or call, in one line."""

    text: str
    done: bool


class Rollback:
    """Takes the items of one work back; what it does is written down under its ``id``."""

    def __init__(
        self,
        id: str,
        past: Past,
        work: Work,
        *,
        workspace: Workspace,
        scribe: Scribe,
        runner: Runner,
        find: FindTool,
    ) -> None:
        self.id = id
        self._past = past
        self._work = work
        self._workspace = workspace
        self._scribe = scribe
        self._runner = runner
        self._find = find
        self._kept: dict[str, bytes | None] = {}
        self._ids = {call.call_id: f"{id}.{n}" for n, call in enumerate(work.calls, 1)}

    @property
    def calls(self) -> dict[str, str]:
        """The ids of the calls it makes, each with the call that this takes back."""
        return {new: old for old, new in self._ids.items()}

    async def prepare(self) -> None:
        """Fetch the bytes that files will get back."""
        wanted = set()
        for file in self._work.files:
            with contextlib.suppress(OSError):
                way = way_back(file.steps, digest(await read(self._workspace, file.path)))
                wanted.add(way.target if way is not None else None)
        found = {name for name in wanted if name is not None}
        if found:
            records = self._scribe.records()
            self._kept = await asyncio.to_thread(contents, records, found)

    async def take_back(self, item: FileWork | Ran) -> Outcome:
        """Take one file or call back, or say why not."""
        return await (self._file(item) if isinstance(item, FileWork) else self._call(item))

    async def _file(self, file: FileWork) -> Outcome:
        name = one_line(file.path)
        try:
            target = await self._workspace.locate(file.path)
            name = one_line(target.shown)
            if target.path != file.path:
                raise ToolError("its path leads to another file now")
            return await self._restored(file, target, name)
        except Stale:
            reason = CHANGED
        except ToolError as error:
            reason = str(error).replace(" Nothing was changed.", "")
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
        return Outcome(f"left alone: {name}: {one_line(reason)}", False)

    async def _restored(self, file: FileWork, target: Target, name: str) -> Outcome:
        """Put the file back; raises ToolError or OSError if it must be left alone."""
        now = await read(self._workspace, file.path)
        way = way_back(file.steps, digest(now))
        if way is None:
            raise ToolError(self._why(file, digest(now)))
        change = FileChange(
            file.path,
            now,
            self._bytes(way),
            target.shown,
            way.mode,
            owner=way.owner,
            attributes=way.attributes,
            folders=way.folders,
        )
        if change.changes_nothing:
            self._scribe.changing(self.id, ChangeSet((change,)), way.takes)
            self._scribe.changed(self.id)
            return Outcome(f"already as it was: {name}", True)
        recorded = RecordedWorkspace(self._workspace, self._scribe, self.id, way.takes)
        applied = await recorded.apply(ChangeSet((change,)))
        remarks = [*_remarks(applied[0]), *_rest(way)]
        verb = _verb(change, bool(self._work.undone))
        return Outcome("; ".join([f"{verb}: {name}", *remarks]), True)

    def _why(self, file: FileWork, now: str | None) -> str:
        later = later_turn(self._past, file, now)
        if later is not None and later > self._work.turn:
            return f"turn {later} changed it since; undo that first"
        return CHANGED

    def _bytes(self, way: Way) -> bytes | None:
        if way.target is None:
            return None
        if way.target not in self._kept:
            raise ToolError("what it held is not in the journal")
        data = self._kept[way.target]
        if data is None:
            raise ToolError("what it held has a secret in it, and those are never kept")
        return data

    async def _call(self, ran: Ran) -> Outcome:
        tool, undo = self._find(ran.tool), ran.undo
        shown = _shown(ran, tool)
        word = "redoable" if self._work.undone else "undoable"
        if undo is None or not ran.can_be_undone:
            return Outcome(f"not {word}: {shown}{_guide(undo)}", False)
        doing = self._find(undo.tool)
        if doing is None:
            return Outcome(f"not {word}: {shown}: there is no tool {one_line(undo.tool)}", False)
        if doing.undo is not None and tool is not None and doing.name == tool.name:
            doing = replace(doing, steps=(doing.undo,), hooks=Hooks(), dry_run=None)
        problem = await self._ran(doing, undo, self._ids[ran.call_id])
        if problem is not None:
            return Outcome(f"could not undo {shown}: {one_line(problem)}", False)
        return Outcome(f"undone: {shown} ({one_line(undo.description)})", True)

    async def _ran(self, tool: Tool, undo: Undo, call_id: str) -> str | None:
        """Run the call that undoes another; return why it failed, if it did."""
        try:
            arguments = await parsed(tool, undo.given)
        except ArgumentError as error:
            return str(error)
        given = dict(undo.given)
        asked = ToolCall(call_id, tool.name, json.dumps(given, default=str))
        call = Call(asked, tool, given, arguments)
        decision = Decision(Verdict.ALLOW, Reason("command"))
        ready = Ready(call, Place(self._workspace.root), decision)
        problem = await self._runner.set_up(call)
        try:
            return problem if problem is not None else await self._outcome(ready)
        finally:
            await self._runner.tear_down(call)

    async def _outcome(self, ready: Ready) -> str | None:
        self._scribe.started(ready)
        outcome = await self._runner.run(ready)
        if not isinstance(outcome, ToolResult):
            return outcome.message
        self._scribe.finished(outcome)
        return None if outcome.status is Status.SUCCESS else outcome.text


async def read(workspace: Workspace, path: str) -> bytes | None:
    """Return what the user sees of a file, ``None`` if there is none; raises OSError."""
    try:
        return await workspace.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def one_line(text: str) -> str:
    """Return a text that others wrote as a part of one line."""
    return " ".join(escape(text).split())[:SHOWN_CHARACTERS]


def _verb(change: FileChange, again: bool) -> str:
    undo, redo = {
        "A": ("brought back", "created again"),
        "D": ("removed", "deleted again"),
        "M": ("restored", "changed again"),
    }[change.letter]
    return redo if again else undo


def _remarks(applied: Applied) -> list[str]:
    remarks = [] if applied.saved else ["not saved, for its buffer has unsaved changes"]
    if applied.reformatted:
        remarks.append("saving changed more of it (a formatter or autocommand)")
    return remarks


def _rest(way: Way) -> list[str]:
    if not way.rest:
        return []
    return ["older changes stay, for it was changed by something else in between"]


def _shown(ran: Ran, tool: Tool | None) -> str:
    """Return a call like ``bash `make all` ``."""
    command = ran.given.get("command")
    if isinstance(command, str):
        line, *more = command.strip().split("\n")
        said = line + (" ..." if more else "")
    elif tool is not None:
        said = tool.render_call(ran.given)
    else:
        said = json.dumps(dict(ran.given), default=str)
    # The line of a call may begin with the name of its tool, as its block does.
    said = one_line(said).removeprefix(ran.tool).lstrip(": ")
    return f"{ran.tool} `{said}`" if said else ran.tool


def _guide(undo: Undo | None) -> str:
    if undo is None:
        return ""
    said = f": {one_line(undo.description)}" if undo.description else ""
    return f"{said}. By hand: {one_line(undo.guide)}" if undo.guide else said
