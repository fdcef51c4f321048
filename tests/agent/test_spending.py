"""What a chat uses, counted as its replies come."""

from __future__ import annotations

import pytest

from agentchat.agent.spending import SpendingRecorder
from agentchat.core.messages import Reply, Usage
from agentchat.core.spending import Budget, Totals
from tests.agent.scene import KeptScreen
from tests.core.turn.world import a_chat

PRICED = Usage(10, 1, 11, cost=0.5)


class SharedLedger:
    """A ledger in which another chat has used something."""

    def __init__(self) -> None:
        self.total = Totals().add(PRICED)
        self.models: list[str] = []

    def add(self, chat: str, model: str, usage: Usage) -> None:
        self.models.append(model)
        self.total = self.total.add(usage)

    def today(self) -> Totals:
        return self.total


def reply(usage: Usage | None, **more: str) -> Reply:
    return Reply("x", usage=usage, model="m", provider=more.pop("provider", "p"), **more)  # type: ignore[arg-type]


def test_a_day_has_what_other_chats_used_too() -> None:
    chat, ledger = a_chat(), SharedLedger()
    recorder = SpendingRecorder(chat, KeptScreen(), ledger)
    recorder.refresh()
    assert chat.spending.day.cost == 0.5
    recorder.add(reply(PRICED))
    recorder.add(reply(None))
    spending = chat.spending
    assert (spending.turn.cost, spending.chat.cost, spending.day.cost) == (0.5, 0.5, 1.0)
    assert ledger.models == ["m"]


@pytest.mark.parametrize(
    ("one", "notes"),
    [
        (reply(PRICED), []),
        (reply(Usage(1, 1, 2)), ["The price of m is unknown"]),
        (reply(None), ["The server of m reports no tokens"]),
        (reply(None, provider=""), []),
        (reply(None, finish="cancelled"), []),
        (reply(None, error="no"), []),
    ],
)
def test_what_a_budget_cannot_count_is_said_once(one: Reply, notes: list[str]) -> None:
    chat, screen = a_chat(), KeptScreen()
    recorder = SpendingRecorder(chat, screen)
    recorder.add(one)
    assert screen.notes == []
    chat.budget = Budget(day=1.0)
    recorder.add(one)
    recorder.add(one)
    assert [text.partition(":")[0] for _, text in screen.notes] == notes
