"""What was sent to a chat and waits for its next request."""

from __future__ import annotations

from collections.abc import Sequence

from agentchat.agent.screen import Screen
from agentchat.core.messages import Message, Note, UserText


class Inbox:
    """Messages of the user and notes of the plugin, oldest first."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._waiting: list[UserText | Note] = []
        self._context: list[str] = []

    def put(self, message: UserText | Note, context: Sequence[str] = ()) -> None:
        """Add a message; ``context`` are lines that are shown with it."""
        self._waiting.append(message)
        self._context += context

    def take(self) -> tuple[Message, ...]:
        """Return and forget everything that waits; what the user sent is shown from now on."""
        taken, self._waiting = tuple(self._waiting), []
        for message in taken:
            if isinstance(message, UserText):
                self._screen.user(message.shown or message.text)
        lines, self._context = self._context, []
        if lines:
            self._screen.note("info", "\n".join(lines))
        return taken

    def drop(self) -> bool:
        """Forget what the user sent and nobody took: it goes back to the prompt."""
        kept = [message for message in self._waiting if isinstance(message, Note)]
        dropped = len(self._waiting) > len(kept)
        self._waiting = list(kept)
        return dropped

    @property
    def wants_answer(self) -> bool:
        """Whether the user said something that no request has carried yet."""
        return any(isinstance(message, UserText) for message in self._waiting)
