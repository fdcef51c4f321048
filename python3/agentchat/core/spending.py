"""What a chat has used and cost so far, and how much it may cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from agentchat.core.frozen import frozen
from agentchat.core.messages import Usage

Scope = Literal["turn", "chat", "day"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

UNKNOWN = "price unknown"


def format_cost(cost: float | None) -> str:
    """Return US dollars, with more digits where it is little."""
    if cost is None:
        return UNKNOWN
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


@frozen
class Budget:
    """US dollars after which the user is asked; None is no limit."""

    turn: float | None = None
    chat: float | None = None
    day: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is a limit."""
        return any(self.of(scope) is not None for scope in SCOPES)

    def of(self, scope: Scope) -> float | None:
        """Return the limit of a scope."""
        return {"turn": self.turn, "chat": self.chat, "day": self.day}[scope]


@frozen
class Totals:
    """What some requests used together.

    Args:
        usage: the sum; its cost, in US dollars, is that of the requests whose price is known. It is
            a lower bound if one of them is.
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
            is_lower_bound=before.is_lower_bound or usage.is_lower_bound,
        )
        return Totals(self.requests + 1, total, self.unpriced + (usage.cost is None))


@dataclass
class Spending:
    """What the running turn, the chat, and today's chats of this machine have used."""

    turn: Totals = field(default_factory=Totals)
    chat: Totals = field(default_factory=Totals)
    day: Totals = field(default_factory=Totals)
    _granted: dict[Scope, float] = field(default_factory=dict)
    """What had been spent when the user was asked and said yes."""

    def totals(self, scope: Scope) -> Totals:
        """Return what a scope has used."""
        return {"turn": self.turn, "chat": self.chat, "day": self.day}[scope]

    def limit(self, scope: Scope, budget: Budget) -> float | None:
        """Return the dollars after which the user is asked (again)."""
        amount = budget.of(scope)
        return None if amount is None else amount + self._granted.get(scope, 0.0)

    def grant(self, scope: Scope) -> None:
        """Allow the whole budget of a scope again, from now on."""
        self._granted[scope] = self.totals(scope).known_cost

    def begin_turn(self) -> None:
        """Count a turn from nothing."""
        self.turn = Totals()
        self._granted.pop("turn", None)

    def set_day(self, day: Totals) -> None:
        """Take over what all chats used today."""
        if day.requests < self.day.requests:  # it is another day
            self._granted.pop("day", None)
        self.day = day

    def add(self, usage: Usage | None) -> None:
        """Add a request of this chat."""
        self.turn, self.chat = self.turn.add(usage), self.chat.add(usage)
        self.day = self.day.add(usage)
