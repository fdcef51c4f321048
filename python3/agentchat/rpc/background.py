"""Tasks that nobody waits for, and blocking work that nobody may have to wait for."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class BackgroundTasks:
    """Keeps tasks until they end, so that none is collected as garbage; logs what they raise."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._finish)
        return task

    async def cancel(self) -> None:
        """Cancel all tasks and wait until they have ended."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("a background task failed", exc_info=error)


async def run_in_thread(work: Callable[[], T]) -> T:
    """Wait for blocking work in a thread of its own.

    Unlike a thread of the event loop's, it does not hold up the end of the process.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(work_done: Callable[[asyncio.Future[T]], None]) -> None:
        if not done.done():
            work_done(done)

    def run() -> None:
        try:
            value = work()
        except BaseException as error:
            failure = error
            outcome = lambda future: future.set_exception(failure)  # noqa: E731
        else:
            outcome = lambda future: future.set_result(value)  # noqa: E731
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name="blocking work", daemon=True).start()
    return await done
