"""Reads a journal up to its last complete record, and restores the history from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

from agentchat.core.context.context import (
    Compaction,
    ContextStep,
    Shortening,
    steps_after_undo,
)
from agentchat.core.frozen import frozen
from agentchat.core.messages import History, Message, Reply, Status, ToolCall, ToolResult, Usage
from agentchat.core.spending import Totals, format_cost
from agentchat.core.tools.todo import BOXES, TodoItem
from agentchat.journal.codec import CONTENT_KIND, from_fields
from agentchat.journal.records import (
    CallFinished,
    CallStarted,
    ChatOpened,
    CompactionUndone,
    ContextCompacted,
    DecisionMade,
    MessageRecorded,
    Record,
    ReplyProgress,
    RequestCounted,
    ResultsShortened,
    TodoChanged,
    TurnFinished,
    TurnStarted,
)

CUT_OFF_REPLY = "The answer was cut off: the plugin's process ended while it arrived."


@frozen
class Scan:
    """The content of a journal file: ``end`` is the offset after its last complete record.

    ``records`` are all of them, without stored bytes; ``contents`` are the hashes of these bytes.
    """

    end: int
    records: tuple[Record, ...]
    contents: frozenset[str]


def read_records(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Yield the records of a journal, up to the first incomplete or damaged one."""
    with Path(path).open("rb") as file:
        for plain, _ in _read_maps(file):
            yield from_fields(plain)


def scan(path: str | os.PathLike[str]) -> Scan:
    """Read a journal once, up to its last complete record."""
    end = 0
    records: list[Record] = []
    contents: set[str] = set()
    with Path(path).open("rb") as file:
        for plain, offset in _read_maps(file):
            end = offset
            if plain["kind"] == CONTENT_KIND:
                contents.add(plain.get("sha256", ""))
                plain = {**plain, "data": b""}
            records.append(from_fields(plain))
    return Scan(end, tuple(records), frozenset(contents))


def _read_maps(file: BinaryIO) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield the map of each complete record with the offset where it ends."""
    unpacker = msgpack.Unpacker(
        file, max_buffer_size=0, unicode_errors="surrogatepass", strict_map_key=False
    )
    while True:
        try:
            plain = unpacker.unpack()
        except Exception:  # incomplete or not msgpack: the library raises many types
            return
        if not isinstance(plain, dict) or "kind" not in plain:
            return
        yield plain, unpacker.tell()


def read_history(records: Iterable[Record]) -> History:
    """Return all messages, oldest first, in a form that can be sent to the model.

    An incomplete reply is kept as far as it was recorded; a call without a result gets one with
    the reason.
    """
    messages: list[Message] = []
    started: set[str] = set()
    progress = _Progress()
    for record in records:
        if isinstance(record, ReplyProgress):
            progress.add(record)
        elif isinstance(record, CallStarted):
            started.add(record.call_id)
        elif isinstance(record, MessageRecorded):
            if not isinstance(record.message, Reply):
                messages += progress.incomplete_reply(messages)
            progress = _Progress()
            messages.append(record.message)
    messages += progress.incomplete_reply(messages)
    return History(tuple(_answer_all(messages, started)))


def read_steps(records: Iterable[Record]) -> tuple[ContextStep, ...]:
    """Return what is sent in place of older messages, the oldest step first."""
    steps: tuple[ContextStep, ...] = ()
    for record in records:
        if isinstance(record, ContextCompacted):
            step = Compaction(
                before=record.before,
                text=record.text,
                summary=record.summary,
                newest=record.newest,
                length=record.length,
            )
            steps = (*steps, step)
        elif isinstance(record, ResultsShortened):
            steps = (*steps, Shortening(record.before, record.length))
        elif isinstance(record, CompactionUndone):
            steps = steps_after_undo(steps)
    return steps


@frozen
class PastCalls:
    """What a resumed chat shows of its calls that their results do not say."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long each call took, by its id."""
    stopped: frozenset[str] = frozenset()
    """The last call of each reply at which the user stopped a turn."""


