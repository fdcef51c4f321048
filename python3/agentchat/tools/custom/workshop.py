"""Where tools run: one process at a time, with the files of the user's imported in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from agentchat.core.errors import ToolError
from agentchat.tools.custom.files import Source
from agentchat.tools.custom.wire import GONE, Failed
from agentchat.tools.custom.worker import Ended, Listener, Worker

IMPORT_SECONDS = 10.0
"""How long one file may take to be imported."""

START_SECONDS = 30.0
"""How long a process may take to come up besides, on a machine that is busy."""

ANEW = "the files with tools were read anew"


class Functions(Protocol):
    """Answers requests about tools; a Worker does, too."""

    async def call(
        self, kind: str, body: Mapping[str, Any], listener: Listener | None = None
    ) -> Any:
        """Return the answer to a request, or raise what it failed with; may be cancelled."""

    def soon(self, kind: str, body: Mapping[str, Any], seconds: float) -> Any:
        """Wait here for the answer to a request; raises TimeoutError if it takes too long."""


class Workshop:
    """Keeps a process at work: when one ended, the next request starts another.

    In that one a file is imported again when something of it is called.

    Args:
        start: starts a process.
        seconds: how long one file may take to be imported.
    """

    def __init__(self, start: Callable[[], Worker], seconds: float = IMPORT_SECONDS) -> None:
        self.seconds = seconds
        self._start = start
        self._worker: Worker | None = None
        self._starting: asyncio.Task[Worker] | None = None
        self._sources: dict[str, Source] = {}
        self._imports: dict[str, asyncio.Task[dict[str, Any]]] = {}

    async def bring_in(self, source: Source) -> dict[str, Any]:
        """Import a file and return what it holds, see ``serving``.

        Raises:
            Ended: it ends the process that imports it.
            asyncio.TimeoutError: it does not come to an end.
        """
        self._sources[source.key] = source
        try:
            return await self._imported(await self._ready(), source.key)
        except Ended:
            # It may have been something else that ran at the same time.
            return await self._imported(await self._ready(), source.key)

    async def call(
        self, kind: str, body: Mapping[str, Any], listener: Listener | None = None
    ) -> Any:
        """Pass a request on, to a process that has the file it is about."""
        worker = await self._ready()
        try:
            await self._imported(worker, body["file"])
            return await worker.call(kind, body, listener)
        except Ended:
            if self._worker is worker:
                self._begin()  # while nobody waits for it
            raise

    def soon(self, kind: str, body: Mapping[str, Any], seconds: float) -> Any:
        """Pass a request on; raises TimeoutError, and Failed if there is no process yet."""
        worker = self._worker
        if worker is None or not worker.usable or self._starting is not None:
            raise Failed("there is no process")
        return worker.soon(kind, body, seconds)

    def close(self, why: str = ANEW) -> None:
        """End the process and forget all files."""
        self._sources.clear()
        self._starting = None  # it fails by itself
        if self._worker is not None:
            self._worker.end(why)
            self._worker = None

    async def _imported(self, worker: Worker, file: str) -> dict[str, Any]:
        """Return what a file holds, imported once in each process."""
        if file not in self._imports:
            source = self._sources.get(file)
            if source is None:
                raise ToolError(GONE)
            self._imports[file] = asyncio.ensure_future(self._import(worker, source))
        return await asyncio.shield(self._imports[file])

    async def _import(self, worker: Worker, source: Source) -> dict[str, Any]:
        body = {"path": str(source.path), "data": source.data}
        found: dict[str, Any] = await asyncio.wait_for(worker.call("import", body), self.seconds)
        return found

    async def _ready(self) -> Worker:
        worker = self._worker
        if worker is not None:
            await worker.certain()
        if worker is None or not worker.usable or self._starting is not None:
            worker = await asyncio.shield(self._begin())
        return worker

    def _begin(self) -> asyncio.Task[Worker]:
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._begun())
            self._starting.add_done_callback(self._begun_with)
        return self._starting

    def _begun_with(self, starting: asyncio.Task[Worker]) -> None:
        if self._starting is starting:
            self._starting = None
        if not starting.cancelled():
            starting.exception()  # whoever needs a process is told

    async def _begun(self) -> Worker:
        self._imports.clear()
        worker = self._worker = self._start()
        await asyncio.wait_for(worker.call("ready", {}), START_SECONDS)
        return worker
