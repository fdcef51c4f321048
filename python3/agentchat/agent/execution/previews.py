"""Registers previews and resolves them, by the model's call or the user's command."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.permissions.grants import Scope, hides_characters, path_scope, tool_scope
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import Extra, StagedChange, ToolOutput
from agentchat.core.turn.effects import Action
from agentchat.core.turn.hunk_decisions import rebase_change
from agentchat.core.turn.preview_stack import (
    Preview,
    PreviewStack,
    discard_message,
    make_preview,
    resolution_details,
)
from agentchat.core.turn.view import View
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

GRACE_SECONDS = 0.8
"""How long a stop waits for a resolution that has begun, so that it shows the true state."""


class Previews:
    """The previews of one chat: in the store, on screen and in the journal."""

    def __init__(
        self,
        store: PreviewStack,
        workspace: Workspace,
        view: View,
        scribe: JournalWriter,
        changed: Callable[[], None],
        tell: Callable[[str], None],
    ) -> None:
        self._changed = changed
        self._tell = tell
        self._resolving: dict[str, asyncio.Task[ToolOutput]] = {}
        self._store = store
        self._workspace = workspace
        self._view = view
        self._scribe = scribe

    async def stage(self, call: ValidCall, staged: list[StagedChange]) -> None:
        """Register what one call staged, in order; what joined a preview takes its place."""
        for one in staged:
            earlier = self.collected() if one.collects else None
            registered = await self._registered(call, one)
            if earlier is not None:
                self.replace(_in_place_of(earlier, registered))
                continue
            self._store.push(registered)
            self._scribe.record_preview_staged(registered)
            self._view.stage(registered)
            self._event("AgentPreviewStaged", registered)

    def collected(self) -> Preview | None:
        """Return the preview that calls of this reply may join.

        One of an earlier reply is resolved by now, or nothing but ``resolve`` runs.
        """
        return next((one for one in self._store if one.collects), None)

    async def refresh(self, pending: Preview) -> Preview:
        """Rebase a preview on what its files are now, and show it under the same id.

        Returns the preview itself if nothing changed.

        Raises:
            StalePreview: a file changed where the preview does.
        """
        try:
            fresh = await self._rebased(pending)
        except StalePreview:
            self._event("AgentPreviewResolved", pending, action="apply", status="error")
            raise
        if fresh is not pending:
            self.replace(fresh)
        return fresh

    def replace(self, pending: Preview) -> None:
        """Show a preview in the place of the one with its id."""
        self._store.replace(pending)
        self._scribe.record_preview_staged(pending)
        self._view.stage(pending)

    async def resolve(
        self, pending: Preview, action: Action, reason: str, extra: Extra = None
    ) -> ToolOutput:
        """Apply or discard a preview; what raises becomes an error result and stays pending.

        A resolution that has begun is not torn apart when the caller is cancelled: files, journal
        and stack must agree. It gets a moment to end; one that makes a change of files ends in
        its own time, a callback of a tool is cancelled then. The model is told how it ended.

        Raises:
            StalePreview: a file changed since the preview was shown, and nothing was done.
        """
        if pending.id in self._resolving:
            raise ToolError(f"{pending.label} is being resolved: wait until that has ended.")
        task = asyncio.ensure_future(self._resolve(pending, action, reason, extra))
        self._resolving[pending.id] = task
        task.add_done_callback(lambda _: self._resolving.pop(pending.id, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
            if task.done() and not task.cancelled():
                return task.result()
            task.add_done_callback(lambda done: self._report_late(pending, action, done))
            if pending.make is None or action == "discard":
                task.cancel()
            raise

    def _report_late(
        self, pending: Preview, action: Action, done: asyncio.Task[ToolOutput]
    ) -> None:
        """Report how a resolution ended whose call was cancelled."""
        if done.cancelled():
            return
        error = done.exception()
        if error is not None and not isinstance(error, ToolError):
            log.error("resolving %s failed", pending.label, exc_info=error)
        ended = str(error) if error is not None else done.result().text
        word = {"apply": "applied", "discard": "discarded"}[action]
        failed = error is not None or done.result().is_error
        what = f"could not be {word}" if failed else f"was {word} all the same"
        self._tell(
            f"The preview {pending.label!r} {what}: that had begun before the stop.\n{ended}"
        )

    async def _resolve(
        self, pending: Preview, action: Action, reason: str, extra: Extra
    ) -> ToolOutput:
        self._scribe.record_preview_resolving(pending, action)
        try:
            result = await _call_back(pending, action, reason, extra)
        except StalePreview as stale:
            if pending.make is not None:
                raise
            return self._kept(pending, action, str(stale))
        except ToolError as error:
            return self._kept(pending, action, str(error))
        except Exception as error:
            log.exception("resolving %s failed", pending.label)
            prefix = "Apply failed: " if action == "apply" else ""
            return self._kept(pending, action, f"{prefix}{error}")
        return await self._consumed(pending, action, reason, extra, result)

    def _kept(self, pending: Preview, action: Action, text: str) -> ToolOutput:
        self._event("AgentPreviewResolved", pending, action=action, status="error")
        return ToolOutput(text, is_error=True)

    async def _consumed(
        self, pending: Preview, action: Action, reason: str, extra: Extra, result: ToolOutput | None
    ) -> ToolOutput:
        if any(pending.id == other.id for other in self._store):
            self._store.remove(pending)
            self._view.unstage(pending)
        details = resolution_details(pending, action, reason, extra, result)
        said = result or ToolOutput(discard_message(pending, reason) if action == "discard" else "")
        self._scribe.record_preview_resolved(pending, action, reason)
        if action == "apply":
            # Before anybody knows: who resolves the next one then has seen it as it is.
            await self._rebase_older(pending)
        status = "error" if said.is_error else "success"
        self._event("AgentPreviewResolved", pending, action=action, status=status)
        return replace(said, details=details)

    async def _rebase_older(self, applied: Preview) -> None:
        """Put the older previews of the files that were just changed on top of that."""
        paths = set(_paths(applied))
        for other in list(self._store):
            if not paths.intersection(_paths(other)):
                continue
            with contextlib.suppress(StalePreview):
                fresh = await self._rebased(other)
                if fresh is not other:
                    self.replace(fresh)

    async def _rebased(self, pending: Preview) -> Preview:
        """Return the preview on top of what its files are now; raises StalePreview."""
        change = pending.preview.change
        if change is None or pending.make is None:
            return pending
        now = {file.origin: await self._bytes(file.origin) for file in change.files}
        moved = rebase_change(change, now)
        if moved is change:
            return pending
        proposed = pending.proposed
        if proposed is not None:
            with contextlib.suppress(StalePreview):
                proposed = rebase_change(proposed, now)
        preview = replace(pending.preview, change=moved, places=())
        return replace(pending, preview=preview, proposed=proposed)

    async def _bytes(self, path: str) -> bytes | None:
        """Return what a file is now; where it cannot be read there is none to change."""
        try:
            return await self._workspace.read(path)
        except OSError:
            return None

    async def _registered(self, call: ValidCall, staged: StagedChange) -> Preview:
        targets = tuple([await self._workspace.locate(path) for path in _paths(staged)])
        pending = make_preview(staged, uuid.uuid4().hex, targets, None)
        return replace(pending, scope=_scope(call, pending))

    def _event(self, name: str, pending: Preview, **more: str) -> None:
        self._changed()
        self._view.event(name, {"label": pending.label, "source": pending.source, **more})


def _paths(pending: StagedChange) -> tuple[str, ...]:
    change = pending.preview.change
    return change.paths if change is not None else ()


def _in_place_of(earlier: Preview, pending: Preview) -> Preview:
    """Return a preview under the id of the one it adds to; what the user edited stays known."""
    change, edited = pending.preview.change, earlier.proposed
    proposed = None
    if edited is not None and change is not None:
        mine = {file.path: file.after for file in edited.files}
        proposed = ChangeSet(
            tuple(replace(file, after=mine.get(file.path, file.after)) for file in change.files)
        )
    return replace(pending, id=earlier.id, proposed=proposed)


def _scope(call: ValidCall, pending: Preview) -> Scope | None:
    if hides_characters(call):
        return None
    """Return what *always* would mean: the tool on ordinary files, else these very paths."""
    name, definition, targets = call.tool.name, call.tool.definition, pending.targets
    unusual = pending.destructive or len(pending.collects) > 1
    if not unusual and all(target.ordinary for target in targets):
        return tool_scope(name, definition, bool(targets))
    # The paths of collected edits differ each time: an answer for them would never hold again.
    return None if pending.collects else path_scope(name, definition, targets)


async def _call_back(
    pending: Preview, action: Action, reason: str, extra: Extra
) -> ToolOutput | None:
    if action == "apply":
        if pending.make is not None:
            return await pending.make(pending.preview)
        return await pending.apply(reason, extra)
    if pending.reject is None:
        return None
    return await pending.reject(reason, extra)
