"""The queue of a chat: messages of the user and notes of the plugin, for the next request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from agentchat.agent.attachments import Attachments, CompletedMessage
from agentchat.agent.chat_tools import ChatTools
from agentchat.agent.preparation import Preparation
from agentchat.agent.prompts.expanded_prompt import ExpandedPrompt, PromptExpander
from agentchat.core.messages import Message, Note, ToolResult, UserText
from agentchat.core.tools.mentions import CapturedContext
from agentchat.core.turn.effects import PromptCall
from agentchat.core.turn.view import View


@dataclass
class QueuedMessage:
    """A message of the user.

    ``data`` is text that follows it and in which nothing is a mention or a command. ``typed`` is
    the text with its mentions of tools replaced, ``command`` the slash command that it begins with.
    ``message`` is set when these have their results; ``lines`` name for the user
    what was added.
    """

    text: str
    captured: Mapping[str, CapturedContext]
    typed: str | None = None
    command: ExpandedPrompt | None = None
    data: str = ""
    mention_calls: Mapping[str, Sequence[PromptCall]] = field(default_factory=dict)
    results: dict[str, ToolResult] = field(default_factory=dict)
    completed: CompletedMessage | None = None
    message: UserText | None = None
    lines: tuple[str, ...] = ()


class MessageQueue:
    """Messages of the user and notes of the plugin, oldest first; ``notes`` returns new ones.

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
        expander: PromptExpander,
        notes: Callable[[], Awaitable[list[tuple[str, str]]]],
    ) -> None:
        self._view = view
        self._preparation = preparation
        self._tools = tools
        self._attachments = attachments
        self._expander = expander
        self._notes = notes
        self._items: list[QueuedMessage | Note] = []

    def add(self, text: str, captured: Mapping[str, CapturedContext], data: str = "") -> None:
        """Add what the user typed.

        Args:
            captured: what the editor had for its mentions.
            data: what follows it, as it is: nothing in it is a mention or a command.
        """
        self._items.append(QueuedMessage(text, captured, data=data))

    def withdraw(self, text: str) -> None:
        """Remove the newest message of the user with this text, if it still waits."""
        for item in reversed(self._messages()):
            if item.text == text:
                self._items.remove(item)
                return

    def add_note(self, text: str) -> None:
        """Add what the model must know at the next request."""
        self._items.append(Note(text))

    async def find_calls(self) -> tuple[PromptCall, ...]:
        """Expand the messages that are new, and return what they call."""
        calls: list[PromptCall] = []
        for item in self._messages():
            if item.typed is None:
                await self._preparation.refresh()
                await self._tools.connect(item.text)
                typed, lines = self._tools.add_mentioned(item.text)
                item.command = await self._expander.expand(typed)
                item.typed, item.lines = typed, (*lines, *self._apply_command(item.command))
                item.mention_calls = await self._attachments.calls(item.text, item.captured)
                calls += item.command.calls.values() if item.command is not None else ()
                calls += chain.from_iterable(item.mention_calls.values())
        return tuple(calls)

    def give_result(self, result: ToolResult) -> None:
        """Give the result of a call to the message that needs it."""
        for item in self._messages():
            item.results[result.call_id] = result

    async def complete(self) -> tuple[Message, ...]:
        """Return messages and notes, with attachments; ``finish`` removes them one by one.

        A message that came after ``find_calls`` waits for the next request.
        """
        while (incomplete := self._find_incomplete()) is not None:
            await self._complete(incomplete)
        for name, text in await self._notes():
            self.add_note(text)
            self._view.add_note("info", f"Rules: {name}")
        messages = (item if isinstance(item, Note) else item.message for item in self._items)
        return tuple(message for message in messages if message is not None)

    def finish(self, message: UserText | Note) -> None:
        """Remove a message that is in the journal now; show one of the user."""
        item = next((item for item in self._items if _message(item) is message), None)
        if item is not None:
            self._items.remove(item)
        if isinstance(message, UserText):
            self._view.add_user_message(message.display_text or message.text)
        if isinstance(item, QueuedMessage) and item.completed is not None:
            self._attachments.confirm(item.completed)
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
        return bool(self._messages())

    def _find_incomplete(self) -> QueuedMessage | None:
        waiting = (item for item in self._messages() if item.typed is not None)
        return next((item for item in waiting if item.message is None), None)

    def _messages(self) -> list[QueuedMessage]:
        return [item for item in self._items if isinstance(item, QueuedMessage)]

    def _apply_command(self, command: ExpandedPrompt | None) -> tuple[str, ...]:
        """Give the chat the tools and the model that a command names; return lines about them."""
        if command is None:
            return ()
        lines = self._tools.add_allowed(command.expansion.tools)
        return (*lines, *self._expander.use_model(command.expansion.model))

    async def _complete(self, item: QueuedMessage) -> None:
        text, command = item.typed or "", item.command
        message = UserText(text, display_text=item.text)
        if command is not None:
            command.results = item.results
            message = UserText(command.text(), display_text=item.text, images=command.images())
            item.lines = (*command.lines(), *item.lines)
        item.completed = await self._attachments.complete(
            message, item.captured, item.mention_calls, item.results
        )
        item.message = _with_data(item.completed.message, item.data)
        item.lines = (*item.lines, *item.completed.lines)


def _with_data(message: UserText, data: str) -> UserText:
    """Return a message with text below it that nobody typed into the prompt."""
    if not data:
        return message
    text, shown = (
        "\n\n".join(filter(None, (part, data))) for part in (message.text, message.display_text)
    )
    return replace(message, text=text, display_text=shown)


def _message(item: QueuedMessage | Note) -> Message | None:
    return item if isinstance(item, Note) else item.message
