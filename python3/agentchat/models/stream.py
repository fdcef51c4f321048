"""The body of a 200 answer, whatever it turns out to be: a stream, one JSON object, a web page."""

from __future__ import annotations

import json

from agentchat.core.errors import ModelError
from agentchat.core.messages import Reply
from agentchat.core.tools.model import Piece
from agentchat.models.reply import Assembly
from agentchat.models.sse import BOM, EVENT_BYTES, Decoder, Event

CHECK_URL = "Check base_url: it usually ends in /v1."
NOT_AN_ANSWER = f"The server answered with something that is no chat completion. {CHECK_URL}"
A_PAGE = f"The server answered with a web page instead of an answer. {CHECK_URL}"
TORN = object()
"""What stands for text that is not JSON."""

NOTHING = f"The server answered with nothing. Send the request again. {CHECK_URL}"


class Answer:
    """Feed it the body's bytes, then take the reply. The body is judged by its first byte."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._decoder = Decoder()
        self._head = b""
        self._whole: list[bytes] | None = None
        self._size = 0
        self._begun = False
        self._failure: str | None = None
        self.progress = 0
        """Counts what brought the answer forward; comments and pings do not."""

    @property
    def complete(self) -> bool:
        """Whether nothing but usage can still come."""
        return self._failure is not None or self._assembly.finished or self.failed

    @property
    def satisfied(self) -> bool:
        """Whether nothing at all is worth waiting for."""
        return self.complete and (self.failed or self._assembly.has_usage)

    @property
    def failed(self) -> bool:
        """Whether the answer holds an error."""
        return self._failure is not None or self._assembly.error is not None

    def feed(self, data: bytes) -> list[Piece]:
        """Take bytes of the body; return what is new in the answer."""
        if not self._begun:
            data = self._judge(data)
        if self._failure is not None:
            return []
        if self._whole is not None:
            self._keep(data)
            return []
        try:
            events = self._decoder.feed(data)
        except ModelError as error:
            self._assembly.fail(str(error))
            return []
        return [piece for event in events for piece in self._event(event)]

    def end(self) -> list[Piece]:
        """Take the end of the body."""
        if not self._begun:
            self._failure = self._failure or NOTHING
        if self._failure is not None:
            return []
        if self._whole is not None:
            return self._object(b"".join(self._whole))
        return [piece for event in self._decoder.end() for piece in self._event(event, last=True)]

    def reply(self, failure: str | None = None) -> Reply:
        """Return the answer; ``failure`` says what broke the connection, if anything did."""
        return self._assembly.reply(self._failure or failure)

    def _judge(self, data: bytes) -> bytes:
        """Find out from the first byte that says something what the body is."""
        data = self._head + data
        said = (data[len(BOM) :] if data.startswith(BOM) else data).lstrip()
        if not said or BOM.startswith(said):
            self._head = data
            return b""
        self._begun = True
        if said.startswith(b"{"):
            self._whole = []
            return said
        if said.startswith(b"<"):
            self._failure = A_PAGE
        return data

    def _keep(self, data: bytes) -> None:
        assert self._whole is not None
        self._size += len(data)
        if self._size > EVENT_BYTES:
            self._failure = NOT_AN_ANSWER
        else:
            self._whole.append(data)
            self.progress += 1

    def _event(self, event: Event, last: bool = False) -> list[Piece]:
        """Take one event; ``last``: the stream ended in it, so it may be a torn one."""
        if event.data.strip() == "[DONE]":
            self._assembly.done()
            return []
        chunk = _decoded(event.data)
        if event.name == "error":
            self._assembly.feed({"error": event.data if chunk is TORN else chunk or event.data})
        elif chunk is not TORN:
            self.progress += _moves(chunk)
            return self._assembly.feed(chunk)
        elif event.name in ("", "message") and not last and event.data.strip():
            self._assembly.fail(f"it sent what is not JSON: {event.data.strip()[:80]}")
        return []

    def _object(self, body: bytes) -> list[Piece]:
        chunk = _decoded(body.decode("utf-8", "replace"))
        if not isinstance(chunk, dict) or not _is_answer(chunk):
            self._failure = NOT_AN_ANSWER
            return []
        pieces = self._assembly.feed(chunk)
        self._assembly.done()
        return pieces


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return TORN


def _moves(chunk: object) -> bool:
    return isinstance(chunk, dict) and bool(chunk.get("choices"))


def _is_answer(chunk: dict[str, object]) -> bool:
    return bool(chunk.get("choices") or chunk.get("error") or chunk.get("object") == "error")
