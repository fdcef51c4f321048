"""The status of a chat: what it does, waits for and has used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from agentchat.agent.jobs import BackgroundJobs
from agentchat.core.errors import UserError
from agentchat.core.frontend import Diagnostic, Frontend, UserQuestion
from agentchat.core.messages import Reply
from agentchat.core.model import Model
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import ChatStatus, Observer


class ModelSource(Protocol):
    """Chooses the model of a chat."""

    def current(self) -> Model:
        """Return the model to ask now; raises UserError if there is none."""


def chat_status(
    chat: Chat,
    model: ModelSource,
    *,
    running: bool,
    asking: bool,
    requests: int,
    agent: Mapping[str, str] | None = None,
) -> ChatStatus:
    """Return the status of a chat.

    Args:
        asking: whether a tool waits for the user.
        requests: how many approval requests wait.
        agent: the agent of another program that the chat is with.
    """
    usage = chat.history.usage()
    waiting = asking or requests > 0
    return ChatStatus(
        state="waiting" if waiting else "running" if running else "idle",
        prompts=requests,
        pending=len(chat.previews),
        mode=chat.policy.mode,
        model=_model_name(model),
        turn=chat.turn,
        tokens=usage.total_tokens if usage is not None else 0,
        cost=chat.spending.chat.cost,
        context=_context(chat),
        agent=agent,
    )


def _context(chat: Chat) -> dict[str, int]:
    used = {"used": chat.used_tokens()}
    return used if chat.window is None else {**used, "window": chat.window}


def _model_name(model: ModelSource) -> str:
    try:
        return model.current().name
    except UserError:
        return ""


class ContextWindow:
    """Keeps the context window of the chat's model up to date."""

    def __init__(
        self, chat: Chat, model: ModelSource, tasks: BackgroundJobs, observer: Observer
    ) -> None:
        self._chat = chat
        self._model = model
        self._tasks = tasks
        self._observer = observer
        self._asked_model: Model | None = None

    def update(self) -> None:
        """Take over the window of the model; ask its server, once a first answer has come."""
        try:
            model = self._model.current()
        except UserError:
            self._chat.window = None
            return
        self._chat.window = model.window
        has_reply = any(isinstance(message, Reply) for message in self._chat.history.messages)
        if model.window is None and model is not self._asked_model and has_reply:
            self._asked_model = model
            self._tasks.start(self._learn(model), "asking for the context window")

    async def _learn(self, model: Model) -> None:
        await model.learn_window()
        self._observer.refresh()


class ObservedFrontend:
    """A frontend that counts the questions of tools; the chat's status shows that one is open."""

    def __init__(self, inner: Frontend, observer: Observer) -> None:
        self._inner = inner
        self._observer = observer
        self._open = 0

    @property
    def asking(self) -> bool:
        """Whether a question is open."""
        return self._open > 0

    async def ask(self, questions: Sequence[UserQuestion]) -> Sequence[tuple[str, ...]]:
        """Ask the user; the status is ``waiting`` until the answer."""
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
