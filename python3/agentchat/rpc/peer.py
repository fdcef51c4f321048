"""One end of a connection between two processes; both ends are the same.

It connects the host with a workspace on another machine (``workspace/remote``) and with the workers
that run the user's own tools (``tools/custom``).

Messages. Each is one frame (see ``frames``):

    {"id": 7, "method": "read", "params": {...}}    a request
    {"id": 7, "result": ...}                        its answer, or
    {"id": 7, "error": {"kind": ..., ...}}          its failure (see ``errors``)
    {"id": 7, "progress": ...}                      from the end that serves 7, any number of them
    {"id": 7, "cancel": true}                       from the end that requested 7

Both ends may send requests at any time, and each numbers its own: the ``id`` of a request or a
``cancel`` is a number of the sender, that of an answer or ``progress`` a number of the receiver.
Answers come in any order.

A request is *sent* until its answer arrives, and *cancelled* when its sender no longer needs the
result. A cancelled request is still answered, with ``cancelled`` or with its result, which shows
that it no longer runs. A request is answered exactly once; when the connection ends, every open
request fails with ``Disconnected``. Nothing is sent twice.

Threads. One thread reads and another writes, so an end reads while its program is busy, and any
thread can send. The answer is awaited in an event loop (``request``) or in a thread
(``request_blocking``). Progress is delivered in the event loop of the sender of the request, in
order, before the answer. At most ``MAX_UNDELIVERED_PROGRESS`` pieces wait there: then the reader
stops, the pipe fills up, and the sender blocks in ``drain``. So a flood costs a bounded amount of
memory at both ends.

The peer knows nothing of the process at the other end. The code that started that process decides
how long it may be silent (``last_message_time``), kills it, and reports how it ended.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from agentchat.rpc.background import BackgroundTasks
from agentchat.rpc.frames import (
    BadFrame,
    Disconnected,
    Message,
    RequestCancelled,
    decode_error,
    encode_error,
    pack,
    read_message,
)

CANCEL_SECONDS = 2.0
"""How long a cancelled ``request`` waits for the other end to stop."""

MAX_UNDELIVERED_PROGRESS = 64
OnProgress = Callable[[Any], None]


class OutgoingRequest:
    """A request to the other end."""

    def __init__(self, number: int, on_progress: OnProgress | None) -> None:
        self.id = number
        self.answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.answer.set_running_or_notify_cancel()  # the future itself cannot be cancelled
        self.on_progress = on_progress
        self.loop = asyncio.get_running_loop() if on_progress is not None else None

    def complete(self, result: Any, error: Exception | None = None) -> None:
        """Set the answer, unless there is one already."""
        with suppress(concurrent.futures.InvalidStateError):
            if error is not None:
                self.answer.set_exception(error)
            else:
                self.answer.set_result(result)


class IncomingRequest:
    """A request of the other end, to be answered once with ``reply`` or ``fail``.

    ``on_cancel`` is called by the reading thread when the other end cancels the request. Code that
    sets it must check ``cancelled`` afterwards.
    """

    def __init__(self, peer: Peer, number: int, method: str, params: Mapping[str, Any]) -> None:
        self.id = number
        self.method = method
        self.params = params
        self.cancelled = False
        self.on_cancel: Callable[[], None] | None = None
        self._peer = peer

    def reply(self, result: Any) -> None:
        """Send the answer."""
        self._peer.answer(self, {"result": result})

    def fail(self, error: BaseException) -> None:
        """Send an error as the answer."""
        self._peer.answer(self, {"error": encode_error(error)})

    def progress(self, data: Any) -> None:
        """Send progress before the answer."""
        self._peer.send({"id": self.id, "progress": data})

    def drain(self, limit: int) -> None:
        """Block until at most ``limit`` bytes wait to be written."""
        self._peer.drain(limit)

    def cancel(self) -> None:
        """Mark the request as cancelled and call ``on_cancel``."""
        self.cancelled = True
        if self.on_cancel is not None:
            self.on_cancel()


class Peer:
    """One end of a connection.

    Args:
        source: a blocking stream of the messages from the other end.
        sink: a file descriptor for messages to it. The peer owns both from ``start`` on.
        serve: called by the reading thread with each request of the other end; must not block.

    ``end_reason`` is done when the connection has ended; its result is the reason.
    """

    def __init__(
        self, source: IO[bytes], sink: int, serve: Callable[[IncomingRequest], None] | None = None
    ) -> None:
        self.last_message_time = time.monotonic()
        self.end_reason: concurrent.futures.Future[str] = concurrent.futures.Future()
        self.end_reason.set_running_or_notify_cancel()
        self._closed = False
        self._source = source
        self._serve = serve
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._outgoing: dict[int, OutgoingRequest] = {}
        self._incoming: dict[int, IncomingRequest] = {}
        self._in_flight = threading.BoundedSemaphore(MAX_UNDELIVERED_PROGRESS)
        self._writer = _Writer(sink, self.close)
        self._reader = threading.Thread(target=self._read, name="rpc-read", daemon=True)

    def start(self) -> None:
        """Start to read and write."""
        self._writer.start()
        self._reader.start()

    @property
    def alive(self) -> bool:
        """Whether requests can be sent."""
        return not self.end_reason.done()

    def send_request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> OutgoingRequest:
        """Send a request; does not wait for the answer."""
        outgoing = OutgoingRequest(next(self._numbers), on_progress)
        with self._lock:
            self._outgoing[outgoing.id] = outgoing
        try:
            self.send({"id": outgoing.id, "method": method, "params": dict(params)})
        except BaseException:
            self._outgoing.pop(outgoing.id, None)
            raise
        if not self.alive:
            self._disconnect_outgoing()
        return outgoing

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        *,
        cancel_seconds: float | None = CANCEL_SECONDS,
    ) -> Any:
        """Send a request and return the answer.

        If it is cancelled, it cancels the request and waits for the other end to stop, for
        ``cancel_seconds`` at most (``None``: without limit).

        Raises:
            Disconnected: the connection ended.
            RemoteError, ToolError, StalePreview, OSError: as raised at the other end.
        """
        outgoing = self.send_request(method, params, on_progress)
        answer = asyncio.wrap_future(outgoing.answer)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self.cancel(outgoing)
            await asyncio.wait({answer}, timeout=cancel_seconds)
            if answer.done():
                answer.exception()  # marks it as retrieved
            raise

    def request_blocking(
        self, method: str, params: Mapping[str, Any], seconds: float | None = None
    ) -> Any:
        """Send a request and block until the answer; raises as ``request``, or TimeoutError.

        After a timeout or another exception the request is cancelled.
        """
        outgoing = self.send_request(method, params)
        try:
            return outgoing.answer.result(seconds)
        except BaseException:
            if not outgoing.answer.done():
                self.cancel(outgoing)
            raise

    def cancel(self, outgoing: OutgoingRequest) -> None:
        """Ask the other end to stop a request; its progress is dropped from now on."""
        outgoing.on_progress = None
        self.send({"id": outgoing.id, "cancel": True})

    def answer(self, incoming: IncomingRequest, answer: Message) -> None:
        """Send the answer of a request; a second answer is dropped."""
        if self._incoming.pop(incoming.id, None) is None:
            return
        try:
            self.send({"id": incoming.id, **answer})
        except (TypeError, ValueError, RecursionError) as error:  # JSON cannot represent it
            self.send({"id": incoming.id, "error": encode_error(error)})

    def send(self, message: Message) -> None:
        """Send a message; dropped if the connection has ended."""
        self._writer.add(pack(message))

    def drain(self, limit: int) -> None:
        """Block until at most ``limit`` bytes wait to be written."""
        self._writer.wait(limit)

    def close(self, reason: str = "it was closed") -> None:
        """End the connection; open requests fail with Disconnected."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.end_reason.set_result(reason)
        self._writer.stop()
        self._disconnect_outgoing()
        for incoming in tuple(self._incoming.values()):
            incoming.cancel()

    def _disconnect_outgoing(self) -> None:
        with self._lock:
            waiting, self._outgoing = self._outgoing, {}
        for outgoing in waiting.values():
            outgoing.complete(None, Disconnected(self.end_reason.result()))

    def _read(self) -> None:
        reason = "it ended"
        try:
            while (message := read_message(self._source)) is not None:
                self.last_message_time = time.monotonic()
                self._dispatch(message)
        except (OSError, ValueError):
            pass  # the stream was closed
        except (BadFrame, LookupError, TypeError) as error:
            reason = f"it sent an invalid message: {error}"
        self.close(reason)
        with suppress(OSError):
            self._source.close()

    def _dispatch(self, message: Message) -> None:
        number = message["id"]
        if "method" in message:
            self._serve_request(number, message)
        elif "cancel" in message:
            incoming = self._incoming.get(number)
            if incoming is not None:
                incoming.cancel()
        elif "progress" in message:
            self._receive_progress(number, message["progress"])
        else:
            outgoing = self._outgoing.pop(number, None)
            if outgoing is not None:
                error = decode_error(message["error"]) if "error" in message else None
                outgoing.complete(message.get("result"), error)

    def _serve_request(self, number: int, message: Message) -> None:
        incoming = IncomingRequest(self, number, message["method"], message["params"])
        self._incoming[number] = incoming
        if self._serve is None:
            incoming.fail(LookupError("no requests are served here"))
        else:
            self._serve(incoming)

    def _receive_progress(self, number: int, data: Any) -> None:
        outgoing = self._outgoing.get(number)
        if outgoing is None or outgoing.on_progress is None or outgoing.loop is None:
            return
        while not self._in_flight.acquire(timeout=1.0):
            if not self.alive:
                return
        try:
            outgoing.loop.call_soon_threadsafe(self._deliver, outgoing, data)
        except RuntimeError:  # the loop is closed
            self._in_flight.release()

    def _deliver(self, outgoing: OutgoingRequest, data: Any) -> None:
        self._in_flight.release()
        try:
            if outgoing.on_progress is not None:
                outgoing.on_progress(data)
        except Exception as error:  # it fails only its own request
            self._outgoing.pop(outgoing.id, None)
            self.cancel(outgoing)
            outgoing.complete(None, error)


