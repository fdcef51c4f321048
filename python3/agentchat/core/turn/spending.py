"""What a chat has used and cost so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentchat.core.messages import History, Reply, Usage


@dataclass(frozen=True, slots=True)
class Totals:
    """What some requests used together.

    Args:
        usage: the sum; its cost, in US dollars, is that of the requests whose price is known.
        unpriced: the number of the others.
    """

    requests: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost=0.0))
    unpriced: int = 0

    @property
    def cost(self) -> float | None:
        """US dollars; None if there is no request, or one without a price."""
        return None if self.unpriced or not self.requests else self.usage.cost

    @property
    def known_cost(self) -> float:
        """US dollars of the requests whose price is known."""
        return self.usage.cost or 0.0

    def add(self, usage: Usage | None) -> Totals:
        """Return the totals with one more request; without a count it adds nothing."""
        if usage is None:
            return self
        before = self.usage
        total = Usage(
            prompt_tokens=before.prompt_tokens + usage.prompt_tokens,
            completion_tokens=before.completion_tokens + usage.completion_tokens,
            total_tokens=before.total_tokens + usage.total_tokens,
            cost=self.known_cost + (usage.cost or 0.0),
            cache_read_tokens=before.cache_read_tokens + usage.cache_read_tokens,
            cache_write_tokens=before.cache_write_tokens + usage.cache_write_tokens,
        )
        return Totals(self.requests + 1, total, self.unpriced + (usage.cost is None))


def totals_of(history: History) -> Totals:
    """Return what the replies of a history used."""
    totals = Totals()
    for message in history.messages:
        totals = totals.add(message.usage) if isinstance(message, Reply) else totals
    return totals


@dataclass
class Spending:
    """What the running turn, the chat, and today's chats of this machine have used."""

    turn: Totals = field(default_factory=Totals)
    chat: Totals = field(default_factory=Totals)
    day: Totals = field(default_factory=Totals)

    def begin_turn(self) -> None:
        """Count a turn from nothing."""
        self.turn = Totals()

    def add(self, usage: Usage | None) -> None:
        """Add a request of this chat."""
        self.turn, self.chat = self.turn.add(usage), self.chat.add(usage)
        self.day = self.day.add(usage)
