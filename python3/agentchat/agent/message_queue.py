"""What was sent to a chat and waits for its next request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agentchat.core.messages import Message, Note, UserText
from agentchat.core.turn.view import Screen

Completion = Callable[[UserText], Awaitable[tuple[UserText, Sequence[str]]]]
"""Adds what a message mentions, and lines about it; runs when a request is about to carry it."""


@dataclass
class _Letter:
    message: UserText | Note
    lines: Sequence[str] = ()
    completion: Completion | None = None

    async def complete(self) -> None:
        if self.completion is not None and isinstance(self.message, UserText):
            self.message, about = await self.completion(self.message)
            self.lines = [*self.lines, *about]
        self.completion = None


class Inbox:
    """Messages of the user and notes of the plugin, oldest first."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._waiting: list[_Letter] = []

    def put(
        self,
        message: UserText | Note,
        lines: Sequence[str] = (),
        completion: Completion | None = None,
    ) -> None:
        """Add a message; ``lines`` are shown with it."""
        self._waiting.append(_Letter(message, lines, completion))

    async def take(self) -> tuple[Message, ...]:
        """Return and forget everything that waits; what the user sent is shown from now on.

        Being stopped loses nothing: until the end of this, all of it still waits.
        """
        while True:
            letter = next((one for one in self._waiting if one.completion is not None), None)
            if letter is None:
                break
            await letter.complete()
        taken, self._waiting = self._waiting, []
        for letter in taken:
            if isinstance(letter.message, UserText):
                self._screen.user(letter.message.shown or letter.message.text)
        lines = [line for letter in taken for line in letter.lines]
        if lines:
            self._screen.note("info", "\n".join(lines))
        return tuple(letter.message for letter in taken)

    def drop(self) -> bool:
        """Forget what the user sent and nobody took: it goes back to the prompt."""
        kept = [letter for letter in self._waiting if isinstance(letter.message, Note)]
        dropped = len(self._waiting) > len(kept)
        self._waiting = kept
        return dropped

    @property
    def wants_answer(self) -> bool:
        """Whether the user said something that no request has carried yet."""
        return any(isinstance(letter.message, UserText) for letter in self._waiting)
