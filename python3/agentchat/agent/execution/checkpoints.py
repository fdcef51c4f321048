"""Checkpoints: the state before a call is saved, so that the user can return to it.

A handler of the user saves and restores what it likes. Without one, the files that a call declares
are saved in the journal; what the call changed in them is recorded after it, as a change of files
like any other, which ``:AgentUndo`` reverts.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.limits import CHECKPOINT_BYTES
from agentchat.core.text import end_sentence
from agentchat.core.tools.call import SAVED_FILES
from agentchat.core.tools.tool import ToolContext, ToolOutput, UndoCall
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.effects import ReadyCall
from agentchat.core.workspace import FileTarget, Workspace
from agentchat.journal import records as r
from agentchat.journal.entries import undo_record
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

Run = Callable[[], Awaitable[ToolOutput]]


class Checkpoints:
    """Makes the checkpoints of one chat."""

    def __init__(self, workspace: Workspace, journal: JournalWriter, toolbox: Toolset) -> None:
        self._workspace = workspace
        self._journal = journal
        self._toolbox = toolbox

    async def run(self, ready: ReadyCall, context: ToolContext, run: Run) -> ToolOutput:
        """Run a call after its checkpoint, if it needs one.

        A checkpoint that cannot be made is the result of the call, which is then not run.
        """
        if not ready.target.checkpoint:
            return await run()
        try:
            before = await self._save(ready, context)
        except Exception as error:
            log.exception("no checkpoint could be made for %s", ready.call.call.id)
            name = ready.call.tool.name
            reason = end_sentence(str(error) or type(error).__name__)
            text = f'Checkpoint failed: {reason} "{name}" was not run.'
            return ToolOutput(text, is_error=True)
        try:
            return await run()
        finally:
            await record_changes(self._workspace, self._journal, ready.call.call.id, before)

    async def _save(self, ready: ReadyCall, context: ToolContext) -> tuple[FileChange, ...]:
        """Make the checkpoint and record it; return the files that it consists of."""
        call_id, name = ready.call.call.id, ready.target.checkpoint
        if name == SAVED_FILES:
            before = await self._read(ready.target.savable)
            self._journal.add(r.CheckpointCreated(call_id, name, self._journal.store(before)))
            return before
        handler = self._toolbox.checkpoint_handler(name)
        if handler is None:
            raise ToolError(f"there is no {name} any more.")
        saved = await handler.save(ready.call.tool.name, ready.call.raw_arguments, context)
        if handler.restore is None:
            return ()
        self._journal.add(r.CheckpointCreated(call_id, name))
        undo = UndoCall(f"{name} restores what it saved", tool=name, arguments=saved)
        self._journal.add(undo_record(call_id, undo))
        return ()

    async def _read(self, targets: Iterable[FileTarget]) -> tuple[FileChange, ...]:
        """Return each file as it is, as a change that changes nothing."""
        files, total = [], 0
        for target in targets:
            data = await _read(self._workspace, target.path)
            total += len(data or b"")
            if total > CHECKPOINT_BYTES:
                limit = CHECKPOINT_BYTES // (1024 * 1024)
                raise ToolError(f"the files of the call are larger than {limit} MiB.")
            files.append(
                FileChange(
                    path=target.path,
                    before=data,
                    after=data,
                    display_path=target.display_path,
                    mode=target.mode,
                    owner=target.owner,
                    attributes=target.attributes,
                )
            )
        return tuple(files)


async def record_changes(
    workspace: Workspace, journal: JournalWriter, call_id: str, before: Iterable[FileChange]
) -> None:
    """Record what a call changed in the files of its checkpoint, as a change that was made."""
    try:
        current = [replace(file, after=await _read(workspace, file.path)) for file in before]
    except OSError:
        log.exception("the files of the checkpoint of %s cannot be read", call_id)
        return
    changed = tuple(file for file in current if file.before != file.after)
    if changed:
        journal.add(r.ChangeStarted(call_id, journal.store(ChangeSet(changed).parts)))
        journal.add(r.ChangeApplied(call_id))


async def _read(workspace: Workspace, path: str) -> bytes | None:
    try:
        return await workspace.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
