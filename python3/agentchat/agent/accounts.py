"""Counts what a chat uses: for its status, its budget, and the ledger of the day."""

from __future__ import annotations

from typing import Protocol

from agentchat.core.messages import Reply, Usage
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.spending import Totals


class Ledger(Protocol):
    """What the chats of this machine use today."""

    def add(self, chat: str, model: str, usage: Usage) -> None:
        """Add a request."""

    def today(self) -> Totals:
        """Return what all chats used today."""


class Accounts:
    """The accounts of one chat.

    Args:
        ledger: None counts this chat only.
    """

    def __init__(self, chat: Chat, ledger: Ledger | None = None) -> None:
        self._chat = chat
        self._ledger = ledger

    def add(self, reply: Reply) -> None:
        """Add what a request used."""
        self._chat.spending.add(reply.usage)
        if self._ledger is not None and reply.usage is not None:
            self._ledger.add(self._chat.uuid, reply.model, reply.usage)
            self.refresh()

    def refresh(self) -> None:
        """Read what other chats used today."""
        if self._ledger is not None:
            self._chat.spending.day = self._ledger.today()
