"""Work beside the turns of a chat: background tasks, and jobs that turns wait for."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from agentchat.core.errors import ToolError, UserError
from agentchat.core.frozen import frozen
from agentchat.core.turn.view import View

log = logging.getLogger(__name__)

Work = Coroutine[Any, Any, None]


class Notifier(Protocol):
    """Shows one line to the user."""

    def notify(self, level: str, text: str) -> None:
        """Show a line; ``level`` is ``info``, ``warn`` or ``error``."""


class BackgroundJobs:
    """Tasks that nobody awaits. An error in one is logged and shown."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Work, name: str = "the command") -> asyncio.Task[None]:
        """Run ``work`` as a task; ``name`` is what an error message calls it."""
        task = asyncio.ensure_future(self._report_errors(work, name))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A task that is cancelled before its first step never awaits its coroutine.
        task.add_done_callback(lambda _: work.close())
        return task

    async def wait(self) -> None:
        """Return when no task runs."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self, seconds: float = 0) -> None:
        """Wait ``seconds`` for the tasks, then cancel the others and wait for their end."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _report_errors(self, work: Awaitable[None], name: str) -> None:
        try:
            await work
        except (UserError, ToolError) as error:
            self._notifier.notify("warn", str(error))
        except Exception as error:
            log.exception("%s failed", name)
            self._notifier.notify("error", f"{name} failed: {error!r}. See the log.")


@frozen
class Job:
    """Work of a chat outside its turns, like an undo; ``is_command``: the user asked for it."""

    name: str
    work: Callable[[], Work]
    is_command: bool = False


class Jobs:
    """Runs the jobs of one chat one after the other; turns wait until all are done."""

    def __init__(self, view: View, background: BackgroundJobs) -> None:
        self._view = view
        self._background = background
        self._waiting: deque[Job] = deque()
        self._running: tuple[Job, asyncio.Task[None]] | None = None

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return self._running is not None or bool(self._waiting)

    def add(self, job: Job) -> None:
        """Add a job behind the others; of the user's commands only one at a time."""
        others = [*self._waiting, *([self._running[0]] if self._running else [])]
        if job.is_command and any(other.is_command for other in others):
            self._view.notify("warn", f"Nothing to {job.name} yet: wait until the chat is idle.")
        else:
            self._waiting.append(job)

    def cancel(self) -> None:
        """Cancel the newest job."""
        if self._waiting:
            self._waiting.pop()
        elif self._running is not None:
            self._running[1].cancel()

    async def run(self) -> None:
        """Run all jobs."""
        while self._waiting:
            job = self._waiting.popleft()
            task = self._background.start(job.work(), f"the {job.name}")
            self._running = job, task
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                task.cancel()
                await asyncio.wait([task])
                raise
            finally:
                self._running = None
