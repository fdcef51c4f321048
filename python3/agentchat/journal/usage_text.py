"""Renders what a chat used as text, for ``:AgentLog usage``."""

from __future__ import annotations

from collections.abc import Iterable

from agentchat.core.spending import UNKNOWN, Totals, format_cost
from agentchat.journal import records as r
from agentchat.journal.reader import usage_of, without_copies

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
