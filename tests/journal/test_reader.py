"""The history that a journal holds, also after a sudden end."""

from __future__ import annotations

from agentchat.core.messages import Note, Reply, Status, ToolCall, ToolResult, Usage, UserText
from agentchat.journal import records as r
from agentchat.journal.reader import (
    CUT_OFF_REPLY,
    PastCalls,
    describe_chat,
    read_history,
    read_past_calls,
)

ASKED = UserText("rename x", display_text="@ast_edit rename x")
CALLS = Reply("Two calls.", (ToolCall("1", "read", '{"path": "a"}'), ToolCall("2", "bash", "{}")))
READ = ToolResult("1", "read", "text")
RAN = ToolResult("2", "bash", "out")


def records_of(*messages: UserText | Note | Reply | ToolResult) -> list[r.Record]:
    return [r.MessageRecorded(message) for message in messages]


def test_a_history_is_all_that_was_said_in_order() -> None:
    everything = (ASKED, CALLS, READ, RAN, Note("n"), Reply("Done."))
    assert read_history(records_of(*everything)).messages == everything


def test_a_call_that_was_running_when_the_process_died_has_an_unknown_outcome() -> None:
    records = [
        *records_of(ASKED, CALLS, READ),
        r.CallStarted("1", "read"),
        r.CallStarted("2", "bash"),
    ]
    last = read_history(records).messages[-1]
    assert last == ToolResult(
        "2",
        "bash",
        'The outcome of "bash" is unknown: the plugin\'s process ended while it ran. '
        "It was not repeated.",
        Status.ERROR,
    )


def test_a_call_that_had_not_started_was_not_run() -> None:
    messages = read_history(records_of(ASKED, CALLS, READ)).messages
    assert len(messages) == 4
    last = messages[-1]
    assert isinstance(last, ToolResult)
    assert last.text.startswith('The call to "bash" was not run')


def test_each_call_has_one_result_after_its_reply_in_call_order() -> None:
    records = records_of(ASKED, CALLS, Note("meanwhile"), RAN, READ, RAN)
    assert read_history(records).messages == (ASKED, CALLS, READ, RAN, Note("meanwhile"))


def test_an_answer_that_was_arriving_is_kept_and_marked() -> None:
    records = [*records_of(ASKED), r.ReplyProgress("I wi"), r.ReplyProgress("I will")]
    broken = Reply("I will", finish="unknown", error=CUT_OFF_REPLY)
    assert read_history(records).messages == (ASKED, broken)
    again = UserText("again")
    assert read_history([*records, *records_of(again)]).messages == (ASKED, broken, again)


def test_a_whole_answer_replaces_what_arrived_of_it() -> None:
    records = [*records_of(ASKED), r.ReplyProgress("I wi"), *records_of(Reply("I will."))]
    assert read_history(records).messages == (ASKED, Reply("I will."))


def test_parts_of_an_answer_are_put_together_where_they_belong() -> None:
    parts = [r.ReplyProgress("I wi"), r.ReplyProgress("ll sk", 4), r.ReplyProgress("[secret]", 7)]
    broken = Reply("I will [secret]", finish="unknown", error=CUT_OFF_REPLY)
    assert read_history([*records_of(ASKED), *parts]).messages == (ASKED, broken)


def test_progress_after_the_whole_answer_is_not_another_answer() -> None:
    records = [*records_of(ASKED, Reply("I will.")), r.ReplyProgress("I will.")]
    assert read_history(records).messages == (ASKED, Reply("I will."))
    again = UserText("again")
    assert read_history([*records, *records_of(again)]).messages == (
        ASKED,
        Reply("I will."),
        again,
    )


def test_how_long_calls_took_and_where_a_turn_was_stopped_is_known() -> None:
    records = [
        r.TurnStarted(1),
        *records_of(ASKED, CALLS),
        r.CallStarted("1", "read", time=10.0),
        r.CallFinished("1", "success", time=12.5),
        *records_of(READ, RAN),
        r.TurnFinished(1, "cancelled"),
    ]
    past = read_past_calls(records)
    assert past == PastCalls({"1": 2.5}, frozenset({"2"}))
    rejected = r.DecisionMade("2", "bash", "", "cancel", "", "user")
    assert read_past_calls([*records[:4], rejected, *records[4:]]).stopped == set()


def test_a_chat_is_described_by_turns_model_and_cost() -> None:
    usage = Usage(prompt_tokens=1, completion_tokens=1, total_tokens=2, cost=0.25)
    first = Reply("Yes.", model="small", usage=usage)
    last = Reply("Done.", model="gpt-5", usage=usage)
    records = [
        r.TurnStarted(1),
        *records_of(ASKED, first),
        r.TurnStarted(2),
        *records_of(ASKED, last),
    ]
    assert describe_chat(records) == "2 turns · gpt-5 · $0.5000"
    assert describe_chat([r.TurnStarted(1)]) == "1 turn"
