"""The one queue of a chat: what the user sent and the plugin noted, for the next request."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from agentchat.agent.attachments import Attachments
from agentchat.agent.chat_tools import ChatTools
from agentchat.agent.preparation import Preparation
from agentchat.core.messages import Message, Note, UserText
from agentchat.core.tools.mentions import CapturedContext
from agentchat.core.turn.view import View


@dataclass
class QueuedMessage:
    """What the user sent, until a request carries it.

    ``message`` is complete once mentions have become tools and context; ``lines`` tell the user
    what they gave.
    """

    text: str
    captured: Mapping[str, CapturedContext]
    message: UserText | None = None
    lines: tuple[str, ...] = ()


class MessageQueue:
    """Messages of the user and notes of the plugin, oldest first.

    A message waits until a request takes it. Until it is journaled and shown, an error gives it
    back to the prompt.
    """

    def __init__(
        self,
        screen: View,
        preparation: Preparation,
        tools: ChatTools,
        attachments: Attachments,
    ) -> None:
        self._screen = screen
        self._preparation = preparation
        self._tools = tools
        self._attachments = attachments
        self._waiting: list[QueuedMessage | Note] = []
        self._taken: deque[QueuedMessage] = deque()

    def put(self, text: str, captured: Mapping[str, CapturedContext]) -> None:
        """Add what the user typed; ``captured`` is what the editor had for its mentions."""
        self._waiting.append(QueuedMessage(text, captured))

    def add_note(self, text: str) -> None:
        """Add what the model must know at the next request."""
        self._waiting.append(Note(text))

    async def take(self) -> tuple[Message, ...]:
        """Return everything that waits, complete. Cancelled before the end, all of it still waits.

        Each message of the user is then shown by ``show``, in this order.
        """
        while (queued := self._incomplete()) is not None:
            await self._complete(queued)
        taken, self._waiting = self._waiting, []
        self._taken = deque(one for one in taken if isinstance(one, QueuedMessage))
        messages = (one if isinstance(one, Note) else one.message for one in taken)
        return tuple(message for message in messages if message is not None)

    def show(self, message: UserText) -> None:
        """Show a message that was taken, with what its mentions gave: it is in the journal now."""
        self._screen.add_user_message(message.display_text or message.text)
        if self._taken and self._taken[0].message is message:
            lines = self._taken.popleft().lines
            if lines:
                self._screen.add_note("info", "\n".join(lines))

    def drop(self) -> bool:
        """Forget what the user sent and nobody has seen yet; return whether there was any."""
        kept: list[QueuedMessage | Note] = [one for one in self._waiting if isinstance(one, Note)]
        dropped = len(self._waiting) > len(kept) or bool(self._taken)
        self._waiting, self._taken = kept, deque()
        return dropped

    @property
    def wants_answer(self) -> bool:
        """Whether the user sent something that no request has carried yet."""
        return any(isinstance(one, QueuedMessage) for one in self._waiting)

    def _incomplete(self) -> QueuedMessage | None:
        queued = (one for one in self._waiting if isinstance(one, QueuedMessage))
        return next((one for one in queued if one.message is None), None)

    async def _complete(self, queued: QueuedMessage) -> None:
        await self._preparation.refresh()
        text, given = self._tools.give_mentioned(queued.text)
        message = UserText(text, display_text=queued.text)
        queued.message, attached = await self._attachments.complete(message, queued.captured)
        queued.lines = (*given, *attached)
