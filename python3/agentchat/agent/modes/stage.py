"""Stage mode: a chat works in an overlay, and what it did is one preview at the end of a turn.

The overlay grows over the turns until the user applies or discards the preview: then it is empty
again. Rejected hunks, and what was discarded, are gone with it. The preview is the user's to
finish: the model goes on with other work, on top of it. A command that runs *isolated* has another
overlay (``execution/isolated_runs.py``): it never mixes with this one.

:class:`Stage` is the one object that holds the state:

=========  ======================================  ================================================
state      in the overlay                          ends with
=========  ======================================  ================================================
idle       its server at most; what it changed is  ``begin`` (a turn), ``_apply`` or ``_reject``
           the pending preview                     (the user's answer), ``close``
in turn    tools and commands, if the mode is      ``end``: what still runs is ended, what was
           *stage* at any time of the turn         changed becomes the preview
resolving  the preview is applied or discarded,    the end of that, whatever its outcome
           then the overlay is emptied
closed     nothing                                 –
=========  ======================================  ================================================

Every turn is *in turn*, whatever its mode: the user may change the mode at any time, and a preview
must not change under a turn that may come to work on top of it. The plan of a turn yields
``BeginStage`` and ``EndStage``; the interpreter ends what a plan left open. What can happen::

               idle                     in turn                  resolving
message        a turn begins            joins the turn           waits, then a turn begins
stop           nothing                  the turn ends            its question closes; what is being
                                                                 applied is finished
error          –                        the turn ends            the preview stays pending
mode change    *stage* starts the       *stage* starts the       waits (*stage*), else nothing
               overlay                  overlay
resolve        resolving                refused                  refused
undo, compact  a job                    refused; compact: later  waits
close          closed                   the turn ends, closed    closed after it is finished

Resolving is a job of the chat: turns and the other jobs wait for it, its question about special
files included. Should a stop abandon a job whose change has begun, ``begin`` waits for its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from enum import Enum

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.execution.overlay_command import NAMED_FILES, apply_overlay
from agentchat.agent.execution.previews import Previews
from agentchat.agent.permissions.approvals import Approvals
from agentchat.core.diff.aspects import entry_of
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.diff.hunks import hunks
from agentchat.core.errors import ToolError, Unreachable, UserError
from agentchat.core.permissions.isolation import leave_out_self_running
from agentchat.core.tools.tool import DryRunResult, Extra, ToolOutput
from agentchat.core.turn.approval_request import make_question, question_tool
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.view import View
from agentchat.core.workspace import FileTarget, Workspace
from agentchat.journal.entries import response_record
from agentchat.journal.writer import JournalWriter
from agentchat.rpc.background import BackgroundTasks
from agentchat.workspace.overlay.changes import IGNORED, is_privileged
from agentchat.workspace.overlay.git import GIT
from agentchat.workspace.overlay.workspace import OverlayWorkspace

log = logging.getLogger(__name__)

SOURCE = "stage"
ONLY_HERE = "Stage mode needs a workspace on this machine, not one over ssh or in a container."
STAGE = question_tool(SOURCE, "Ask whether changes of special files are applied.")
EDITS_ONLY = "tools.edits = 'stage' stages edits without an overlay."
RUNNING = "The agent works on top of this preview: wait for the end of the turn, or stop it."
NOT_APPLIED = "Not applied: you rejected it. Press x on the lines that you do not want to apply."
MOVED = "{} changed in the workspace while a command changed it, too. Leave it out with x."
CONSENT = "Accept applies everything that you keep. Reject applies nothing."


class StageState(Enum):
    """What happens to the overlay of stage mode, see the top of this file."""

    IDLE = "idle"
    IN_TURN = "in turn"
    RESOLVING = "resolving"
    CLOSED = "closed"


class Stage:
    """The overlay of one chat and the preview of its content; without an overlay, it refuses."""

    def __init__(
        self,
        chat: Chat,
        overlay: OverlayWorkspace | None,
        *,
        workspace: Workspace,
        previews: Previews,
        approvals: Approvals,
        view: View,
        journal: JournalWriter,
    ) -> None:
        self._chat = chat
        self._overlay = overlay
        self._workspace = workspace
        self._previews = previews
        self._approvals = approvals
        self._view = view
        self._journal = journal
        self._works = False
        self._skipped: tuple[str, ...] = ()
        self._starting = BackgroundTasks()
        self._resolving = asyncio.Lock()
        self._checking = asyncio.Lock()
        self.state = StageState.IDLE

    @property
    def _is_on(self) -> bool:
        return self._chat.policy.mode == SOURCE

    async def check(self) -> None:
        """Start the overlay; raises Unreachable with the reason why none works."""
        if self._overlay is None:
            raise Unreachable(f"{ONLY_HERE} {EDITS_ONLY}")
        async with self._checking:
            try:
                await self._overlay.ready()
            except Unreachable as error:
                raise Unreachable(f"{error} {EDITS_ONLY}") from error
        self._works = True

    async def begin(self) -> None:
        """Begin a turn; in stage mode, start the overlay. Raises UserError if none works."""
        async with self._resolving:
            self.state = StageState.IN_TURN
        if self._is_on and self._works:
            # Calls wait for it where they need it; meanwhile the model is asked.
            self._starting.start(self._start())
        elif self._is_on:
            try:
                await self.check()
            except Unreachable as error:
                raise UserError(str(error)) from error

    async def _start(self) -> None:
        with contextlib.suppress(Unreachable):  # the call that needs it reports it
            await self.check()

    async def end(self) -> None:
        """End the turn, if one began: end what still runs, and show what was changed."""
        if self.state is not StageState.IN_TURN:
            return
        try:
            await self._starting.cancel()
            await self._show_turn()
        except Exception as error:
            log.exception("the changes in the overlay cannot be shown")
            self._view.add_note("error", f"The changes in the overlay cannot be shown: {error}")
        finally:
            self.state = StageState.IDLE

    async def _show_turn(self) -> None:
        if self._overlay is None:
            return
        async with self._checking:  # the user may just change the mode
            await self._overlay.pause()
        if self._overlay.has_changes() or self._pending() is not None:
            await self.show_changes()

    async def close(self) -> None:
        """Release the overlay; changes that are pending stay on disk."""
        await self._starting.cancel()
        async with self._resolving:
            self.state = StageState.CLOSED
            if self._overlay is not None:
                await self._overlay.close()

    def has_changes(self) -> bool:
        """Whether an earlier process left changes in the overlay."""
        return self._overlay is not None and self._overlay.has_changes()

    async def restore(self) -> None:
        """Show what an earlier process left in the overlay."""
        await self.show_changes()

    async def show_changes(self) -> None:
        """Stage what is in the overlay as a preview, or show it in the place of the last one."""
        assert self._overlay is not None
        await self._overlay.update()
        change = await self._overlay.changes.change_set()
        self._report_skipped(tuple(self._overlay.changes.skipped))
        pending = self._pending()
        if change.changes_nothing:
            if pending is not None:
                self._previews.withdraw(pending)
            return
        preview = await self._make_preview(self._leave_out(change))
        if pending is None:
            self._previews.push(preview)
        else:
            self._previews.replace(replace(preview, id=pending.id))

    def _leave_out(self, change: ChangeSet) -> ChangeSet:
        """Leave out, until the user takes it in, what something runs by itself.

        And what git ignores, if that is the setting.
        """
        drops = self._chat.policy.stage_ignored == "drop"
        return ChangeSet(
            tuple(
                replace(file, left_out=True)
                if drops and _is_ignored(file)
                else leave_out_self_running(file, self._workspace.root)
                for file in change.files
            )
        )

    def _pending(self) -> Preview | None:
        return next((p for p in self._chat.previews if p.source == SOURCE and p.for_user), None)

    async def _make_preview(self, change: ChangeSet) -> Preview:
        return Preview(
            f"Turn {self._chat.turn}: {_summarise(change)}",
            SOURCE,
            self._apply_all,
            self._reject,
            preview=DryRunResult(change=change),
            make=self._apply,
            for_user=True,
            outside_turns=True,
            confirm=self._confirm,
            id=uuid.uuid4().hex,
        )

    def _report_skipped(self, skipped: tuple[str, ...]) -> None:
        """Name what no change can hold, once."""
        if skipped and skipped != self._skipped:
            names = ", ".join(skipped)
            self._view.add_note("warn", f"Left out of the preview, cannot be applied: {names}")
        self._skipped = skipped

    # --- resolving --------------------------------------------------------------------------------

    async def _apply_all(self, reason: str, extra: Extra) -> ToolOutput:
        raise ToolError(RUNNING)  # only the user resolves it, with ``make``

    async def _confirm(self, preview: DryRunResult) -> None:
        """Ask what the user's command does not decide; raises ToolError if nothing is applied."""
        assert self._overlay is not None
        assert preview.change is not None
        moved = self._overlay.changes.moved(preview.change)
        if moved:
            raise ToolError(MOVED.format(", ".join(moved)))
        await self._ask_about_special(preview.change)

    async def _apply(self, preview: DryRunResult) -> ToolOutput:
        """Apply what the user kept; then empty the overlay."""
        assert self._overlay is not None
        assert preview.change is not None
        journaled = JournaledWorkspace(self._workspace, self._journal, f"stage-{uuid.uuid4().hex}")
        async with self._resolve():
            await apply_overlay(self._overlay, journaled, preview.change)
        return ToolOutput(preview.headline or describe_applied(preview.change))

    async def _reject(self, reason: str, extra: Extra) -> None:
        assert self._overlay is not None
        async with self._resolve():
            await self._overlay.clear()

    @contextlib.asynccontextmanager
    async def _resolve(self) -> AsyncIterator[None]:
        """Keep turns from beginning; raises ToolError while one runs."""
        async with self._resolving:
            if self.state is not StageState.IDLE:
                raise ToolError(RUNNING)
            self.state = StageState.RESOLVING
            try:
                yield
            finally:
                self.state = StageState.IDLE

    async def _ask_about_special(self, change: ChangeSet) -> None:
        """Ask once about files that need approval in every mode; raises ToolError if rejected."""
        found = await asyncio.gather(*map(self._special, change.files))
        lines = [line for line in found if line]
        if not lines:
            return
        number = f"{len(lines)} special {'change' if len(lines) == 1 else 'changes'}"
        text = "\n".join((CONSENT, "", *lines))
        question = make_question(self._chat, STAGE, f"Apply {number}, too?", text)
        response = await self._approvals.ask(question)
        self._journal.add(response_record(question, response))
        if response.choice not in ("accept", "always"):
            raise ToolError(NOT_APPLIED)

    async def _special(self, file: FileChange) -> str:
        """Return a line about a change that needs approval; empty for an ordinary one."""
        if file.members:
            # Other groups are new files with ordinary names.
            asks = _is_ignored(file) and self._chat.policy.stage_ignored == "ask"
            return file.name if asks or os.path.basename(file.path) == GIT else ""
        if is_privileged(file):
            return f"{file.name} runs as its owner or group (setuid, setgid)"
        for path in file.paths:
            target = await self._locate(path)
            if target is not None and not target.ordinary:
                why = "has a second hard link" if target.hard_linked else f"is {target.zone.value}"
                return f"{file.name} {why}"
        return ""

    async def _locate(self, path: str) -> FileTarget | None:
        try:
            return await self._workspace.locate(entry_of(path))
        except ToolError:
            return None


def _summarise(change: ChangeSet) -> str:
    """Return the summary of what would be applied, and how many files are left out."""
    left_out = sum(file.left_out and not file.members for file in change.files)
    return f"{change.summary()}, {left_out} left out" if left_out else change.summary()


def _is_ignored(file: FileChange) -> bool:
    """Whether a change is the line of the files that git ignores."""
    return bool(file.members) and os.path.basename(file.path) == IGNORED


def describe_applied(change: ChangeSet) -> str:
    """Return a line for each file of a change that was applied as a whole, and one for the rest."""
    lines = []
    for file in change.files[:NAMED_FILES]:
        number = len(hunks(file))
        lines.append(f"Applied {number} of {number} hunks in {file.name}.")
    rest = len(change.files) - NAMED_FILES
    if rest > 0:
        lines.append(f"Applied all hunks in {rest} other {'file' if rest == 1 else 'files'}.")
    return "\n".join(lines)
