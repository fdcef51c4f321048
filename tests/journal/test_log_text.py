"""A journal as readable text."""

from __future__ import annotations

from dataclasses import replace

from agentchat.core.messages import Reply, ToolCall, ToolResult, Usage, UserText
from agentchat.journal import records as r
from agentchat.journal.log_text import render_log


def test_a_log_shows_what_happened() -> None:
    records: list[r.Record] = [
        r.ChatOpened("c", "/work", "offline", "0.1.0"),
        r.TurnStarted(1),
        r.MessageRecorded(UserText("rename x", display_text="@ast_edit rename x")),
        r.MessageRecorded(Reply(calls=(ToolCall("1", "read", '{"path": "a"}'),))),
        r.DecisionMade("2", "bash", "rm x in /work", "reject", "too bold", "user"),
        r.PreviewStaged("p", "AST Edit", "ast_edit", (r.RecordedFile("/w/a", "1" * 64, None),)),
        r.ContentStored("0", b"x"),
        r.MessageRecorded(ToolResult("1", "read", "text")),
        r.TurnFinished(1, "stop"),
    ]
    text = "\n".join(render_log(records))
    for part in (
        "chat c opened in /work (offline, agentchat 0.1.0)",
        "turn 1 started",
        "    @ast_edit rename x",
        '    call read (1): {"path": "a"}',
        "decision on bash (2): reject by user [rm x in /work]: too bold",
        "    D /w/a 111111111111 -> none",
        "result of read (1): success\n    text",
        "turn 1 finished: stop",
    ):
        assert part in text


def test_a_log_counts_the_destructive_calls_that_ran() -> None:
    records: list[r.Record] = [
        r.CallStarted("1", "bash", destructive=True),
        r.CallStarted("2", "read"),
        r.DecisionMade("3", "bash", "", "deny", "rule: deny bash", "policy"),
        r.CallStarted("4", "delete", destructive=True),
    ]
    assert render_log(records)[0] == "destructive calls in this chat: 2"
    lines = render_log(records, only_decisions=True)
    assert lines[0] == "destructive calls in this chat: 2"
    assert len(lines) == 3


def test_the_users_answer_is_shown_with_the_reason_of_the_question() -> None:
    answer = r.DecisionMade("1", "edit", "", "reject", "no", "user", asked="rule: ask path a")
    assert render_log([answer])[-1].endswith(
        "decision on edit (1): reject by user: no (asked because: rule: ask path a)"
    )


def test_the_count_of_an_answer_that_broke_off_is_the_least() -> None:
    counted = Usage(9, 1, 10, 0.5)
    stopped = replace(counted, is_lower_bound=True)
    replies = [Reply("x", usage=usage, model="m") for usage in (counted, stopped)]
    heads = [line for line in render_log(map(r.MessageRecorded, replies)) if "agent (" in line]
    assert heads[0].endswith("agent (m, stop, 10 tokens, $0.5000)")
    assert heads[1].endswith("agent (m, stop, at least 10 tokens, $0.5000)")


def test_no_line_of_a_log_has_a_line_break() -> None:
    records = [r.MessageRecorded(UserText("a\nb\r\nc"))]
    assert all("\n" not in line for line in render_log(records))
