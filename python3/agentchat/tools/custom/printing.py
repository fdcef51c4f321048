"""What a tool prints goes to its block: for each call by itself, and never to the editor's pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

Sink = Callable[[str], None]

_SINK: ContextVar[Sink | None] = ContextVar("sink", default=None)


class _Divided:
    """A standard stream whose text goes to the call in whose context it is written."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        sink = _SINK.get()
        if sink is None:
            return self._inner.write(text)
        sink(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """The stream for bytes, as programs use it that print what is no text."""
        return self._inner.buffer if _SINK.get() is None else _Bytes(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Bytes:
    def __init__(self, text: _Divided) -> None:
        self._text = text

    def write(self, data: bytes) -> int:
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        """Nothing waits here."""


@contextmanager
def diverted(sink: Sink) -> Iterator[None]:
    """Give ``sink`` what is printed in this context: in this thread, and in tasks it starts."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _Divided):
            # It stays: a thread that was given up may print long after its call.
            setattr(sys, name, cast("TextIO", _Divided(stream)))
    token = _SINK.set(sink)
    try:
        yield
    finally:
        _SINK.reset(token)
