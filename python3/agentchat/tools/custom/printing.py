"""What a tool prints goes to its block: for each call by itself, and never to the editor's pipe."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

Sink = Callable[[str], None]

_SINK: ContextVar[Sink | None] = ContextVar("sink", default=None)
_LOCK = threading.Lock()
_active = 0
_before: tuple[TextIO, TextIO] | None = None


class _Divided(io.TextIOBase):
    """A standard stream that belongs to the call in whose context it is written."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        sink = _SINK.get()
        if sink is None:
            return self._inner.write(text)
        sink(text)
        return len(text)

    def flush(self) -> None:
        if _SINK.get() is None:
            self._inner.flush()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._inner.fileno()


@contextmanager
def diverted(sink: Sink) -> Iterator[None]:
    """Give ``sink`` what is printed in this context, in this thread and tasks it starts."""
    _divide()
    token = _SINK.set(sink)
    try:
        yield
    finally:
        _SINK.reset(token)
        _rejoin()


def _divide() -> None:
    global _active, _before
    with _LOCK:
        _active += 1
        if _before is None:
            _before = (sys.stdout, sys.stderr)
            sys.stdout, sys.stderr = _Divided(sys.stdout), _Divided(sys.stderr)


def _rejoin() -> None:
    global _active, _before
    with _LOCK:
        _active -= 1
        if _active == 0 and _before is not None:
            sys.stdout, sys.stderr = _before
            _before = None