def read_past_calls(records: Iterable[Record]) -> PastCalls:
    """Return how long calls took, and at which of them turns were stopped."""
    began: dict[str, float] = {}
    seconds: dict[str, float] = {}
    stopped: set[str] = set()
    reply: Reply | None = None
    cancelled = False
    for record in records:
        match record:
            case TurnStarted():
                reply, cancelled = None, False
            case MessageRecorded(message=Reply() as reply):
                pass
            case DecisionMade(who="user", verdict="cancel"):
                cancelled = True
            case CallStarted():
                began[record.call_id] = record.time
            case CallFinished() if record.call_id in began:
                seconds[record.call_id] = record.time - began[record.call_id]
            case TurnFinished(reason="cancelled") if reply and reply.calls and not cancelled:
                stopped.add(reply.calls[-1].id)
    return PastCalls(seconds, frozenset(stopped))


def read_todo(records: Iterable[Record]) -> tuple[TodoItem, ...]:
    """Return the newest todo list; items of a later version that do not fit are left out."""
    items: Sequence[Mapping[str, str]] = ()
    for record in records:
        if isinstance(record, TodoChanged):
            items = record.items
    return tuple(item for item in map(_todo_item, items) if item is not None)


def todo_record(items: Sequence[TodoItem]) -> TodoChanged:
    """Return the record of a todo list."""
    return TodoChanged([{"text": item.text, "status": item.status} for item in items])


def _todo_item(stored: Mapping[str, str]) -> TodoItem | None:
    status = next((status for status in BOXES if status == stored.get("status")), None)
    return TodoItem(stored.get("text", ""), status) if status is not None else None


def usage_of(record: Record) -> Usage | None:
    """Return what the request of a record used, if it is one whose server counted."""
    if isinstance(record, MessageRecorded):
        return record.message.usage if isinstance(record.message, Reply) else None
    if not isinstance(record, RequestCounted):
        return None
    try:
        return Usage(**record.usage)
    except TypeError:  # of a later version
        return None


def without_copies(records: Iterable[Record]) -> Iterator[Record]:
    """Leave out the messages that a fork copied: their requests count in the chat before."""
    copies = 0
    for record in records:
        if isinstance(record, ChatOpened):
            copies += record.copied
        if copies and isinstance(record, MessageRecorded):
            copies -= 1
        else:
            yield record


def read_totals(records: Iterable[Record]) -> Totals:
    """Return what all requests of this chat used."""
    totals = Totals()
    for record in without_copies(records):
        totals = totals.add(usage_of(record))
    return totals


def describe_chat(records: Sequence[Record]) -> str:
    """Return a chat in one line, like ``3 turns · gpt-5 · $0.12``; without a cost not known."""
    turns = len({record.number for record in records if isinstance(record, TurnStarted)})
    replies = (r.message for r in reversed(records) if isinstance(r, MessageRecorded))
    model = next((reply.model for reply in replies if isinstance(reply, Reply)), "")
    known = read_totals(records).cost
    cost = format_cost(known) if known is not None else ""
    parts = (f"{turns} {'turn' if turns == 1 else 'turns'}", model, cost)
    return " · ".join(filter(None, parts))


class _Progress:
    """The text of a reply that was recorded in parts."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def add(self, record: ReplyProgress) -> None:
        """Add the next part; it replaces the text from its start on."""
        if record.start < self._length:
            self._parts = ["".join(self._parts)[: record.start]]
            self._length = record.start
        self._parts.append(record.text)
        self._length += len(record.text)

    def incomplete_reply(self, messages: list[Message]) -> list[Message]:
        """Return the reply that was cut off, if any.

        Older versions recorded progress once more after the whole reply: that is not another one.
        """
        text = "".join(self._parts)
        last = messages[-1] if messages else None
        if not text or (isinstance(last, Reply) and last.text.startswith(text)):
            return []
        return [Reply(text=text, finish="unknown", error=CUT_OFF_REPLY)]


def _answer_all(messages: list[Message], started: set[str]) -> Iterator[Message]:
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
                yield results.get(call.id) or _missing_result(call, call.id in started)


def _missing_result(call: ToolCall, started: bool) -> ToolResult:
    """Return the result of a call that has none, because its process ended."""
    if started:
        text = (
            f'The outcome of "{call.name}" is unknown: the plugin\'s process ended while it ran. '
            "It was not repeated."
        )
    else:
        text = f'The call to "{call.name}" was not run: the plugin\'s process ended before it.'
    return ToolResult(call_id=call.id, name=call.name, text=text, status=Status.ERROR)
