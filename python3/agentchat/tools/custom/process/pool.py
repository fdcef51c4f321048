"""Threads and processes: where the user's functions run, and what their failures cost.

The user's code runs in *workers*: processes that the plugin starts with its own interpreter. The
plugin never imports that code. Its event loop never blocks on it, except while the header of a
call is rendered, for a fraction of a second (see ``call_now``).

What runs where:

    plugin, event loop         this pool, one ``Worker`` for each process, the contexts of calls
    plugin, two threads each   read and write the messages of one worker (``rpc.peer``)
    worker, main thread        one request at a time: import a file, check arguments, run steps
    worker, two threads        read and write messages while a function runs

States of a worker: *starting* until it has answered ``ready``; *idle*; *busy* with one request;
*settling* after its request was cancelled, until the function has ended; *dead*. A call takes the
worker that became idle last, so consecutive calls share a process and the state of its modules. If
none is idle it waits for those that settle, or else starts one: calls at the same time run in
different processes. At most ``MOST_WORKERS`` calls run; the others wait. Of the workers that were
idle for ``IDLE_SECONDS`` all but ``MOST_IDLE`` are ended, except those that keep the callbacks of a
preview or a registered tool.

What it costs if a function

    raises       that call fails; the worker goes on
    floods       the worker drops what it prints except the newest part; other messages wait for the
                 reader at the other end, so memory is bounded on both sides
    hangs        its own call, and one place in the pool, until its timeout or a stop
    is stopped   its main thread is interrupted as by Ctrl-C. The caller does not wait. If the
                 function has not ended after ``GRACE_SECONDS`` its process group is killed
    crashes      the call fails with how the process ended. The next call starts another worker,
                 which imports the file again. Previews staged in the dead process can only be
                 discarded
    outlives us  impossible: a worker ends itself when the connection ends, and a small shell kills
                 its group if it cannot (``workspace.process.run.WATCHDOG``)

A request is never sent twice: the function may have had effects.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import PARALLEL_TOOLS
from agentchat.rpc.background import BackgroundTasks
from agentchat.rpc.frames import RemoteError
from agentchat.tools.custom.declaration.files import GONE
from agentchat.tools.custom.process.worker import CallServices, Registrar, Worker, WorkerEnded
from agentchat.tools.trust import Source

IMPORT_SECONDS = 10.0
"""How long importing one file may take."""

START_SECONDS = 30.0
"""How long starting a process may take, on a busy machine."""

CLOCK_SECONDS = 0.05
"""How much too early a timer may be."""

MOST_WORKERS = PARALLEL_TOOLS
MOST_IDLE = 2
IDLE_SECONDS = 60.0
"""How long further workers wait for the next batch of calls: starting one takes a moment."""

RELOADED = "the files with tools were reloaded"


class WorkerPool:
    """Runs requests in workers, each in its own.

    Args:
        start: starts a worker.
        import_seconds: how long importing one file may take.
        most: how many calls run at the same time.
        idle_seconds: how long workers are kept that nobody needs now.
    """

    def __init__(
        self,
        start: Callable[[], Worker],
        import_seconds: float = IMPORT_SECONDS,
        most: int = MOST_WORKERS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._idle_seconds = idle_seconds
        self.import_seconds = import_seconds
        self._start = start
        self._places = asyncio.Semaphore(most)
        self._sources: dict[str, Source] = {}
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []
        self._settling: set[asyncio.Task[None]] = set()
        self._tasks = BackgroundTasks()
        self.registrar: Registrar | None = None
        """Takes the tools that functions register while they run."""

    async def load(self, source: Source) -> dict[str, Any]:
        """Import a file and return its contents, see ``server``.

        Raises:
            WorkerEnded: it ends the process that imports it.
            TimeoutError: the import takes too long.
        """
        self._sources[source.key] = source
        async with self._worker() as worker:
            return await self._import(worker, source)

    async def call(
        self,
        file: str,
        method: str,
        params: Mapping[str, Any],
        services: CallServices | None = None,
    ) -> Any:
        """Return the answer to a request about a file, from a worker that has imported it."""
        async with self._worker() as worker:
            if file not in worker.loaded:
                await self._import_again(worker, file)
            return await worker.request(method, {"file": file, **params}, services)

    async def call_in(
        self,
        worker: Worker,
        method: str,
        params: Mapping[str, Any],
        services: CallServices | None = None,
    ) -> Any:
        """Return the answer of this very worker, which may have to finish another call first."""
        is_idle = worker in self._idle
        if is_idle:
            self._idle.remove(worker)
        try:
            return await worker.request(method, params, services)
        finally:
            if is_idle:
                self._release(worker)
            elif not worker.is_settled():
                self._tasks.start(worker.settle())

    def call_now(
        self,
        file: str,
        method: str,
        params: Mapping[str, Any],
        seconds: float,
        only: Worker | None = None,
    ) -> Any:
        """Block until an idle worker answers a request about a file that it has imported.

        Args:
            only: the one worker that can answer, if there is only one.

        Raises:
            TimeoutError: it takes too long.
            RemoteError: there is no such worker.
        """
        suitable = (w for w in reversed(self._idle) if w.alive and file in w.loaded)
        worker = next((w for w in suitable if only in (None, w)), None)
        if worker is None:
            raise RemoteError("no worker is idle")
        self._idle.remove(worker)
        try:
            return worker.request_now(method, {"file": file, **params}, seconds)
        finally:
            self._release(worker)

    def close(self) -> None:
        """End all workers and forget all files; a call after that starts again."""
        self._sources.clear()
        self._idle.clear()
        for worker in self._workers:
            worker.kill(RELOADED)
        self._workers.clear()

    async def _import(self, worker: Worker, source: Source) -> dict[str, Any]:
        params = {"path": str(source.path), "data": source.data}
        async with asyncio.timeout(self.import_seconds):
            contents: dict[str, Any] = await worker.request("import", params)
        worker.loaded.add(source.key)
        return contents

    async def _import_again(self, worker: Worker, file: str) -> None:
        source = self._sources.get(file)
        if source is None:
            raise ToolError(GONE)
        try:
            await self._import(worker, source)
        except TimeoutError as error:
            late = f"{source.path.name} is not imported within {self.import_seconds:g} s"
            raise RemoteError(late) from error

    @asynccontextmanager
    async def _worker(self) -> AsyncIterator[Worker]:
        """Lend a worker to one call."""
        async with self._places:
            worker = await self._idle_worker() or await self._started()
            try:
                yield worker
            finally:
                self._release(worker)

    async def _idle_worker(self) -> Worker | None:
        while self._settling and not self._idle:
            await asyncio.wait(self._settling, return_when=asyncio.FIRST_COMPLETED)
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            self._workers.discard(worker)
        return None

    async def _started(self) -> Worker:
        try:
            worker = self._start()
            worker.registrar = self.registrar
            self._workers.add(worker)
            try:
                async with asyncio.timeout(START_SECONDS):
                    await worker.request("ready", {})
            except BaseException:
                self._workers.discard(worker)
                worker.kill("it did not start")
                raise
        except (OSError, WorkerEnded) as error:  # TimeoutError is an OSError
            raise WorkerEnded(f"no process could be started for it: {error}") from error
        return worker

    def _release(self, worker: Worker) -> None:
        """Take a worker back, once it has ended what was cancelled."""
        if worker.is_settled():
            self._keep(worker)
            return
        task = self._tasks.start(self._settle(worker))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _settle(self, worker: Worker) -> None:
        await worker.settle()
        self._keep(worker)

    def _keep(self, worker: Worker) -> None:
        """Make a worker idle, unless it is dead, or the pool was closed meanwhile."""
        if worker not in self._workers:
            worker.kill(RELOADED)
        elif not worker.alive:
            self._workers.discard(worker)
        else:
            self._idle.append(worker)
            worker.idle_since = time.monotonic()
            if len(self._idle) > MOST_IDLE:
                loop = asyncio.get_running_loop()
                loop.call_later(self._idle_seconds, self._end_spare_workers)

    def _end_spare_workers(self) -> None:
        """End the workers that were idle for long; those that became idle first come first."""
        long_ago = time.monotonic() - self._idle_seconds + CLOCK_SECONDS
        spare = [w for w in self._idle if w.idle_since <= long_ago and not (w.previews or w.tools)]
        for worker in spare[: max(0, len(self._idle) - MOST_IDLE)]:
            self._idle.remove(worker)
            self._workers.discard(worker)
            worker.kill("it was not needed any more")
