"""What requests used, summed up."""

from __future__ import annotations

from agentchat.core.messages import Usage
from agentchat.core.spending import Spending, Totals

CHEAP = Usage(10, 2, 12, 0.5, cache_read_tokens=8, cache_write_tokens=1)


def test_a_sum_has_all_tokens_and_the_cost() -> None:
    total = Totals().add(CHEAP).add(CHEAP).add(None)
    assert total.requests == 2
    assert total.usage == Usage(20, 4, 24, 1.0, cache_read_tokens=16, cache_write_tokens=2)
    assert total.cost == 1.0


def test_one_request_without_a_price_makes_the_cost_unknown() -> None:
    total = Totals().add(CHEAP).add(Usage(5, 5, 10))
    assert (total.cost, total.known_cost, total.unpriced) == (None, 0.5, 1)


def test_nothing_used_has_no_cost() -> None:
    assert Totals().cost is None


def test_a_turn_is_counted_from_nothing_and_the_chat_goes_on() -> None:
    spending = Spending(chat=Totals().add(CHEAP))
    spending.add(CHEAP)
    spending.begin_turn()
    spending.add(CHEAP)
    assert (spending.turn.cost, spending.chat.cost) == (0.5, 1.5)
