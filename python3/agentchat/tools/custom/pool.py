"""Threads and processes: where the user's functions run, and what their failures cost.

Code of the user's runs in *workers*, processes of their own that the plugin starts with its own
interpreter. Nothing of it is ever imported into the plugin, and the plugin never waits for it on
its event loop, but for a header that is rendered (see ``call_now``).

Which runs where:

    plugin, event loop         this pool, one ``Worker`` for each process, the contexts of calls
    plugin, two threads each   read and write the messages of one worker (``rpc.peer``)
    worker, main thread        one request at a time: import a file, check arguments, run steps
    worker, two threads        read and write messages while a function runs

States of a worker: *starting* until it has answered ``ready``; *idle*; *busy* with one request;
*settling* after its request was cancelled, until the function has ended; *dead*. A call takes the
worker that became idle last, so calls that follow each other share a process and what its modules
keep. When none is idle the next one to become idle is taken, and one more is started meanwhile, up
to ``MOST_WORKERS``: calls at the same time run in different processes. Idle workers beyond
``MOST_IDLE`` are ended, unless they keep the callbacks of a preview.

What it costs when a function

    raises       that call fails; the worker goes on
    floods       what it prints is cut to its newest part in the worker; other messages wait for the
                 reader at the other end, so memory is bounded on both sides
    hangs        nothing but its own call, and one place in the pool, until its timeout or a stop
    is stopped   its main thread is interrupted as by Ctrl-C. The caller does not wait. If the
                 function has not ended after ``GRACE_SECONDS`` its process group is killed
    crashes      the call fails with how the process ended. Another worker is started, files are
                 imported there when something of them is called. Previews staged in the dead
                 process can only be discarded
    outlives us  it cannot: a worker ends itself when the connection ends, and a small shell kills
                 its group if it cannot (``workspace.processes.KEEPER``)

A request that was sent is never sent again: the function may have had effects.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.rpc.background import BackgroundTasks
from agentchat.rpc.errors import RemoteError
from agentchat.tools.custom.files import Source
from agentchat.tools.custom.worker import CallServices, Worker, WorkerEnded

IMPORT_SECONDS = 10.0
"""How long one file may take to be imported."""

START_SECONDS = 30.0
"""How long a process may take to start, on a machine that is busy."""

MOST_WORKERS = 8
MOST_IDLE = 2
GONE = "What this needs no longer exists: its file was changed, or its process ended."
RELOADED = "the files with tools were reloaded"


class WorkerPool:
    """Runs requests in workers, each in one of its own.

    Args:
        start: starts a worker.
        import_seconds: how long one file may take to be imported.
        most: how many workers there may be.
    """

    def __init__(
        self,
        start: Callable[[], Worker],
        import_seconds: float = IMPORT_SECONDS,
        most: int = MOST_WORKERS,
    ) -> None:
        self.import_seconds = import_seconds
        self._start = start
        self._most = most
        self._sources: dict[str, Source] = {}
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []
        self._waiting: deque[asyncio.Future[Worker]] = deque()
        self._starting: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def load(self, source: Source) -> dict[str, Any]:
        """Import a file and return what it holds, see ``server``.

        Raises:
            WorkerEnded: it ends the process that imports it.
            TimeoutError: it does not come to an end.
        """
        self._sources[source.key] = source
        worker = await self._acquire()
        try:
            return await self._import(worker, source)
        finally:
            self._release(worker)

    async def call(
        self,
        file: str,
        method: str,
        params: Mapping[str, Any],
        services: CallServices | None = None,
    ) -> Any:
        """Return the answer to a request about a file, from a worker that has imported it."""
        worker = await self._acquire()
        try:
            if file not in worker.loaded:
                source = self._sources.get(file)
                if source is None:
                    raise ToolError(GONE)
                await self._import_again(worker, source)
            return await worker.request(method, {"file": file, **params}, services)
        finally:
            self._release(worker)

    async def call_in(self, worker: Worker, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer of this very worker, which may have to finish another call first."""
        is_idle = worker in self._idle
        if is_idle:
            self._idle.remove(worker)
        try:
            return await worker.request(method, params)
        finally:
            if is_idle:
                self._release(worker)
            elif not worker.is_settled():
                self._tasks.start(worker.settle())

    def call_now(self, file: str, method: str, params: Mapping[str, Any], seconds: float) -> Any:
        """Wait in this thread for the answer to a request about a file.

        On the thread of the event loop, where everything else waits meanwhile, it takes an idle
        worker that has the file.

        Raises:
            TimeoutError: it takes too long.
            RemoteError: there is no such worker.
        """
        if self._loop is None or self._loop.is_closed():
            raise RemoteError("no worker has started yet")
        if not _is_running(self._loop):
            work = self.call(file, method, params)
            answer = asyncio.run_coroutine_threadsafe(work, self._loop)
            try:
                return answer.result(seconds)
            finally:
                answer.cancel()
        worker = next((one for one in self._idle[::-1] if one.alive and file in one.loaded), None)
        if worker is None:
            raise RemoteError("no worker is idle")
        self._idle.remove(worker)
        try:
            return worker.request_now(method, {"file": file, **params}, seconds)
        finally:
            self._release(worker)

    def close(self, why: str = RELOADED) -> None:
        """End all workers and forget all files."""
        self._sources.clear()
        self._idle.clear()
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None
        for worker in self._workers:
            worker.kill(why)
        self._workers.clear()
        self._refuse(WorkerEnded(f"its process was ended: {why}"))

    async def _import(self, worker: Worker, source: Source) -> dict[str, Any]:
        params = {"path": str(source.path), "data": source.data}
        async with asyncio.timeout(self.import_seconds):
            found: dict[str, Any] = await worker.request("import", params)
        worker.loaded.add(source.key)
        return found

    async def _import_again(self, worker: Worker, source: Source) -> None:
        try:
            await self._import(worker, source)
        except TimeoutError as error:
            late = f"{source.path.name} is not imported within {self.import_seconds:g} s"
            raise RemoteError(late) from error

    async def _acquire(self) -> Worker:
        self._loop = asyncio.get_running_loop()
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            self._workers.discard(worker)
        waiting: asyncio.Future[Worker] = self._loop.create_future()
        self._waiting.append(waiting)
        self._start_one()
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                self._release(waiting.result())
            raise

    def _release(self, worker: Worker) -> None:
        """Take a worker back, once it has ended what was cancelled."""
        if worker.is_settled():
            self._hand_on(worker)
        else:
            self._tasks.start(self._settle(worker))

    async def _settle(self, worker: Worker) -> None:
        await worker.settle()
        self._hand_on(worker)

    def _hand_on(self, worker: Worker) -> None:
        """Give a free worker to who waits, or keep it; replace a dead one."""
        if worker not in self._workers:  # the pool was closed meanwhile
            worker.kill(RELOADED)
            return
        if not worker.alive:
            self._workers.discard(worker)
            if self._waiting or not self._workers:
                self._start_one()
            return
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(worker)
                return
        self._idle.append(worker)
        self._trim()

    def _trim(self) -> None:
        spare = [worker for worker in self._idle if not worker.previews]
        for worker in spare[: max(0, len(self._idle) - MOST_IDLE)]:
            self._idle.remove(worker)
            self._workers.discard(worker)
            worker.kill("it was not needed any more")

    def _start_one(self) -> None:
        """Start a worker, if none is starting and there may be another."""
        if self._starting is None and len(self._workers) < self._most:
            self._starting = self._tasks.start(self._add_worker())

    async def _add_worker(self) -> None:
        """Start a worker and hand it on; if that fails, all calls that wait fail."""
        try:
            worker = await self._started()
        except (OSError, WorkerEnded, TimeoutError) as error:
            self._starting = None
            self._refuse(WorkerEnded(f"no process could be started for it: {error}"))
            return
        self._starting = None
        self._hand_on(worker)
        if any(not waiting.done() for waiting in self._waiting):
            self._start_one()

    async def _started(self) -> Worker:
        worker = self._start()
        self._workers.add(worker)
        try:
            async with asyncio.timeout(START_SECONDS):
                await worker.request("ready", {})
        except BaseException:
            self._workers.discard(worker)
            worker.kill("it did not start")
            raise
        return worker

    def _refuse(self, error: Exception) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(error)


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this is the thread of a running loop."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
