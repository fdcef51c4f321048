"""Registers previews and resolves them, by the model's call or the user's command."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from agentchat.agent.scribe import Scribe
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.hunk_decisions import rebased
from agentchat.core.errors import Stale, ToolError
from agentchat.core.permissions.grants import Scope, hides_characters, path_scope, tool_scope
from agentchat.core.tools.call import Call
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import Extra, Result, Staged
from agentchat.core.turn.effects import Moved
from agentchat.core.turn.preview_stack import (
    Pending,
    PendingStore,
    discarded,
    pended,
    resolution_details,
)
from agentchat.core.turn.view import Screen

log = logging.getLogger(__name__)

GRACE_SECONDS = 1.0
"""How long a stop waits for an apply that has begun, so that the state shown is the true one."""


class Staging:
    """The previews of one chat: in the store, on screen and in the journal."""

    def __init__(
        self,
        store: PendingStore,
        workspace: Workspace,
        screen: Screen,
        scribe: Scribe,
        changed: Callable[[], None],
    ) -> None:
        self._changed = changed
        self._store = store
        self._workspace = workspace
        self._screen = screen
        self._scribe = scribe

    async def stage(self, call: Call, staged: list[Staged]) -> None:
        """Register what one call staged, in order; what joined a preview takes its place."""
        for one in staged:
            earlier = self.collected() if one.collects else None
            registered = await self._registered(call, one)
            if earlier is not None:
                self.replace(_in_place_of(earlier, registered))
                continue
            self._store.push(registered)
            self._scribe.staged(registered)
            self._screen.stage(registered)
            self._event("AgentPreviewStaged", registered)

    def collected(self) -> Pending | None:
        """Return the preview that calls of this reply may join.

        One of an earlier reply is resolved by now, or nothing but ``resolve`` runs.
        """
        return next((one for one in self._store if one.collects), None)

    async def refresh(self, pending: Pending) -> Pending | str:
        """Put a preview on top of what its files are now, shown anew under the same id.

        Returns the preview itself if nothing moved, and why not where the place itself changed.
        """
        fresh = await self._rebased(pending)
        if isinstance(fresh, str):
            self._event("AgentPreviewResolved", pending, action="apply", status="error")
        elif fresh is not pending:
            self.replace(fresh)
        return fresh

    def replace(self, pending: Pending) -> None:
        """Show a preview anew in the place of the one with its id."""
        self._store.replace(pending)
        self._scribe.staged(pending)
        self._screen.stage(pending)

    async def resolve(
        self, pending: Pending, action: str, reason: str, extra: Extra = None
    ) -> Result | Moved:
        """Apply or discard a preview; what raises becomes an error result and stays pending.

        Once begun this runs to its end even if the caller is cancelled, for files and store
        must agree.
        """
        task = asyncio.ensure_future(self._resolve(pending, action, reason, extra))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
            task.cancel()
            raise

    async def _resolve(
        self, pending: Pending, action: str, reason: str, extra: Extra
    ) -> Result | Moved:
        self._scribe.resolving(pending, action)
        try:
            result = await _call_back(pending, action, reason, extra)
        except Stale as stale:
            if pending.make is not None:
                return Moved(stale.path, str(stale))
            return self._kept(pending, action, str(stale))
        except ToolError as error:
            return self._kept(pending, action, str(error))
        except Exception as error:
            log.exception("resolving %s failed", pending.label)
            prefix = "Apply failed: " if action == "apply" else ""
            return self._kept(pending, action, f"{prefix}{error}")
        return await self._consumed(pending, action, reason, extra, result)

    def _kept(self, pending: Pending, action: str, text: str) -> Result:
        self._event("AgentPreviewResolved", pending, action=action, status="error")
        return Result(text, is_error=True)

    async def _consumed(
        self, pending: Pending, action: str, reason: str, extra: Extra, result: Result | None
    ) -> Result:
        if any(pending.id == other.id for other in self._store):
            self._store.remove(pending)
            self._screen.unstage(pending)
        details = resolution_details(pending, action, reason, extra, result)
        said = result or Result(discarded(pending, reason) if action == "discard" else "")
        self._scribe.resolved(pending, action, reason)
        if action == "apply":
            # Before anybody hears of it: who resolves the next one then has seen it as it is.
            await self._preview_anew(pending)
        status = "error" if said.is_error else "success"
        self._event("AgentPreviewResolved", pending, action=action, status=status)
        return replace(said, details=details)

    async def _preview_anew(self, applied: Pending) -> None:
        """Put the older previews of the files that were just changed on top of that."""
        paths = set(_paths(applied))
        for other in list(self._store):
            if paths.intersection(_paths(other)):
                fresh = await self._rebased(other)
                if isinstance(fresh, Pending) and fresh is not other:
                    self.replace(fresh)

    async def _rebased(self, pending: Pending) -> Pending | str:
        """Return the preview on top of what its files are now, or why it cannot be."""
        change = pending.preview.change
        if change is None or pending.make is None:
            return pending
        now = {file.origin: await self._bytes(file.origin) for file in change.files}
        moved = rebased(change, now)
        if isinstance(moved, str):
            return str(Stale(moved))
        if moved is change:
            return pending
        first = rebased(pending.proposed, now) if pending.proposed else None
        proposed = first if isinstance(first, ChangeSet) else pending.proposed
        preview = replace(pending.preview, change=moved)
        return replace(pending, preview=preview, proposed=proposed)

    async def _bytes(self, path: str) -> bytes | None:
        """Return what a file is now; where it cannot be read there is none to change."""
        try:
            return await self._workspace.read(path)
        except OSError:
            return None

    async def _registered(self, call: Call, staged: Staged) -> Pending:
        targets = tuple([await self._workspace.locate(path) for path in _paths(staged)])
        pending = pended(staged, uuid.uuid4().hex, targets, None)
        return replace(pending, scope=_scope(call, pending))

    def _event(self, name: str, pending: Pending, **more: str) -> None:
        self._changed()
        self._screen.event(name, {"label": pending.label, "source": pending.source, **more})


def _paths(pending: Staged) -> tuple[str, ...]:
    change = pending.preview.change
    return change.paths if change is not None else ()


def _in_place_of(earlier: Pending, pending: Pending) -> Pending:
    """Return a preview under the id of the one it adds to; what the user edited stays known."""
    change, edited = pending.preview.change, earlier.proposed
    proposed = None
    if edited is not None and change is not None:
        mine = {file.path: file.after for file in edited.files}
        proposed = ChangeSet(
            tuple(replace(file, after=mine.get(file.path, file.after)) for file in change.files)
        )
    return replace(pending, id=earlier.id, proposed=proposed)


def _scope(call: Call, pending: Pending) -> Scope | None:
    """Return what *always* would mean: the tool on ordinary files, else these very paths."""
    if hides_characters(call):
        return None
    name, definition, targets = call.tool.name, call.tool.definition, pending.targets
    unusual = pending.destructive or len(pending.collects) > 1
    if not unusual and all(target.ordinary for target in targets):
        return tool_scope(name, definition, bool(targets))
    return path_scope(", ".join(pending.collects) or name, definition, targets)


async def _call_back(pending: Pending, action: str, reason: str, extra: Extra) -> Result | None:
    if action == "apply":
        if pending.make is not None:
            return await pending.make(pending.preview)
        return await pending.apply(reason, extra)
    if pending.reject is None:
        return None
    return await pending.reject(reason, extra)
