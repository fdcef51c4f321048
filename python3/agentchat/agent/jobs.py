"""What a chat does outside of turns, which wait for it: an undo, a redo, a recovery, a drawing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from agentchat.core.errors import ToolError, UserError
from agentchat.core.turn.view import Screen

log = logging.getLogger(__name__)

Work = Coroutine[Any, Any, None]


class Errands:
    """Runs them one after the other.

    Args:
        spawn: starts a task that ends with the chat at the latest.
        changed: called when one begins, and when the last is over.
    """

    def __init__(
        self,
        screen: Screen,
        spawn: Callable[[Work], asyncio.Task[None]],
        changed: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._spawn = spawn
        self._changed = changed
        self._last: asyncio.Task[None] | None = None
        self._unasked: asyncio.Task[None] | None = None
        """One that the user did not begin: theirs wait behind it."""

    @property
    def busy(self) -> bool:
        """Whether one runs."""
        return self._last is not None

    def run(self, work: Work) -> None:
        """Do the work, after the one that runs."""
        self._last = self._spawn(_after(self._last, work))
        self._last.add_done_callback(self._over)
        self._changed()

    def run_unasked(self, what: str, work: Callable[[], Work]) -> None:
        """Do work that the user did not ask for; what fails is told."""
        self.run(self._told(what, work))
        self._unasked = self._last

    def run_asked(self, what: str, work: Callable[[], Work]) -> None:
        """Do what the user asks for, unless something else of theirs runs; what fails is told."""
        if self._last is not None and self._last is not self._unasked:
            self._screen.notify("warn", f"Nothing to {what} yet: wait until the chat is idle.")
        else:
            self.run(self._told(what, work))

    def cancel(self) -> None:
        """Stop the newest."""
        if self._last is not None:
            self._last.cancel()

    def _over(self, task: asyncio.Task[None]) -> None:
        if self._last is task:
            self._last = None
            self._changed()

    async def _told(self, what: str, work: Callable[[], Work]) -> None:
        try:
            await work()
        except (UserError, ToolError) as error:
            self._screen.notify("warn", str(error))
        except Exception as error:
            log.exception("the %s failed", what)
            self._screen.note("error", f"The {what} failed: {error!r}. See the log.")


async def _after(errand: asyncio.Task[None] | None, work: Work) -> None:
    try:
        if errand is not None:
            await asyncio.wait([errand])
        await work
    finally:
        work.close()
