"""What a chat shows, whoever draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agentchat.core.diff.changeset import FileChange
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview

ChatState = Literal["idle", "running", "waiting"]
BlockState = Literal[
    "streaming", "waiting", "running", "done", "failed", "rejected", "cancelled", "denied"
]


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """What ``require('agentchat').status()`` answers; ``cost`` in US dollars if known."""

    state: ChatState = "idle"
    prompts: int = 0
    pending: int = 0
    mode: str = "ask"
    model: str = ""
    turn: int = 0
    tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ToolBlock:
    """What changes of a call's block; ``None`` leaves a part as it is.

    ``body`` replaces the lines, ``append`` adds text to them (with a state: a last line of its
    own).
    """

    title: str | None = None
    tool: str | None = None
    state: BlockState | None = None
    body: Sequence[str] | None = None
    append: str | None = None


class View(Protocol):
    """Draws one chat. Calls return at once and never raise."""

    def user(self, text: str) -> None:
        """Show what the user sent."""

    def give_back(self) -> None:
        """Put what the user sent and nobody took back into the prompt."""

    def begin_reply(self) -> None:
        """Begin a message of the model."""

    def text(self, piece: str) -> None:
        """Add to the model's message."""

    def reasoning(self, piece: str) -> None:
        """Add to the model's reasoning."""

    def finish_reply(self) -> None:
        """The model's message is complete."""

    def block(self, call_id: str, change: ToolBlock) -> None:
        """Show or change the block of one call."""

    def note(self, level: str, text: str) -> None:
        """Add a line of the plugin's own to the transcript; ``level`` is ``info`` or ``error``."""

    def retry(self, text: str) -> None:
        """Show in one line, which the next retry replaces, that a request is sent again."""

    def notify(self, level: str, text: str) -> None:
        """Tell the user one line; ``level`` is ``info``, ``warn`` or ``error``."""

    def status(self, status: ChatStatus) -> None:
        """Show the chat's state."""

    def tools(self, chat: Chat) -> None:
        """Show which tools and groups a prompt can mention."""

    def event(self, name: str, data: Mapping[str, Any]) -> None:
        """Fire a ``User`` event."""

    def ask(self, prompt: str, question: ApprovalRequest) -> None:
        """Show a question under a prompt id."""

    def close_prompt(self, prompt: str) -> None:
        """Take a question away; it is answered or void."""

    def stage(self, pending: Preview) -> None:
        """Show a staged preview."""

    def propose(self, subject: str, file: FileChange) -> None:
        """Show the proposed text of a file for editing; ``subject`` is what it belongs to."""

    def unstage(self, pending: Preview) -> None:
        """Take a preview away; it is applied or discarded."""


# The old names, until every room uses the new ones.
