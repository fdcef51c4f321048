"""The port through which a chat is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.frozen import frozen
from agentchat.core.tools.todo import TodoItem
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview

ChatState = Literal["idle", "running", "waiting"]
BlockState = Literal[
    "streaming", "waiting", "running", "done", "failed", "rejected", "cancelled", "denied"
]


@frozen
class ChatStatus:
    """The answer of ``require('agentchat').status()``; ``cost`` in US dollars if known."""

    state: ChatState = "idle"
    prompts: int = 0
    pending: int = 0
    mode: str = "ask"
    model: str = ""
    turn: int = 0
    tokens: int = 0
    cost: float | None = None
    context: Mapping[str, int] = field(default_factory=dict)
    """``used`` and, if it is known, ``window``: tokens."""
    agent: Mapping[str, str] | None = None
    """``name``, ``version``, ``session`` and ``state`` of the agent that the chat is with."""


@frozen
class ToolBlock:
    """Changes of a call's block; ``None`` leaves a part unchanged.

    ``body`` replaces the lines; ``append`` adds text to them (with a state: a last line of its
    own). ``diff`` are the lines of what it changed in files, ``counts`` stands for them in the
    header, like ``+3 -1``. ``tag`` is the last part of the header: how the call ran. ``seconds`` is
    how long the call of a resumed chat took.
    """

    title: str | None = None
    tool: str | None = None
    state: BlockState | None = None
    body: Sequence[str] | None = None
    append: str | None = None
    diff: Sequence[str] | None = None
    counts: str | None = None
    seconds: float | None = None
    tag: str | None = None


@frozen
class ChangesPage:
    """The review of what was changed; ``turn`` is ``None`` for all of the chat.

    ``stamps`` are those of the files of ``change``; ``notes`` are lines about what is not shown.
    """

    title: str
    turn: int | None
    change: ChangeSet
    stamps: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Observer(Protocol):
    """The session of a chat, as its parts see it."""

    def refresh(self) -> None:
        """Show the status of the chat as it is now."""

    def add_note(self, text: str) -> None:
        """Add what the model must know at the next request."""


class View(Protocol):
    """Draws one chat. Calls return at once and never raise."""

    def add_user_message(self, text: str) -> None:
        """Show what the user sent."""

    def recall_prompts(self, texts: Sequence[str], title: str) -> None:
        """Offer what the user sent earlier again, the newest last; ``title`` names the chat."""

    async def prepend(self, draw: Callable[[], None], *, continues: bool) -> None:
        """Show the messages that ``draw`` draws above all others; return once they are drawn.

        Args:
            continues: the message before them belongs to the same turn.
        """

    def restore_prompt(self) -> None:
        """Put the messages that no request has carried back into the prompt."""

    def begin_reply(self) -> None:
        """Start a message of the model."""

    def add_text(self, piece: str) -> None:
        """Add to the model's message."""

    def add_reasoning(self, piece: str) -> None:
        """Add to the model's reasoning."""

    def end_reasoning(self, title: str) -> None:
        """End the reasoning; ``title`` stands for it where it is folded."""

    def finish_reply(self) -> None:
        """End the model's message."""

    def update_block(self, call_id: str, change: ToolBlock) -> None:
        """Show or change the block of one call."""

    def add_note(self, level: str, text: str) -> None:
        """Add a line of the plugin to the transcript; ``level`` is ``info`` or ``error``."""

    def show_activity(self, text: str, seconds: float = 0) -> None:
        """Show in one line what the chat waits for, until anything else is shown.

        Args:
            seconds: after which it tries again.
        """

    def notify(self, level: str, text: str) -> None:
        """Notify the user in one line; ``level`` is ``info``, ``warn`` or ``error``."""

    def show_status(self, status: ChatStatus) -> None:
        """Show the chat's state."""

    def show_tools(self, chat: Chat) -> None:
        """Show which tools and groups a prompt can mention."""

    def show_todo(self, items: Sequence[TodoItem]) -> None:
        """Show the todo list."""

    def fire_event(self, name: str, data: Mapping[str, Any]) -> None:
        """Fire a ``User`` event."""

    def show_request(self, id: str, request: ApprovalRequest) -> None:
        """Show an approval request."""

    def close_request(self, id: str) -> None:
        """Close an approval request: it is answered or void."""

    def show_preview(self, preview: Preview) -> None:
        """Show a staged preview."""

    def show_proposed_text(self, subject: str, file: FileChange) -> None:
        """Show the proposed text of a file for editing; ``subject`` is what it belongs to."""

    def show_changes(self, page: ChangesPage) -> None:
        """Show what was changed, or what is left of it; nothing left closes it."""

    def close_preview(self, preview: Preview) -> None:
        """Close a preview that is applied or discarded."""
