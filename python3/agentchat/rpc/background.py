"""Background tasks, and blocking work in threads that do not delay the end of the process."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class BackgroundTasks:
    """Holds tasks until they end, so that none is garbage-collected; logs their errors."""

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


class Batcher(Generic[Item, Answer]):
    """Performs together what is requested in one iteration of the event loop.

    Args:
        perform: returns an answer for each item, in order; an exception there is raised for it.
    """

    def __init__(
        self, perform: Callable[[Sequence[Item]], Awaitable[Sequence[Answer | Exception]]]
    ) -> None:
        self._perform = perform
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._tasks = BackgroundTasks()

    async def request(self, item: Item) -> Answer:
        """Return the answer for an item."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((item, answer))
        if len(self._waiting) == 1:
            loop.call_soon(self._start)
        return await answer

    def _start(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._tasks.start(self._finish(waiting))

    async def _finish(self, waiting: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        answers: Sequence[Answer | Exception]
        try:
            answers = await self._perform([item for item, _ in waiting])
            if len(answers) != len(waiting):
                raise ValueError(f"{len(answers)} answers to {len(waiting)} requests")
        except Exception as error:
            answers = [error] * len(waiting)
        for (_, future), answer in zip(waiting, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


async def run_all_in_thread(work: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """Return the result of each blocking function, or what it raises; one thread runs all."""
    return await asyncio.to_thread(lambda: [_result(function) for function in work])


def _result(function: Callable[[], T]) -> T | Exception:
    try:
        return function()
    except Exception as error:
        return error


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of work that is finished even if the caller is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return the result of blocking work, done in a thread of its own.

    Unlike ``asyncio.to_thread``, it does not delay the end of the process.
    """
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()  # cancelling the caller does not stop the thread

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="blocking work", daemon=True).start()
    return await asyncio.wrap_future(future)
