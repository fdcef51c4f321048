"""A workspace that writes every change down before it is made."""

from __future__ import annotations

from agentchat.agent.scribe import Scribe
from agentchat.core.changes import ChangeSet
from agentchat.core.ports import Applied, Workspace


class RecordedWorkspace:
    """Any workspace, as one call sees it; ``source`` is the call's id.

    What is not named here is the inner workspace's own.
    """

    def __init__(self, inner: Workspace, scribe: Scribe, source: str) -> None:
        self._inner = inner
        self._scribe = scribe
        self._source = source

    async def apply(self, change: ChangeSet) -> tuple[Applied, ...]:
        """Keep the bytes before and after, then make the change."""
        self._scribe.changing(self._source, change)
        applied = await self._inner.apply(change)
        self._scribe.changed(self._source)
        return applied

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)
