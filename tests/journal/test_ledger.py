"""What all chats used in a day."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agentchat.core.messages import Reply, Usage, UserText
from agentchat.core.spending import Totals, format_cost
from agentchat.journal import records as r
from agentchat.journal.entries import message_records, request_record
from agentchat.journal.ledger import FOLDER, UsageLedger
from agentchat.journal.log_text import render_usage
from agentchat.journal.reader import read_totals
from agentchat.journal.writer import JournalWriter

USAGE = Usage(12_000, 300, 12_300, 0.25, cache_read_tokens=10_000, cache_write_tokens=1_500)


def test_a_day_has_the_requests_of_all_processes(tmp_path: Path) -> None:
    here, there = UsageLedger(tmp_path), UsageLedger(tmp_path)
    assert here.today() == Totals()
    here.add("a", "m", USAGE)
    assert here.today().cost == 0.25
    there.add("b", "m", USAGE)
    assert here.today() == there.today() == Totals().add(USAGE).add(USAGE)


def test_an_invalid_line_costs_only_itself(tmp_path: Path) -> None:
    ledger = UsageLedger(tmp_path)
    ledger.add("a", "m", USAGE)
    (file,) = (tmp_path / FOLDER).iterdir()
    with file.open("ab") as out:
        out.write(b'{"cost": 1e999, "prompt_tokens": "x"}\n\xff\n[]\n{"prompt_tokens": 7}\n{"cut')
    total = ledger.today()
    assert (total.requests, total.usage.prompt_tokens) == (2, 12_007)


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    ledger = UsageLedger(tmp_path)
    ledger.add("a", "m", USAGE)
    assert ledger.today() == Totals()


def said(usage: Usage | None) -> r.MessageRecorded:
    return r.MessageRecorded(Reply("x", usage=usage))


def test_the_table_has_a_line_for_each_turn_the_chat_and_the_day() -> None:
    unknown = Usage(900, 10, 910)
    records: list[r.Record] = [
        r.TurnStarted(1),
        r.MessageRecorded(UserText("hi")),
        said(USAGE),
        said(USAGE),
        r.TurnStarted(2),
        said(None),
        r.TurnStarted(3),
        said(unknown),
        r.RequestCounted("m", {"of a later version": 1}),
    ]
    assert read_totals(records).requests == 3
    day = Totals().add(Usage(2_500_000, 1, 2_500_001, 4.5))
    lines = render_usage(records, day)
    assert lines[:7] == [
        "                  requests  input cached written output              cost",
        "turn 1                   2  24.0k  20.0k    3.0k    600           $0.5000",
        "turn 3                   1    900      0       0     10     price unknown",
        "",
        "this chat                3  24.9k  20.0k    3.0k    610  at least $0.5000",
        "today, all chats         1  2.50M      0       0      1             $4.50",
        "",
    ]
    assert max(map(len, lines)) <= 74  # a page on a screen of 80 columns


def test_a_stopped_answer_costs_at_least_what_is_known_also_in_another_process(
    tmp_path: Path,
) -> None:
    stopped = replace(USAGE, is_lower_bound=True)
    UsageLedger(tmp_path).add("a", "m", stopped)
    today = UsageLedger(tmp_path).today()
    assert today == Totals().add(stopped)
    turn, chat, day, *_ = (row for row in render_usage([said(stopped)], today) if "$" in row)
    assert all(row.endswith("  at least $0.2500") for row in (turn, chat, day))


def test_a_request_without_a_message_counts_after_a_restart(tmp_path: Path) -> None:
    journal = JournalWriter.open(tmp_path, "00000000-0000-4000-8000-000000000001")
    journal.add(*message_records(Reply("x", usage=USAGE)))
    journal.add(request_record("m", USAGE))
    journal.close()
    again = JournalWriter.open(tmp_path, "00000000-0000-4000-8000-000000000001")
    assert again.restored.used == Totals().add(USAGE).add(USAGE)
    again.close()


def test_a_chat_without_counts_says_so() -> None:
    assert "No server has counted tokens" in render_usage([said(None)], Totals())[1]


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(None, "price unknown"), (0.0, "$0.00"), (0.00123, "$0.0012"), (1.234, "$1.23")],
)
def test_a_small_cost_has_more_digits(cost: float | None, shown: str) -> None:
    assert format_cost(cost) == shown
