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
from contextlib import ExitStack
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.tools.custom.directory import inside
from agentchat.tools.custom.printing import Sink, diverted

MOST_CHARACTERS = 10_000
"""Of the message of an error."""

REMINDERS = 20
REMIND_SECONDS = 0.25


class Abandoned(BaseException):
    """Raised inside a function whose call is over; ends it at its next line of Python."""


class Failed(Exception):
    """What a function raised, with a message that every reader can take."""


async def run(work: Callable[[], Any], *, cwd: str | None = None, printed: Sink) -> Any:
    """Run ``work`` in a new thread, waiting for what it returns if that can be awaited.

    Args:
        cwd: its working directory; ``None`` leaves that of the process.
        printed: gets what it prints, from that thread.

    Cancelling this returns at once and ends the function as soon as it executes Python.
    """
    return await _Worker(work, cwd, printed).result()


class _Worker:
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
            self._abandon(REMINDERS)
            raise

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
    told = isinstance(error, ToolError)
    try:
        text = str(error).encode("utf-8", "replace").decode("utf-8")
    except Exception:
        text = ""
    failure = ToolError(text) if told else Failed(text[:MOST_CHARACTERS] or type(error).__name__)
    failure.__cause__ = error
    return failure
