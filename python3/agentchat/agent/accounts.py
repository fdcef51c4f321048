"""Counts what a chat uses: for its status, its budget, and the ledger of the day."""

from __future__ import annotations

from typing import Protocol

from agentchat.core.messages import Reply, Usage
from agentchat.core.spending import Totals
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View

NOT_COUNTED = "The price of {} is unknown: the budget does not count its requests."


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

    def __init__(self, chat: Chat, view: View, ledger: Ledger | None = None) -> None:
        self._chat = chat
        self._view = view
        self._ledger = ledger
        self._reported: set[str] = set()

    def add(self, reply: Reply) -> None:
        """Add what a request used."""
        self._chat.spending.add(reply.usage)
        self._report_unknown(reply)
        if self._ledger is not None and reply.usage is not None:
            self._ledger.add(self._chat.uuid, reply.model, reply.usage)
            self.refresh()

    def refresh(self) -> None:
        """Read what other chats used today."""
        if self._ledger is not None:
            self._chat.spending.set_day(self._ledger.today())

    def _report_unknown(self, reply: Reply) -> None:
        """Tell the user, once for each model, that a budget does not count it."""
        is_known = reply.usage is None or reply.usage.cost is not None
        if is_known or not self._chat.budget.is_set or reply.model in self._reported:
            return
        self._reported.add(reply.model)
        self._view.add_note("info", NOT_COUNTED.format(reply.model))
