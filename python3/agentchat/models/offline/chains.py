"""A chain of wishes on its way, each plan run against the results it had so far."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from agentchat.core.messages import Status, ToolCall, ToolResult
from agentchat.models.offline import wishes as w
from agentchat.models.offline.acts import Act, Outcome, Steps
from agentchat.models.offline.results import count
from agentchat.models.offline.steps import steps


@dataclass(slots=True)
class Running:
    """One chain on its way: the wish at work, what it wants next, what came of those before."""

    wishes: list[w.Wish]
    plan: Steps | None = None
    wants: Act | None = None
    call_id: str = ""
    staged: int = 0
    said: list[str] = field(default_factory=list)
    unknown: str = ""

    def begin(self) -> None:
        """Start the next wish of the chain, if any is left."""
        while self.wishes:
            wish = self.wishes.pop(0)
            if isinstance(wish, w.Unknown):
                self.unknown = wish.text
                self._end(Outcome("", False))
                return
            self.plan = steps(wish)
            if self._go(None):
                return

    def hear(self, result: ToolResult) -> None:
        """Take the result of the call that was made, and go on."""
        self.call_id = ""
        if not self._go(result):
            self.begin()

    def take(self, call: ToolCall, skipping: bool) -> bool:
        """Take a call of the history as this chain's own, if it is what the chain wants.

        Args:
            skipping: what it wanted but did not need may have been left out before.
        """
        while self.wants and not self.call_id:
            if _is(call, self.wants):
                self.call_id = call.id
                return True
            if self.wants.needed or not skipping:
                return False
            self.do_without()
        return False

    def do_without(self) -> None:
        """Go on without a call that is not needed and cannot be made."""
        assert self.wants is not None
        self.hear(ToolResult("", self.wants.tool, "There is no such tool here.", Status.ERROR))

    def stop(self, why: str) -> None:
        """End the chain where it stands."""
        self._end(Outcome(why, False))

    def _go(self, result: ToolResult | None) -> bool:
        """Run the plan to its next call; return whether the chain is not to begin another."""
        assert self.plan is not None
        try:
            self.wants = next(self.plan) if result is None else self.plan.send(result)
            return True
        except StopIteration as end:
            outcome: Outcome = end.value
        self._end(outcome)
        return not outcome.ok

    def _end(self, outcome: Outcome) -> None:
        self.plan = self.wants = None
        self.said.append(outcome.text)
        if not outcome.ok:
            if self.wishes:
                rest = count(len(self.wishes), "request")
                self.said.append(f"I left out what was to follow ({rest}).")
            self.wishes = []


def _is(call: ToolCall, act: Act) -> bool:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return False
    arguments.pop("_confidence", None)
    return call.name == act.tool and arguments == act.arguments
