"""The wire form of a history, kept from request to request, and its encoding.

A chat sends its whole history with each request. What was sent before is neither converted nor
encoded again, so that a request of a long chat costs as little as one of a short one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from agentchat.core.messages import History, Message, Reply, ToolResult
from agentchat.models.protocols.conversation import Entry, entries


class KeptJson(dict[str, Any]):
    """A JSON object that is encoded once; it must not be changed."""

    __slots__ = ("_encoded",)

    @property
    def encoded(self) -> bytes:
        """Its encoding."""
        try:
            return self._encoded
        except AttributeError:
            self._encoded: bytes = _encode(self)
            return self._encoded


class WireHistory:
    """Converts the history of one chat, each message once.

    Messages before the newest reply are settled: a later request has the same ones, unless the
    history was compacted or is that of another chat. Then all are converted again.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything, because messages are converted otherwise from now on."""
        self._settled: tuple[Message, ...] = ()
        self._wire: list[KeptJson] = []
        self._basis: Hashable = None

    def convert(
        self,
        history: History,
        write: Callable[[Entry], Iterable[Mapping[str, Any]]],
        basis: Hashable = None,
    ) -> list[Mapping[str, Any]]:
        """Return the wire messages of a history; ids of calls are unique in it.

        Args:
            write: converts one entry.
            basis: what the conversion depends on besides the entry.
        """
        messages, start = history.messages, len(self._settled)
        if messages[:start] != self._settled or basis != self._basis:
            self.clear()
            self._basis, start = basis, 0
        end = _settled_end(messages, start)
        older = entries(messages[start:end], start)
        self._wire += [KeptJson(message) for entry in older for message in write(entry)]
        self._settled = messages[:end]
        newer = entries(messages[end:], end)
        return [*self._wire, *(message for entry in newer for message in write(entry))]


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Return the JSON of a body as UTF-8, with ``?`` for what has no encoding."""
    fields = (_encode(key) + b": " + _encode_field(value) for key, value in body.items())
    return b"{" + b", ".join(fields) + b"}"


def _encode_field(value: object) -> bytes:
    if not isinstance(value, list):
        return _encode(value)
    return b"[" + b", ".join(map(_encode_item, value)) + b"]"


def _encode_item(value: object) -> bytes:
    return value.encoded if isinstance(value, KeptJson) else _encode(value)


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _settled_end(messages: tuple[Message, ...], start: int) -> int:
    """Return where the newest reply is, if all calls before it are answered, else ``start``."""
    newest = range(len(messages) - 1, start - 1, -1)
    end = next((i for i in newest if isinstance(messages[i], Reply)), start)
    called, answered = set(_called(messages[start:end])), set(_answered(messages[start:end]))
    return end if called <= answered else start


def _called(messages: tuple[Message, ...]) -> Iterator[str]:
    replies = (message for message in messages if isinstance(message, Reply))
    return (call.id for reply in replies for call in reply.calls)


def _answered(messages: tuple[Message, ...]) -> Iterator[str]:
    return (message.call_id for message in messages if isinstance(message, ToolResult))
