"""A client of Neovim's RPC that never waits without a limit.

pynvim's own client waits for ever for an answer; here each request has a timeout, since an editor
that stands at a prompt and answers nothing is just what a test has to notice.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import msgpack

REQUEST_LIMIT = 10.0
"""Seconds an answer may take."""

Notification = tuple[str, list[Any]]


class RpcError(Exception):
    """Neovim answered by an error; the text is its message."""


class Unanswered(Exception):
    """No answer came in time, or Neovim is gone."""


class Peer:
    """One connection: ``read`` blocks for more bytes (empty: closed), ``write`` sends all given.

    Notifications wait in ``inbox`` in the order they came; the pair ``("closed", [])`` is last.
    """

    def __init__(self, read: Callable[[], bytes], write: Callable[[bytes], object]) -> None:
        self.inbox: queue.Queue[Notification] = queue.Queue()
        self._read = read
        self._write = write
        self._ids = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, method: str, *args: Any) -> Future[Any]:
        """Send a request; the future brings its answer or an ``RpcError``."""
        future: Future[Any] = Future()
        with self._lock:
            number = next(self._ids)
            self._waiting[number] = future
            self._send([0, number, method, list(args)])
        return future

    def request(self, method: str, *args: Any, limit: float = REQUEST_LIMIT) -> Any:
        """Send a request and return the answer.

        Raises:
            RpcError: Neovim says no.
            Unanswered: nothing came within ``limit`` seconds.
        """
        try:
            return self.start(method, *args).result(limit)
        except FutureTimeout:
            raise Unanswered(f"{method} had no answer within {limit} s") from None

    def _send(self, message: list[Any]) -> None:
        try:
            self._write(msgpack.packb(message, unicode_errors="surrogateescape"))
        except (OSError, ValueError) as error:
            raise Unanswered(f"Neovim is gone: {error}") from error

    def _listen(self) -> None:
        unpacker = msgpack.Unpacker(
            ext_hook=_handle, unicode_errors="surrogateescape", strict_map_key=False
        )
        while data := self._more():
            unpacker.feed(data)
            for message in unpacker:
                self._receive(message)
        self._close()

    def _more(self) -> bytes:
        try:
            return self._read()
        except (OSError, ValueError):
            return b""

    def _receive(self, message: list[Any]) -> None:
        if message[0] == 2:
            self.inbox.put((message[1], message[2]))
        elif message[0] == 1:
            self._answered(message[1], message[2], message[3])
        else:
            with self._lock:
                self._send([1, message[1], "the test answers no requests", None])

    def _answered(self, number: int, error: Any, result: Any) -> None:
        future = self._waiting.pop(number)
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(RpcError(error[1] if isinstance(error, list) else str(error)))

    def _close(self) -> None:
        for future in list(self._waiting.values()):
            future.set_exception(Unanswered("Neovim closed the connection"))
        self._waiting.clear()
        self.inbox.put(("closed", []))


def _handle(code: int, data: bytes) -> int:
    """A buffer, window or tab page: its number."""
    return int(msgpack.unpackb(data))
