"""One end of a connection between two processes; both ends are the same.

Three kinds of process are served by it: a workspace on another machine (``workspace/ssh``), a
worker that runs the user's own tools (``tools/custom``), and later servers of other protocols.

Messages. Each is one frame (see ``frames``):

    {"id": 7, "method": "read", "params": {...}}    a request
    {"id": 7, "result": ...}                        its answer, or
    {"id": 7, "error": {"kind": ..., ...}}          its failure (see ``errors``)
    {"id": 7, "progress": ...}                      sent by the end that serves 7, any number
    {"id": 7, "cancel": true}                       sent by the end that asked 7

Both ends may ask at any time, and number their requests by themselves: an ``id`` in a request or a
``cancel`` is one of the sender's, in an answer or ``progress`` one of the receiver's. Answers come
in any order.

States of a request: *sent* until its answer arrives; *cancelled* when the asker no longer wants the
result. A cancelled request is still answered, with ``cancelled`` or with whatever came first: this
tells the asker that nothing of it runs any more. A request is answered exactly once, and when the
connection ends every request that is not answered fails with ``Disconnected``. Nothing is ever
sent again.

Threads. One thread reads, another writes, so an end reads even while its program is busy, and any
thread can send. An answer goes to whoever waits, in an event loop (``request``) or blocking
(``request_blocking``). Progress is delivered in the event loop of the asker, in order, before the
answer. At most ``MAX_UNDELIVERED_PROGRESS`` pieces wait there: then the reader stops, the pipe
fills up, and the sender blocks in ``drain``. So a flood costs a bounded amount of memory at both
ends.

The peer knows nothing of the process behind it. Whoever started that decides how long it may be
silent (``last_message_time``), kills it, and says how it ended.
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
from agentchat.rpc.errors import Disconnected, RequestCancelled, decode_error, encode_error
from agentchat.rpc.frames import BadFrame, Message, pack, read_message

CANCEL_SECONDS = 2.0
"""How long ``request`` waits, once cancelled, until the other end has stopped."""

MAX_UNDELIVERED_PROGRESS = 64
OnProgress = Callable[[Any], None]


class OutgoingRequest:
    """A request to the other end."""

    def __init__(self, number: int, on_progress: OnProgress | None) -> None:
        self.id = number
        self.answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.answer.set_running_or_notify_cancel()  # only the other end can end it
        self.on_progress = on_progress
        self.loop = asyncio.get_running_loop() if on_progress is not None else None

    def complete(self, result: Any, error: Exception | None = None) -> None:
        """Give it its answer, unless it has one."""
        with suppress(concurrent.futures.InvalidStateError):
            if error is not None:
                self.answer.set_exception(error)
            else:
                self.answer.set_result(result)


class IncomingRequest:
    """A request of the other end, to be answered once with ``reply`` or ``fail``.

    ``on_cancel`` is called, on the thread that reads, when the other end cancels it; who sets it
    looks at ``cancelled`` afterwards.
    """

    def __init__(self, peer: Peer, number: int, method: str, params: Mapping[str, Any]) -> None:
        self.id = number
        self.method = method
        self.params = params
        self.cancelled = False
        self.on_cancel: Callable[[], None] | None = None
        self._peer = peer

    def reply(self, result: Any) -> None:
        """Answer it."""
        self._peer.answer(self, {"result": result})

    def fail(self, error: BaseException) -> None:
        """Answer it with an error."""
        self._peer.answer(self, {"error": encode_error(error)})

    def progress(self, data: Any) -> None:
        """Send something ahead of the answer."""
        self._peer.send({"id": self.id, "progress": data})

    def drain(self, most: int) -> None:
        """Wait in this thread until at most this many bytes wait to be written."""
        self._peer.drain(most)

    def cancel(self) -> None:
        """Take note that nobody wants the answer."""
        self.cancelled = True
        if self.on_cancel is not None:
            self.on_cancel()


class Peer:
    """One end of a connection.

    Args:
        source: a blocking stream of what the other end writes.
        sink: a file descriptor for what it reads. The peer owns both from ``start`` on.
        serve: takes each request of the other end, on the thread that reads; must not block.

    ``end_reason`` has the reason as its result once the connection has ended.
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
        """Begin to read and write."""
        self._writer.start()
        self._reader.start()

    @property
    def alive(self) -> bool:
        """Whether requests can be sent."""
        return not self.end_reason.done()

    def send_request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> OutgoingRequest:
        """Send a request; return without the answer."""
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
        """Return the answer to a request.

        Cancelled, it has the other end stop, and waits until it has, for ``cancel_seconds`` at
        most (``None``: however long that takes).

        Raises:
            Disconnected: the connection ended.
            RemoteError, ToolError, Stale, OSError: as it was raised at the other end.
        """
        outgoing = self.send_request(method, params, on_progress)
        answer = asyncio.wrap_future(outgoing.answer)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self.cancel(outgoing)
            await asyncio.wait({answer}, timeout=cancel_seconds)
            if answer.done():
                answer.exception()  # it was seen
            raise

    def request_blocking(
        self, method: str, params: Mapping[str, Any], seconds: float | None = None
    ) -> Any:
        """Wait in this thread for the answer to a request; raises as ``request``, or TimeoutError.

        A request that is given up, because of time or of an exception, is cancelled.
        """
        outgoing = self.send_request(method, params)
        try:
            return outgoing.answer.result(seconds)
        except BaseException:
            if not outgoing.answer.done():
                self.cancel(outgoing)
            raise

    def cancel(self, outgoing: OutgoingRequest) -> None:
        """Tell the other end that the answer is not wanted; progress is dropped from now on."""
        outgoing.on_progress = None
        self.send({"id": outgoing.id, "cancel": True})

    def answer(self, incoming: IncomingRequest, answer: Message) -> None:
        """Answer a request of the other end; a second answer is dropped."""
        if self._incoming.pop(incoming.id, None) is None:
            return
        try:
            self.send({"id": incoming.id, **answer})
        except (TypeError, ValueError, RecursionError) as error:  # JSON cannot represent it
            self.send({"id": incoming.id, "error": encode_error(error)})

    def send(self, message: Message) -> None:
        """Send a message; it is dropped where the connection has ended."""
        self._writer.add(pack(message))

    def drain(self, most: int) -> None:
        """Wait in this thread until at most this many bytes wait to be written."""
        self._writer.wait(most)

    def close(self, reason: str = "it was closed") -> None:
        """End the connection: whoever waits for an answer gets Disconnected."""
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
                self._take(message)
        except (OSError, ValueError):
            pass  # the stream was closed
        except (BadFrame, LookupError, TypeError) as error:
            reason = f"it sent nonsense: {error}"
        self.close(reason)
        with suppress(OSError):
            self._source.close()

    def _take(self, message: Message) -> None:
        number = message["id"]
        if "method" in message:
            self._take_request(number, message)
        elif "cancel" in message:
            incoming = self._incoming.get(number)
            if incoming is not None:
                incoming.cancel()
        elif "progress" in message:
            self._take_progress(number, message["progress"])
        else:
            outgoing = self._outgoing.pop(number, None)
            if outgoing is not None:
                error = decode_error(message["error"]) if "error" in message else None
                outgoing.complete(message.get("result"), error)

    def _take_request(self, number: int, message: Message) -> None:
        incoming = IncomingRequest(self, number, message["method"], message["params"])
        self._incoming[number] = incoming
        if self._serve is None:
            incoming.fail(LookupError("nothing is served here"))
        else:
            self._serve(incoming)

    def _take_progress(self, number: int, data: Any) -> None:
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
        except Exception as error:  # it fails the request it belongs to, and no other
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

    def wait(self, most: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._waiting <= most)

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
    """Serves requests with coroutines, each a task of the running event loop.

    What a handler returns or raises is the answer; a request that is cancelled cancels its task.
    """

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers
        self._loop = asyncio.get_running_loop()
        self._tasks = BackgroundTasks()

    def __call__(self, incoming: IncomingRequest) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._start, incoming)

    async def cancel(self) -> None:
        """Cancel what is served and wait until it has ended."""
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
