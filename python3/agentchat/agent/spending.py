"""Counts what a chat uses: for its status, its budget, and the ledger of the day."""

from __future__ import annotations

from typing import Protocol

from agentchat.core.messages import Reply, Usage
from agentchat.core.spending import Totals
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.view import View

NO_PRICE = "The price of {} is unknown: the budget does not count its requests."
NO_TOKENS = "The server of {} reports no tokens: the budget does not count its requests."


class Ledger(Protocol):
    """What the chats of this machine use today."""

    def add(self, chat: str, model: str, usage: Usage) -> None:
        """Add a request."""

    def today(self) -> Totals:
        """Return what all chats used today."""


class SpendingRecorder:
    """Counts what the requests of one chat use.

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
        text = _not_counted(reply)
        if text and self._chat.budget.is_set and text not in self._reported:
            self._reported.add(text)
            self._view.add_note("info", text)


def _not_counted(reply: Reply) -> str:
    """Return why a budget cannot count a reply, empty if it can, or if there is no whole reply."""
    if reply.usage is not None:
        return NO_PRICE.format(reply.model) if reply.usage.cost is None else ""
    is_whole = reply.error is None and reply.finish != "cancelled"
    return NO_TOKENS.format(reply.model) if is_whole and reply.provider else ""
