"""Server-sent events and JSON lines, decoded from bytes that are cut anywhere."""

from __future__ import annotations

from agentchat.core.errors import ModelError
from agentchat.core.frozen import frozen

EVENT_BYTES = 64 * 1024 * 1024
"""The most bytes of one event; a larger one is an error."""

BOM = b"\xef\xbb\xbf"


@frozen
class SseEvent:
    """One event: ``name`` is empty unless the server gave one."""

    data: str
    name: str = ""


class SseDecoder:
    """Turns bytes, cut anywhere, into whole events."""

    def __init__(self, limit: int = EVENT_BYTES) -> None:
        self._limit = limit
        self._line: list[bytes] = []
        self._data: list[str] = []
        self._name = ""
        self._size = 0
        self._first = True
        self._after_cr = False

    def add(self, data: bytes) -> list[SseEvent]:
        """Return the events that ``data`` completes.

        Raises:
            ModelError: one event is larger than the limit.
        """
        events = []
        for line in self._lines(data):
            event = self._take(line)
            if event is not None:
                events.append(event)
        return events

    def end(self) -> list[SseEvent]:
        """Return what the stream left without its closing blank line, if anything."""
        tail = self.add(b"\n") if self._line else []
        last = self._dispatch()
        return tail if last is None else [*tail, last]

    def _lines(self, data: bytes) -> list[bytes]:
        """Return the lines that ``data`` completes and keep the rest."""
        if self._after_cr and data[:1] == b"\n":
            data = data[1:]
            self._after_cr = False
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        lines = data.splitlines()
        rest = [] if data[-1:] in (b"\n", b"\r") else [lines.pop()]
        if lines:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line = rest
        else:
            self._line += rest
        self._count(len(data))
        return lines

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._limit and (self._line or self._data):
            raise ModelError(f"one event is larger than {self._limit} bytes")

    def _take(self, line: bytes) -> SseEvent | None:
        if self._first:
            self._first = False
            line = line[len(BOM) :] if line.startswith(BOM) else line
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        text = value[1:] if value[:1] == b" " else value
        if field == b"data":
            self._data.append(text.decode("utf-8", "replace"))
        elif field == b"event":
            self._name = text.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> SseEvent | None:
        data, name = self._data, self._name
        self._data, self._name, self._size = [], "", 0
        return SseEvent("\n".join(data), name) if data else None


class JsonLinesDecoder:
    """Turns bytes, cut anywhere, into whole lines; has the interface of ``SseDecoder``."""

    def __init__(self, limit: int = EVENT_BYTES) -> None:
        self._limit = limit
        self._line: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> list[SseEvent]:
        """Return the lines that ``data`` completes.

        Raises:
            ModelError: one line is larger than the limit.
        """
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line, self._size = [], 0
        self._line.append(rest)
        self._size += len(rest)
        if self._size > self._limit:
            raise ModelError(f"one line is larger than {self._limit} bytes")
        return [SseEvent(line.decode("utf-8", "replace")) for line in lines if line.strip()]

    def end(self) -> list[SseEvent]:
        """Return the line that the stream left without its end, if there is one."""
        return self.add(b"\n")
