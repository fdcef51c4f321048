"""Registers previews and resolves them, by the model's call or the user's command."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from agentchat.agent.screen import Screen
from agentchat.agent.scribe import Scribe
from agentchat.core.approval import Scope, path_scope, tool_scope
from agentchat.core.calls import Call
from agentchat.core.errors import ToolError
from agentchat.core.pending import Extra, Pending, PendingStore, discarded, resolution_details
from agentchat.core.ports import Target, Workspace
from agentchat.core.tool import Result

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

    async def stage(self, call: Call, staged: list[Pending]) -> None:
        """Register what one call staged, in order."""
        for pending in staged:
            registered = await self._registered(call, pending)
            self._store.push(registered)
            self._scribe.staged(registered)
            self._screen.stage(registered)
            self._event("AgentPreviewStaged", registered)

    async def resolve(
        self, pending: Pending, action: str, reason: str, extra: Extra = None
    ) -> Result:
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

    async def _resolve(self, pending: Pending, action: str, reason: str, extra: Extra) -> Result:
        self._scribe.resolving(pending, action)
        try:
            result = await _call_back(pending, action, reason, extra)
        except ToolError as error:
            return self._kept(pending, action, str(error))
        except Exception as error:
            log.exception("resolving %s failed", pending.label)
            prefix = "Apply failed: " if action == "apply" else ""
            return self._kept(pending, action, f"{prefix}{error}")
        return self._consumed(pending, action, reason, extra, result)

    def _kept(self, pending: Pending, action: str, text: str) -> Result:
        self._event("AgentPreviewResolved", pending, action=action, status="error")
        return Result(text, is_error=True)

    def _consumed(
        self, pending: Pending, action: str, reason: str, extra: Extra, result: Result | None
    ) -> Result:
        if pending is not self._store.standing:
            self._store.remove(pending)
            self._screen.unstage(pending)
        details = resolution_details(pending, action, reason, extra, result)
        said = result or Result(discarded(pending, reason) if action == "discard" else "")
        self._scribe.resolved(pending, action, reason)
        status = "error" if said.is_error else "success"
        self._event("AgentPreviewResolved", pending, action=action, status=status)
        return replace(said, details=details)

    async def _registered(self, call: Call, pending: Pending) -> Pending:
        change = pending.preview.change
        paths = [file.path for file in change.files] if change else []
        targets = tuple([await self._workspace.locate(path) for path in paths])
        name, definition = call.tool.name, call.tool.definition
        return replace(
            pending,
            id=uuid.uuid4().hex,
            targets=targets,
            scope=_scope(name, definition, targets),
        )

    def _event(self, name: str, pending: Pending, **more: str) -> None:
        self._changed()
        self._screen.event(name, {"label": pending.label, "source": pending.source, **more})


def _scope(name: str, definition: str, targets: tuple[Target, ...]) -> Scope:
    if all(target.ordinary for target in targets):
        return tool_scope(name, definition, bool(targets))
    return path_scope(name, definition, targets)


async def _call_back(pending: Pending, action: str, reason: str, extra: Extra) -> Result | None:
    if action == "apply":
        return await pending.apply(reason, extra)
    if pending.reject is None:
        return None
    return await pending.reject(reason, extra)
