"""Runs a function of the user's in a thread of its own, which can be given up.

Nothing it does holds up the event loop: not a blocking call, not an endless loop, and not an
``async`` function that forgets to wait, because its loop is its own, too.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import inspect
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import ArgumentError
from agentchat.tools.custom.directory import inside
from agentchat.tools.custom.printing import Sink, diverted
from agentchat.tools.custom.wire import Failed

MOST_CHARACTERS = 10_000
"""Of the message of an error."""

REMINDERS = 20
REMIND_SECONDS = 0.25


class Abandoned(BaseException):
    """Raised inside a function whose call is over; ends it at its next line of Python."""


async def run(work: Callable[[], Any], *, cwd: str | None = None, printed: Sink) -> Any:
    """Run ``work`` in a new thread, waiting for what it returns if that can be awaited.

    Args:
        cwd: its working directory; ``None`` leaves that of the process.
        printed: gets what it prints, from that thread.

    Cancelling this ends the function as soon as it executes Python, and waits until it has.
    """
    return await _Thread(work, cwd, printed).result()


async def finished(
    work: Callable[[], Any], finish: Callable[[Any], Any], cwd: str | None, printed: Sink
) -> Any:
    """Run ``work`` in its thread, and ``finish`` on its value there, too: either may take long."""

    async def awaited(value: Any) -> Any:
        return finish(await value)

    def whole() -> Any:
        value = work()
        return awaited(value) if inspect.isawaitable(value) else finish(value)

    return await run(whole, cwd=cwd, printed=printed)


class _Thread:
    def __init__(self, work: Callable[[], Any], cwd: str | None, printed: Sink) -> None:
        self._work = work
        self._cwd = cwd
        self._printed = printed
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Any] = self._loop.create_future()
        self._task: asyncio.Task[Any] | None = None
        self._inner: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._main,), name="tool", daemon=True
        )

    async def result(self) -> Any:
        self._thread.start()
        try:
            return await self._done
        except asyncio.CancelledError:
            over = asyncio.Event()
            threading.Thread(target=self._join, args=(over,), name="join", daemon=True).start()
            self._abandon(REMINDERS)
            await over.wait()
            raise

    def _join(self, over: asyncio.Event) -> None:
        self._thread.join()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(over.set)

    def _main(self) -> None:
        try:
            self._perform()
        except Abandoned:
            return  # sent once more while the end was told

    def _perform(self) -> None:
        try:
            with ExitStack() as around:
                around.enter_context(diverted(self._printed))
                if self._cwd is not None:
                    around.enter_context(inside(self._cwd))
                value = self._work()
                if inspect.isawaitable(value):
                    value = asyncio.run(self._awaited(value))
            self._tell(value, None)
        except BaseException as error:
            self._tell(None, _failure(error))

    async def _awaited(self, value: Any) -> Any:
        self._inner, self._task = asyncio.get_running_loop(), asyncio.current_task()
        return await value

    def _tell(self, value: Any, error: Exception | None) -> None:
        def settle() -> None:
            if self._done.done():
                return
            if error is None:
                self._done.set_result(value)
            else:
                self._done.set_exception(error)

        try:
            self._loop.call_soon_threadsafe(settle)
        except RuntimeError:
            return  # the loop is closed, and nobody waits

    def _abandon(self, reminders: int) -> None:
        """End the thread; ask again for a while, for a function may catch what it is sent."""
        if not self._thread.is_alive() or self._loop.is_closed():
            return
        if self._task is not None and self._inner is not None and reminders == REMINDERS:
            try:
                self._inner.call_soon_threadsafe(self._task.cancel)
            except RuntimeError:
                return
        else:
            thread = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Abandoned))
        if reminders:
            self._loop.call_later(REMIND_SECONDS, self._abandon, reminders - 1)


def _failure(error: BaseException) -> Exception:
    """Return what to raise in the name of a function that raised ``error``.

    A time-out of its own, or the end of a whole program, must not be taken for the caller's.
    """
    if isinstance(error, ArgumentError):
        return error
    told = isinstance(error, ToolError)
    try:
        text = str(error).encode("utf-8", "replace").decode("utf-8")
    except Exception:
        text = ""
    failure = ToolError(text) if told else Failed(text[:MOST_CHARACTERS] or type(error).__name__)
    failure.__cause__ = error
    return failure
