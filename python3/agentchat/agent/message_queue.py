"""The queue of a chat: messages of the user and notes of the plugin, for the next request."""

from __future__ import annotations

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
    """A message of the user.

    ``message`` is set when its mentions have become tools and attachments; ``lines`` name these
    for the user.
    """

    text: str
    captured: Mapping[str, CapturedContext]
    message: UserText | None = None
    lines: tuple[str, ...] = ()


class MessageQueue:
    """Messages of the user and notes of the plugin, oldest first.

    Each stays in the queue until it is journaled. Before that an error returns a message to the
    prompt, and a note waits for the next turn.
    """

    def __init__(
        self,
        *,
        view: View,
        preparation: Preparation,
        tools: ChatTools,
        attachments: Attachments,
    ) -> None:
        self._view = view
        self._preparation = preparation
        self._tools = tools
        self._attachments = attachments
        self._items: list[QueuedMessage | Note] = []

    def add(self, text: str, captured: Mapping[str, CapturedContext]) -> None:
        """Add what the user typed; ``captured`` is what the editor had for its mentions."""
        self._items.append(QueuedMessage(text, captured))

    def add_note(self, text: str) -> None:
        """Add what the model must know at the next request."""
        self._items.append(Note(text))

    async def complete(self) -> tuple[Message, ...]:
        """Return all messages and notes, with attachments; ``finish`` removes them one by one."""
        while (incomplete := self._find_incomplete()) is not None:
            await self._complete(incomplete)
        messages = (item if isinstance(item, Note) else item.message for item in self._items)
        return tuple(message for message in messages if message is not None)

    def finish(self, message: UserText | Note) -> None:
        """Remove a message that is in the journal now; show one of the user."""
        item = next((item for item in self._items if _message(item) is message), None)
        if item is not None:
            self._items.remove(item)
        if isinstance(message, UserText):
            self._view.add_user_message(message.display_text or message.text)
        if isinstance(item, QueuedMessage) and item.lines:
            self._view.add_note("info", "\n".join(item.lines))

    def drop_messages(self) -> bool:
        """Remove all messages of the user, not the notes; return whether there was one."""
        has_messages = self.has_messages
        self._items = [item for item in self._items if isinstance(item, Note)]
        return has_messages

    @property
    def has_messages(self) -> bool:
        """Whether a message of the user waits for a request."""
        return any(isinstance(item, QueuedMessage) for item in self._items)

    def _find_incomplete(self) -> QueuedMessage | None:
        messages = (item for item in self._items if isinstance(item, QueuedMessage))
        return next((item for item in messages if item.message is None), None)

    async def _complete(self, item: QueuedMessage) -> None:
        await self._preparation.refresh()
        await self._tools.connect(item.text)
        text, tool_lines = self._tools.add_mentioned(item.text)
        message = UserText(text, display_text=item.text)
        item.message, lines = await self._attachments.complete(message, item.captured)
        item.lines = (*tool_lines, *lines)


def _message(item: QueuedMessage | Note) -> Message | None:
    return item if isinstance(item, Note) else item.message
