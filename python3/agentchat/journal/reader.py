"""Reading a journal: quietly to its last whole record, and back to a history."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

from agentchat.core.messages import History, Message, Reply, Status, ToolCall, ToolResult
from agentchat.journal.codec import from_fields
from agentchat.journal.records import CallStarted, Content, Record, Said, SoFar

BROKEN_OFF = "The answer was cut off: the plugin's process ended while it arrived."


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a journal is whole: ``end`` bytes; ``contents`` are the hashes it holds."""

    end: int
    contents: frozenset[str]


def read(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Yield the records of a journal; a torn or damaged rest ends it without an error."""
    with Path(path).open("rb") as file:
        for said, _ in _whole(file):
            yield from_fields(said)


def measure(path: str | os.PathLike[str]) -> Extent:
    """Find out where the whole records of a journal end."""
    end = 0
    contents: set[str] = set()
    with Path(path).open("rb") as file:
        for said, offset in _whole(file):
            end = offset
            if said["kind"] == Content.kind:
                contents.add(said.get("sha256", ""))
    return Extent(end, frozenset(contents))


def _whole(file: BinaryIO) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield the map of each whole record with the offset where it ends."""
    unpacker = msgpack.Unpacker(
        file, max_buffer_size=0, unicode_errors="surrogatepass", strict_map_key=False
    )
    while True:
        try:
            said = unpacker.unpack()
        except Exception:  # torn, or not msgpack: the library raises many kinds here
            return
        if not isinstance(said, dict) or "kind" not in said:
            return
        yield said, unpacker.tell()


def history(records: Iterable[Record]) -> History:
    """Return all that was said, oldest first, as the model may be told it.

    An answer that never came to its end is kept as far as it was written down; a call that was
    never answered gets the result that tells why.
    """
    messages: list[Message] = []
    started: set[str] = set()
    arriving = ""
    for record in records:
        if isinstance(record, SoFar):
            arriving = record.text
        elif isinstance(record, CallStarted):
            started.add(record.call_id)
        elif isinstance(record, Said):
            if arriving and not isinstance(record.message, Reply):
                messages.append(_broken_off(arriving))
            arriving = ""
            messages.append(record.message)
    if arriving:
        messages.append(_broken_off(arriving))
    return History(tuple(_answered(messages, started)))


def _broken_off(text: str) -> Reply:
    return Reply(text=text, finish="unknown", error=BROKEN_OFF)


def _answered(messages: list[Message], started: set[str]) -> Iterator[Message]:
    """Yield the messages with each call answered once, in call order, right after its reply."""
    results: dict[str, ToolResult] = {}
    for message in messages:
        if isinstance(message, ToolResult):
            results.setdefault(message.call_id, message)
    for message in messages:
        if isinstance(message, ToolResult):
            continue
        yield message
        if isinstance(message, Reply):
            for call in message.calls:
                yield results.get(call.id) or _lost(call, call.id in started)


def _lost(call: ToolCall, started: bool) -> ToolResult:
    """Return the result of a call that a dead process left without one."""
    if started:
        text = (
            f'The outcome of "{call.name}" is unknown: the plugin\'s process ended while it ran. '
            "It was not repeated."
        )
    else:
        text = f'The call to "{call.name}" was not run: the plugin\'s process ended before it.'
    return ToolResult(call.id, call.name, text, Status.ERROR)
