"""A budget that is reached: the user is asked before the next request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentchat.core.messages import Note, Reply, ToolResult, Usage
from agentchat.core.spending import Budget, Spending, Totals
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalResponse, AskModel, Effect
from agentchat.core.turn.loop import TurnEnd, turn
from tests.core.turn.world import World, a_call, a_chat, a_tool, calls

LOOK = a_tool("look", asks=False)
DOLLAR = Usage(10, 1, 11, cost=1.0)


def rounds(count: int) -> list[Reply]:
    """Replies that cost a dollar each, the last one without a call."""
    working = [calls(a_call(str(n), "look", f'{{"n": {n}}}')) for n in range(count - 1)]
    return [replace(reply, usage=DOLLAR) for reply in (*working, Reply("Done."))]


class Played(World):
    """A world that adds up what replies cost, as the interpreter does."""

    def __init__(self, replies: list[Reply], *answers: ApprovalResponse | str) -> None:
        super().__init__(replies, list(answers))

    def run(self, budget: Budget, chat: Chat | None = None) -> TurnEnd:
        self.chat = chat or a_chat(LOOK)
        self.chat.budget = budget
        end: TurnEnd = self.play(turn(self.chat))
        return end

    def perform(self, effect: Effect[Any]) -> Any:
        answer = super().perform(effect)
        if isinstance(effect, AskModel):
            self.chat.spending.add(answer.usage)
        return answer

    @property
    def reports(self) -> list[tuple[str, float, float]]:
        return [(one.scope, one.limit, one.spent) for one in self.budgets]


def test_below_the_budget_nobody_is_asked() -> None:
    world = Played(rounds(3))
    assert world.run(Budget(turn=2.5, chat=9.0, day=9.0)).reason == "stop"
    assert (world.questions, world.reports) == ([], [])


def test_a_yes_goes_on_for_the_same_amount_again() -> None:
    world = Played(rounds(7), "accept", "accept")
    world.run(Budget(turn=2.5))
    assert len(world.requests) == 7
    assert world.reports == [("turn", 2.5, 3.0), ("turn", 5.5, 6.0)]
    assert world.questions[0].question == ("Go on? This turn has cost $3.00, of a budget of $2.50.")


def test_a_no_ends_the_turn_after_the_calls_that_were_made() -> None:
    world = Played(rounds(5), ApprovalResponse("reject", "too dear"))
    end = world.run(Budget(chat=1.0))
    assert (end.reason, len(world.requests)) == ("stop", 1)
    assert "this chat has cost $1.00" in end.message
    results = [m for m in world.chat.history.messages if isinstance(m, ToolResult)]
    assert [result.text for result in results] == ["done"]
    note = world.chat.history.messages[-1]
    assert isinstance(note, Note)
    assert note.text.endswith("Reason: too dear")


def test_each_scope_asks_for_itself() -> None:
    world = Played(rounds(2), "accept", "accept", "accept")
    world.run(Budget(turn=1.0, chat=1.0, day=1.0))
    assert [scope for scope, _, _ in world.reports] == ["turn", "chat", "day"]
    text = world.questions[1].preview
    assert text is not None
    assert text.text.splitlines() == [
        "Accept goes on, for $1.00 more. Reject ends the turn.",
        "",
        "turn     $1.00  budget $1.00",
        "chat     $1.00  budget $1.00",
        "day      $1.00  budget $1.00",
    ]


def test_a_turn_begins_with_its_whole_budget_and_a_chat_does_not() -> None:
    first = Played(rounds(2), "accept")
    first.run(Budget(turn=1.0))
    again = Played(rounds(1))
    again.run(Budget(turn=1.0), first.chat)
    assert again.reports == []
    once_more = Played(rounds(1), "reject")
    once_more.run(Budget(chat=2.0), first.chat)
    assert once_more.reports == [("chat", 2.0, 3.0)]


def test_where_nobody_can_answer_the_turn_ends() -> None:
    world = Played(rounds(3))
    chat = a_chat(LOOK)
    chat.policy.attended = False
    end = world.run(Budget(turn=1.0), chat)
    assert "No user can be asked" in end.message
    assert len(world.requests) == 1


def test_a_new_day_has_the_whole_budget() -> None:
    spending, budget = Spending(day=Totals().add(DOLLAR)), Budget(day=1.0)
    spending.grant("day")
    assert spending.limit("day", budget) == pytest.approx(2.0)
    spending.set_day(Totals())
    assert spending.limit("day", budget) == pytest.approx(1.0)


def test_no_mode_goes_on_without_asking() -> None:
    world = Played(rounds(2), "reject")
    chat = a_chat(LOOK)
    chat.policy.mode = "yolo"
    world.run(Budget(turn=0.5), chat)
    assert len(world.questions) == 1