class _Writer:
    """Writes frames in order on a thread of its own."""

    def __init__(self, sink: int, on_error: Callable[[str], None]) -> None:
        self._sink = sink
        self._on_error = on_error
        self._frames: deque[bytes] = deque()
        self._waiting = 0
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="rpc-write", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, frame: bytes) -> None:
        with self._changed:
            if not self._stopped:
                self._frames.append(frame)
                self._waiting += len(frame)
                self._changed.notify_all()

    def wait(self, limit: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._waiting <= limit)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _run(self) -> None:
        try:
            while (frame := self._next()) is not None:
                _write_all(self._sink, frame)
                with self._changed:
                    self._waiting -= len(frame)
                    self._changed.notify_all()
        except OSError:
            self._on_error("it ended")
        with suppress(OSError):
            os.close(self._sink)

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._frames)
            return None if self._stopped else self._frames.popleft()


def _write_all(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]


Handler = Callable[[IncomingRequest], Awaitable[Any]]


class RequestTasks:
    """Serves requests with coroutines, each in a task of the running event loop.

    The result or exception of a handler is the answer; cancelling a request cancels its task.
    """

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers
        self._loop = asyncio.get_running_loop()
        self._tasks = BackgroundTasks()

    def __call__(self, incoming: IncomingRequest) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._start, incoming)

    async def cancel(self) -> None:
        """Cancel all tasks and wait until they have ended."""
        await self._tasks.cancel()

    def _start(self, incoming: IncomingRequest) -> None:
        if incoming.cancelled:
            incoming.fail(RequestCancelled())
            return
        task = self._tasks.start(self._answer(incoming))

        def cancel() -> None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(task.cancel)

        incoming.on_cancel = cancel

    async def _answer(self, incoming: IncomingRequest) -> None:
        try:
            incoming.reply(await self._handlers[incoming.method](incoming))
        except (Exception, asyncio.CancelledError) as error:
            incoming.fail(error)
