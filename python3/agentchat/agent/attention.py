"""The user's attention: while a tool asks for it, the chat waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentchat.core.tools.ports import Diagnostic, Frontend, Inquiry


class Attention:
    """A frontend that knows whether a question of a tool is open; ``changed`` hears of it."""

    def __init__(self, inner: Frontend, changed: Callable[[], None]) -> None:
        self._inner = inner
        self._changed = changed
        self._open = 0

    @property
    def wanted(self) -> bool:
        """Whether a question is open."""
        return self._open > 0

    async def ask(self, questions: Sequence[Inquiry]) -> Sequence[tuple[str, ...]]:
        """Ask the user; the chat waits meanwhile."""
        self._count(1)
        try:
            return await self._inner.ask(questions)
        finally:
            self._count(-1)

    async def diagnostics(
        self, path: str | None = None, severity: str | None = None
    ) -> Sequence[Diagnostic]:
        """Return the editor's diagnostics."""
        return await self._inner.diagnostics(path, severity)

    def _count(self, change: int) -> None:
        self._open += change
        self._changed()
