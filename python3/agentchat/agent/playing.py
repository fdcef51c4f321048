"""Plays a plan: performs its effects one after the other, and lets the user stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agentchat.core.errors import Cancelled
from agentchat.core.turn.effects import Effect, Phrase, Plan, Say, TearDown
from agentchat.core.turn.loop import Ending

Perform = Callable[[Effect], Awaitable[Any]]


class Player:
    """Plays one plan; ``stop`` cancels the running effect, and the plan answers the rest."""

    def __init__(self, perform: Perform) -> None:
        self._perform = perform
        self._running: asyncio.Task[Any] | None = None
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether the user stopped it, and not an answer of theirs."""
        return self._stopped

    def stop(self) -> None:
        """Cancel what is running; a second stop does nothing more."""
        if self._stopped:
            return
        self._stopped = True
        if self._running is not None:
            self._running.cancel()

    async def play(self, plan: Plan[Ending]) -> Ending:
        """Perform the plan to its end and return what it returns."""
        try:
            effect = next(plan)
            while True:
                try:
                    answer = await self._answer(effect)
                except Exception as error:
                    # The plan knows what a stop means, and ends what it began before a bug.
                    effect = plan.throw(error)
                else:
                    effect = plan.send(answer)
        except StopIteration as end:
            ending: Ending = end.value
            return ending

    async def _answer(self, effect: Effect) -> Any:
        if isinstance(effect, (Phrase, Say, TearDown)):
            # What was said is kept, and what was set up is cleaned, even while all else stops.
            return await self._perform(effect)
        if self._stopped:
            raise Cancelled
        self._running = asyncio.ensure_future(self._perform(effect))
        try:
            return await self._running
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise Cancelled from None
        finally:
            self._running = None
