"""The body of a 200 answer: server-sent events, JSON lines, JSON as a whole, or a web page."""

from __future__ import annotations

import json

from agentchat.core.errors import ModelError
from agentchat.core.messages import Reply
from agentchat.core.model import Piece
from agentchat.models.response.events import EventReader
from agentchat.models.response.sse import BOM, EVENT_BYTES, JsonLinesDecoder, SseDecoder, SseEvent

CHECK_URL = "Check base_url: it usually ends in /v1."
NOT_AN_ANSWER = f"The server answered with something that is no chat completion. {CHECK_URL}"
WEB_PAGE = f"The server answered with a web page instead of an answer. {CHECK_URL}"
NOTHING = f"The server answered with nothing. Send the request again. {CHECK_URL}"

OTHER_PROTOCOL = (
    "The server answered in the protocol {spoken!r}, not in {expected!r}. "
    "Set protocol = {spoken!r} in g:agentchat.model."
)

_INVALID = object()
"""What stands for text that is not JSON."""


class BodyReader:
    """Add the body's bytes, then take the reply. The first byte tells what the body is."""

    def __init__(self, reader: EventReader) -> None:
        self._reader = reader
        self._reply = reader.reply
        self._decoder: SseDecoder | JsonLinesDecoder = SseDecoder()
        if reader.framing == "json-lines":
            self._decoder = JsonLinesDecoder()
        self._spoken = ""
        self._head = b""
        self._object: bytearray | None = None
        self._begun = False
        self._failure: str | None = None
        self.progress = 0
        """Counts what brought the answer forward; comments and pings do not."""

    @property
    def is_failed(self) -> bool:
        """Whether the answer holds an error."""
        return self._failure is not None or self._reply.error is not None

    @property
    def is_complete(self) -> bool:
        """Whether nothing but usage can still come."""
        return self.is_failed or self._reply.is_finished

    @property
    def is_satisfied(self) -> bool:
        """Whether nothing at all is worth waiting for."""
        return self.is_failed or (self._reply.is_finished and self._reply.usage is not None)

    def add(self, data: bytes) -> list[Piece]:
        """Take bytes of the body; return what is new in the answer."""
        if not self._begun:
            data = self._begin(data)
        if self._failure is not None:
            return []
        if self._object is not None:
            self._extend_object(data)
            return []
        try:
            events = self._decoder.add(data)
        except ModelError as error:
            self._reply.fail(str(error))
            return []
        return [piece for event in events for piece in self._read(event)]

    def end(self) -> list[Piece]:
        """Take the end of the body."""
        if not self._begun:
            self._failure = self._failure or NOTHING
        if self._failure is not None:
            return []
        if self._object is not None:
            return self._read_object(bytes(self._object))
        pieces = [p for event in self._decoder.end() for p in self._read(event, is_last=True)]
        if self._spoken and self._reply.is_empty and not self._reply.is_finished:
            self._failure = self._other_protocol(self._spoken)
        return [*pieces, *self._reply.flush()]

    def reply(self, failure: str | None = None) -> Reply:
        """Return the reply; ``failure`` says what broke the connection, if anything did."""
        return self._reply.reply(self._failure or failure)

    def _begin(self, data: bytes) -> bytes:
        """Find out from the first byte that is no blank what the body is."""
        data = self._head + data
        start = data.removeprefix(BOM).lstrip()
        if not start or BOM.startswith(start):
            self._head = data
            return b""
        self._begun = True
        if start.startswith((b"{", b"[")) and self._reader.framing == "sse":
            self._object = bytearray()
            return start
        if start.startswith((b"data:", b"event:", b":")):  # whatever was expected
            self._decoder = SseDecoder()
        elif start.startswith(b"<"):
            self._failure = WEB_PAGE
        return data

    def _extend_object(self, data: bytes) -> None:
        assert self._object is not None
        self._object += data
        self.progress += 1
        if len(self._object) > EVENT_BYTES:
            self._failure = NOT_AN_ANSWER

    def _read(self, event: SseEvent, is_last: bool = False) -> list[Piece]:
        """Take one event; ``is_last``: the stream ended in it, so it may be incomplete."""
        text = event.data.strip()
        if text == "[DONE]":  # of another protocol it ends nothing
            is_own = self._spoken in ("", self._reader.protocol)
            return self._reply.end() if is_own else []
        value = _decode(text)
        if event.name == "error":
            return self._reader.read({"error": text if value is _INVALID else value or text})
        if value is not _INVALID:
            is_answer = self._reader.is_answer(value)
            self.progress += is_answer
            self._spoken = self._spoken or ("" if is_answer else protocol_of(value))
            return self._reader.read(value)
        if event.name in ("", "message") and not is_last and text:
            self._reply.fail(f"it sent what is not JSON: {text[:80]}")
        return []

    def _read_object(self, body: bytes) -> list[Piece]:
        value = _decode(body.decode("utf-8", "replace"))
        events = value if isinstance(value, list) else [value]  # as Gemini sends without streaming
        if not any(map(self._reader.is_answer, events)):
            first_line = body.partition(b"\n")[0].decode("utf-8", "replace")
            spoken = protocol_of(_decode(first_line) if value is _INVALID else value)
            self._failure = self._other_protocol(spoken) if spoken else NOT_AN_ANSWER
            return []
        return [*(p for event in events for p in self._reader.read(event)), *self._reply.end()]

    def _other_protocol(self, spoken: str) -> str:
        expected = self._reader.protocol
        if spoken == expected:
            return NOT_AN_ANSWER
        return OTHER_PROTOCOL.format(spoken=spoken, expected=expected)


def protocol_of(event: object) -> str:
    """Return the protocol whose answers have such events, empty if that is not certain."""
    if not isinstance(event, dict):
        return ""
    kind = str(event.get("type"))
    if kind.startswith("response.") or event.get("object") == "response":
        return "openai-responses"
    if kind.startswith(("message_", "content_block_")):
        return "anthropic"
    if isinstance(event.get("choices"), list):
        return "openai-chat"
    if isinstance(event.get("candidates"), list):
        return "gemini"
    return "ollama" if isinstance(event.get("message"), dict) and "done" in event else ""


def _decode(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _INVALID
