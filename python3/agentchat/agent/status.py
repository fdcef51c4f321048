"""What a chat is doing, as its view and other programs see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from agentchat.core.errors import UserError
from agentchat.core.tools.model import Model
from agentchat.core.tools.ports import Diagnostic, Frontend, UserQuestion
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.view import ChatStatus

ModelSource = Callable[[], Model]
"""Returns the model to ask now; raises UserError if none can be."""


def chat_status(
    chat: Chat, model: ModelSource, *, running: bool, asking: bool, request: ApprovalRequest | None
) -> ChatStatus:
    """Return the status of a chat.

    Args:
        asking: whether a tool waits for the user.
        request: the approval request that is open.
    """
    usage = chat.history.usage()
    waiting = asking or request is not None
    return ChatStatus(
        state="waiting" if waiting else "running" if running else "idle",
        prompts=request.total - request.number + 1 if request is not None else 0,
        pending=len(chat.previews),
        mode=chat.policy.mode,
        model=_name(model),
        turn=chat.turn,
        tokens=usage.total_tokens if usage is not None else 0,
        cost=usage.cost if usage is not None else None,
    )


def _name(model: ModelSource) -> str:
    try:
        return model().name
    except UserError:
        return ""


class Observer(Protocol):
    """Shows the status of a chat."""

    def refresh(self) -> None:
        """Show the status as it is now."""


class ObservedFrontend:
    """A frontend that knows whether a tool waits for the user; the chat's status shows it."""

    def __init__(self, inner: Frontend, observer: Observer) -> None:
        self._inner = inner
        self._observer = observer
        self._open = 0

    @property
    def asking(self) -> bool:
        """Whether a question is open."""
        return self._open > 0

    async def ask(self, questions: Sequence[UserQuestion]) -> Sequence[tuple[str, ...]]:
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
        self._observer.refresh()
