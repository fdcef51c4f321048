"""Renders a journal as text for ``:AgentLog``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentchat.core.messages import Note, Reply, ToolResult, UserText
from agentchat.core.spending import UNKNOWN, Totals, format_cost
from agentchat.journal import records as r
from agentchat.journal.reader import usage_of, without_copies

INDENT = "    "


def render_log(records: Iterable[r.Record], only_decisions: bool = False) -> list[str]:
    """Return lines: the time and headline of each record, with longer text indented below.

    The first line counts the calls of destructive tools that ran.
    """
    lines: list[str] = []
    destructive = 0
    for record in records:
        destructive += isinstance(record, r.CallStarted) and record.destructive
        if not only_decisions or isinstance(record, r.DecisionMade):
            lines += _entry_lines(record)
    return [f"destructive calls in this chat: {destructive}", "", *lines]


def _entry_lines(record: r.Record) -> list[str]:
    entry = list(_entry(record))
    if not entry:
        return []
    below = [f"{INDENT}{line}".rstrip() for text in entry[1:] for line in text.split("\n")]
    return [f"{_format_time(record.time)}  {entry[0]}", *below]


def _entry(record: r.Record) -> Iterator[str]:
    """Yield the headline of a record and the texts below it; nothing if it is not shown."""
    if isinstance(record, r.MessageRecorded):
        yield from _message_entry(record)
    else:
        render: Callable[[Any], Iterable[str]] | None = _ENTRIES.get(type(record))
        yield from render(record) if render else ()


def _message_entry(record: r.MessageRecorded) -> Iterator[str]:
    message = record.message
    if isinstance(message, UserText):
        yield "user"
        yield message.display_text or message.text
    elif isinstance(message, Note):
        yield "note to the model"
        yield message.text
    elif isinstance(message, ToolResult):
        yield f"result of {message.name} ({message.call_id}): {message.status.value}"
        yield message.text
    else:
        yield from _reply_entry(message)


def _reply_entry(reply: Reply) -> Iterator[str]:
    usage = ""
    if reply.usage:
        least = ", at least" if reply.usage.is_lower_bound else ","
        usage = f"{least} {reply.usage.total_tokens} tokens, {format_cost(reply.usage.cost)}"
    yield f"agent ({reply.model or 'model'}, {reply.finish}{usage})"
    if reply.reasoning:
        yield f"[reasoning] {reply.reasoning}"
    if reply.text:
        yield reply.text
    for call in reply.calls:
        cut = " (cut off)" if call.cut_off else ""
        yield f"call {call.name} ({call.id}){cut}: {call.arguments}"
    if reply.error:
        yield f"error: {reply.error}"


def _opened_entry(record: r.ChatOpened) -> Iterator[str]:
    model = f"{record.model}, " if record.model else ""
    source = f", a fork of {record.source}" if record.source else ""
    yield f"chat {record.chat} opened in {record.cwd} ({model}agentchat {record.version}){source}"


def _decision_entry(record: r.DecisionMade) -> Iterator[str]:
    scope = f" [{record.scope}]" if record.scope else ""
    why = f": {record.why}" if record.why else ""
    if record.asked:
        why += f" (asked because: {record.asked})"
    verdict = f"{record.verdict} by {record.who}{scope}{why}"
    yield f"decision on {record.tool} ({record.call_id}): {verdict}"
    for name, value in record.effects.items():
        yield f"{name.replace('_', ' ')}: {value if isinstance(value, str) else _json(value)}"


def _call_entry(record: r.CallStarted) -> Iterator[str]:
    kinds = " ".join(dict.fromkeys(filter(None, (record.permission, record.operation))))
    suffix = f" [{kinds}]" if kinds else ""
    yield f"started {record.tool} ({record.call_id}){suffix}: {_json(record.arguments)}"
    for name, value in record.reserved.items():
        yield f"{name.strip('_').replace('_', ' ')}: {_json(value)}"


def _preview_entry(record: r.PreviewStaged) -> Iterator[str]:
    yield from _files(f"staged by {record.source}: {record.label}", record.files)


def _resolved_entry(record: r.PreviewResolved) -> Iterator[str]:
    yield f"resolved, {record.action}: {record.label}"
    yield record.reason


def _compacted_entry(record: r.ContextCompacted) -> Iterator[str]:
    yield f"the first {record.before} messages are sent as this summary"
    yield record.summary


def _todo_entry(record: r.TodoChanged) -> Iterator[str]:
    yield "todo list" if record.items else "todo list (empty)"
    for item in record.items:
        yield f"- {item.get('text')} ({item.get('status')})"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _files(headline: str, files: tuple[r.RecordedFile, ...]) -> Iterator[str]:
    yield headline
    for file in files:
        letter = "A" if file.before is None else "D" if file.after is None else "M"
        yield f"{letter} {file.path} {_short(file.before)} -> {_short(file.after)}"


def _short(hash: str | None) -> str:
    return hash[:12] if hash else "none"


_ENTRIES: dict[type, Callable[[Any], Iterable[str]]] = {
    r.ChatOpened: _opened_entry,
    r.ToolsGiven: lambda record: (f"tools of this chat: {', '.join(record.given)}",),
    r.ModelChosen: lambda record: (f"model: {record.provider} {record.name}",),
    r.AgentStarted: lambda record: (
        f"agent: {record.agent} {record.version}".rstrip(),
        f"session: {record.session}",
    ),
    r.ModeChanged: lambda record: (f"mode: {record.mode}",),
    r.TurnStarted: lambda record: (f"turn {record.number} started",),
    r.TurnFinished: lambda record: (f"turn {record.number} finished: {record.reason}",),
    r.DecisionMade: _decision_entry,
    r.CallStarted: _call_entry,
    r.CallFinished: lambda record: (f"finished ({record.call_id}): {record.status}",),
    r.ChangeStarted: lambda record: _files(f"change ({record.source})", record.files),
    r.CheckpointCreated: lambda record: _files(
        f"checkpoint before {record.call_id}: {record.handler}", record.files
    ),
    r.ChangeApplied: lambda record: _files(f"changed ({record.source})", record.files),
    r.ChangeSettled: lambda record: _files(f"change settled ({record.source})", record.files),
    r.RecoveryStarted: lambda record: (f"recovery of {record.source} ({record.id})",),
    r.PreviewStaged: _preview_entry,
    r.PreviewResolving: lambda record: (f"resolving: {record.action}",),
    r.PreviewResolved: _resolved_entry,
    r.UndoOffered: lambda record: (f"can be undone ({record.call_id}): {record.description}",),
    r.UndoStarted: lambda record: (f"undo of turn {record.turn} ({record.id})",),
    r.ContextCompacted: _compacted_entry,
    r.RequestCounted: lambda record: (
        f"request without a message ({record.model}, {record.usage.get('total_tokens')} tokens)",
    ),
    r.ResultsShortened: lambda record: (
        f"results in the first {record.before} messages are sent in short form",
    ),
    r.TodoChanged: _todo_entry,
    r.CompactionUndone: lambda record: ("the summary is taken back",),
    r.RedoStarted: lambda record: (f"redo of {record.undone} ({record.id})",),
}


def _format_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


# --- what a chat used ---------------------------------------------------------------------------

COLUMNS = ("requests", "input", "cached", "written", "output", "cost")
WIDTHS = (9, 7, 7, 8, 7, 18)
"""With the labels as wide as a page on a screen of 80 columns."""

LABEL = 17
NOTES = (
    "Input is the whole prompt; cached is what of it the server read from its",
    "cache, written what it put there. Prices are list prices in US dollars.",
)
AT_LEAST = "At least: a price is unknown, or an answer broke off before its count."


def render_usage(records: Iterable[r.Record], today: Totals) -> list[str]:
    """Return a table with a line for each turn, the chat and the day.

    Args:
        today: what all chats used today.
    """
    turns: dict[int, Totals] = {}
    chat, turn = Totals(), 0
    for record in without_copies(records):
        if isinstance(record, r.TurnStarted):
            turn = record.number
        usage = usage_of(record)
        turns[turn] = turns.get(turn, Totals()).add(usage)
        chat = chat.add(usage)
    rows = [_row(f"turn {number}", total) for number, total in turns.items() if total.requests]
    if not rows:
        rows = ["No server has counted tokens in this chat yet."]
    ends = [_row("this chat", chat), _row("today, all chats", today)]
    notes = [*NOTES, AT_LEAST] if any("at least" in row for row in [*rows, *ends]) else NOTES
    return [_line("", COLUMNS), *rows, "", *ends, "", *notes]


def _row(label: str, total: Totals) -> str:
    usage = total.usage
    counts = (
        usage.prompt_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.completion_tokens,
    )
    return _line(label, (str(total.requests), *map(_tokens, counts), _cost(total)))


def _cost(total: Totals) -> str:
    if total.unpriced and not total.known_cost:
        return UNKNOWN
    is_more = total.unpriced or total.usage.is_lower_bound
    return f"{'at least ' if is_more else ''}{format_cost(total.known_cost)}"


def _line(label: str, cells: Iterable[str]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return label.ljust(LABEL) + "".join(padded)


def _tokens(count: int) -> str:
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.2f}M"
