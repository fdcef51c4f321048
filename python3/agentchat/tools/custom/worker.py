"""The plugin's end of one process in which tools run."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import queue
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentchat.tools.custom.wire import CHUNK, Failed, error_heard, packed, unpacker

GRACE_SECONDS = 2.0
"""How long a function that was given up may take to end before its process does."""

NONSENSE = "what it sent made no sense"
STUBBORN = "a function in it did not end when it was given up"


class Ended(Failed):
    """The process is gone; the message says how it ended."""


class Process(Protocol):
    """What a worker needs of a process that runs already."""

    def kill(self) -> None:
        """End it with all that it started."""

    def wait(self) -> str:
        """Wait for its end; return how it ended, as in ``killed by signal 9``."""


Listener = Callable[["Worker", list[Any]], None]
"""Takes what a function asks while it runs: the worker, and a message without its number."""


@dataclass(eq=False, slots=True)
class Request:
    """One request; ``future`` is its answer, ``listener`` is called in ``loop``."""

    number: int
    future: concurrent.futures.Future[Any]
    listener: Listener | None = None
    loop: asyncio.AbstractEventLoop | None = None


@dataclass(eq=False, slots=True)
class Doubt:
    """A request that was given up: ``over`` is done when its function has ended, or all has."""

    heard: bool = False
    over: concurrent.futures.Future[None] = field(default_factory=concurrent.futures.Future)


class Worker:
    """Sends requests to a process and hands out the answers, from whatever thread.

    ``ended`` says how the process ended, once it has; ``retired`` means that it ends with the
    last of the requests it has.
    """

    def __init__(self, line: socket.socket, process: Process) -> None:
        self.ended = ""
        self.retired = False
        self._line = line
        self._process = process
        self._why = ""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._requests: dict[int, Request] = {}
        self._doubts: dict[int, Doubt] = {}
        self._out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for work in (self._read, self._write, self._watch):
            threading.Thread(target=work, name="tools", daemon=True).start()

    @property
    def usable(self) -> bool:
        """Whether new requests may be sent to it."""
        return not (self.ended or self.retired or self._why)

    def send(self, kind: str, body: Mapping[str, Any], listener: Listener | None = None) -> Request:
        """Send a request; its future fails with Ended if the process does not live to answer."""
        request = Request(next(self._numbers), concurrent.futures.Future(), listener)
        request.future.set_running_or_notify_cancel()  # nobody cancels it but `give_up`
        if listener is not None:
            request.loop = asyncio.get_running_loop()
        with self._lock:
            self._requests[request.number] = request
        self._post(request.number, kind, dict(body))
        if self.ended:
            self._settle(request.number, Ended(self.ended))
        return request

    async def call(
        self, kind: str, body: Mapping[str, Any], listener: Listener | None = None
    ) -> Any:
        """Return the answer to a request, or raise what it failed with; may be cancelled."""
        request = self.send(kind, body, listener)
        try:
            return await asyncio.wrap_future(request.future)
        except asyncio.CancelledError:
            self._give_up(request, asyncio.get_running_loop())
            raise

    def soon(self, kind: str, body: Mapping[str, Any], seconds: float) -> Any:
        """Wait here for the answer to a request; raises TimeoutError if it takes too long."""
        request = self.send(kind, body)
        try:
            return request.future.result(seconds)
        except concurrent.futures.TimeoutError:
            with self._lock:
                self._requests.pop(request.number, None)
            self._post(request.number, "give_up", None)
            raise TimeoutError(f"no answer within {seconds:g} s") from None

    async def certain(self) -> None:
        """Wait until everything that was given up has ended, or the process has."""
        for doubt in tuple(self._doubts.values()):
            await asyncio.wrap_future(doubt.over)

    def answer(self, number: int, question: int, error: list[Any] | None, value: Any) -> None:
        """Answer what a function asked in the request of this number."""
        self._post(number, "answer", [question, error, value])

    def end(self, why: str) -> None:
        """End the process; requests fail with a message that says why."""
        self._why = self._why or why
        self._process.kill()

    def retire(self, why: str) -> None:
        """End the process when nothing runs in it any more."""
        self.retired = True
        if not self._requests:
            self.end(why)

    def _give_up(self, request: Request, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            running = self._requests.pop(request.number, None)
        if running is None or self.ended:
            return
        with self._lock:
            self._doubts[request.number] = Doubt()
        self._post(request.number, "give_up", None)
        loop.call_later(GRACE_SECONDS, self._judge, request.number)

    def _judge(self, number: int) -> None:
        """End a process in which a function goes on that nobody waits for."""
        with self._lock:
            doubt = self._doubts.pop(number, None)
        if doubt is None:
            return
        if doubt.heard:
            self.retire(STUBBORN)
        else:
            self.end(STUBBORN)  # not even its loop answers
        _done(doubt.over)

    def _post(self, *message: Any) -> None:
        self._out.put(packed(*message))

    def _write(self) -> None:
        with suppress(OSError):
            while (data := self._out.get()) is not None:
                self._line.sendall(data)

    def _watch(self) -> None:
        """Hang up when the process has ended: a child of its own may still hold the line."""
        self._process.wait()
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        messages = unpacker()
        try:
            while data := self._line.recv(CHUNK):
                messages.feed(data)
                for number, *message in messages:
                    self._take(number, message)
        except OSError:
            pass
        except Exception:  # whatever it is that it sent
            self._why = self._why or NONSENSE
        self._gone()

    def _take(self, number: int, message: list[Any]) -> None:
        kind = message[0]
        if kind == "done":
            self._settle(number, message[1])
        elif kind == "failed":
            self._settle(number, error_heard(message[1]))
        elif kind == "heard":
            if number in self._doubts:
                self._doubts[number].heard = True
        elif kind == "over":
            self._settle(number, TimeoutError("it was given up"))
        else:
            self._tell(number, message)

    def _tell(self, number: int, message: list[Any]) -> None:
        request = self._requests.get(number)
        if request is None or request.listener is None or request.loop is None:
            return
        with suppress(RuntimeError):  # the loop is closed
            request.loop.call_soon_threadsafe(request.listener, self, [number, *message])

    def _settle(self, number: int, answer: Any) -> None:
        with self._lock:
            request = self._requests.pop(number, None)
            doubt = self._doubts.pop(number, None)
        if doubt is not None:
            _done(doubt.over)
        if request is not None:
            if isinstance(answer, Exception):
                request.future.set_exception(answer)
            else:
                request.future.set_result(answer)
        if self.retired and not self._requests:
            self.end(STUBBORN)

    def _gone(self) -> None:
        """Tell everybody who waits that the process is gone."""
        self._process.kill()
        how = self._process.wait()
        self.ended = f"its process was ended: {self._why}" if self._why else f"its process {how}"
        self._out.put(None)
        self._line.close()
        with self._lock:
            waiting = {*self._requests, *self._doubts}
        for number in waiting:
            self._settle(number, Ended(self.ended))


def _done(future: concurrent.futures.Future[None]) -> None:
    with suppress(concurrent.futures.InvalidStateError):
        future.set_result(None)
