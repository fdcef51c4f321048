"""What a session records in the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.messages import History, Reply, Status, ToolCall, ToolResult, UserText
from agentchat.core.permissions.grants import Scope
from agentchat.core.permissions.policy import EFFECT, Decision, Reason, Verdict
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import DryRunResult, Extra, Tool, ToolOutput
from agentchat.core.tools.toolset import ToolSelection
from agentchat.core.turn.effects import ApprovalRequest, ApprovalResponse, ReadyCall
from agentchat.core.turn.preview_stack import Preview
from agentchat.journal import records as r
from agentchat.journal.codec import kind_of, pack, to_fields
from agentchat.journal.entries import (
    has_own_effect,
    message_records,
    preview_record,
    response_record,
    start_records,
    tools_record,
)
from agentchat.journal.reader import read_history
from agentchat.journal.timeline import Timeline
from agentchat.journal.writer import JournalWriter, RestoredChat

SCOPE = Scope("edit", "hash", ("tool",), "edit on ordinary paths")
CHANGE = ChangeSet(
    (FileChange("/w/a", b"old", b"new"), FileChange("/w/b", None, b"new", mode=0o755))
)


class Anything:
    def schema(self) -> dict[str, Any]:
        return {}

    def parse(self, value: Mapping[str, Any]) -> Any:
        return value


async def nothing(reason: str, extra: Extra) -> ToolOutput | None:
    return None


CALL = ValidCall(
    ToolCall("1", "edit", '{"path": "a"}'), Tool("edit", "", Anything(), ()), {"path": "a"}, None
)
ALLOWED = Decision(Verdict.ALLOW, Reason("grant"), SCOPE)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[JournalWriter]:
    journal = JournalWriter.open(tmp_path, "chat")
    yield journal
    journal.close()


def kinds(journal: JournalWriter) -> list[str]:
    return [kind_of(record) for record in journal.records()]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_change_is_written_with_its_bytes_before_it_is_made(journal: JournalWriter) -> None:
    journal.add(r.ChangeStarted("1", journal.store(CHANGE.parts)))
    journal.add(r.ChangeApplied("1"))
    assert kinds(journal) == ["content", "content", "changing", "changed"]
    changing = next(record for record in journal.records() if isinstance(record, r.ChangeStarted))
    assert changing.source == "1"
    assert changing.files == (
        r.RecordedFile("/w/a", sha(b"old"), sha(b"new")),
        r.RecordedFile("/w/b", None, sha(b"new"), 0o755),
    )


def test_a_call_without_a_change_is_written_before_it_starts(journal: JournalWriter) -> None:
    ready = ReadyCall(CALL, CallTarget("/w"), ALLOWED)
    journal.add(*start_records(ready), durable=has_own_effect(ready))
    decided, started = journal.records()
    assert isinstance(decided, r.DecisionMade)
    assert (decided.scope, decided.verdict, decided.who) == (SCOPE.description, "allow", "policy")
    assert isinstance(started, r.CallStarted)
    assert started.arguments == {"path": "a"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (ApprovalResponse("reject", "too bold"), "too bold"),
        (ApprovalResponse("always"), ""),
        (ApprovalResponse("edit", arguments='{"path": "b"}'), '{"path": "b"}'),
    ],
)
def test_an_answer_is_written_as_the_users(
    journal: JournalWriter, answer: ApprovalResponse, why: str
) -> None:
    question = ApprovalRequest(CALL, CallTarget("/w"), Decision(Verdict.ASK, EFFECT, SCOPE))
    journal.add(response_record(question, answer))
    (decided,) = journal.records()
    assert isinstance(decided, r.DecisionMade)
    assert (decided.verdict, decided.why, decided.who) == (answer.choice, why, "user")
    assert decided.asked == "it has an effect"


def test_a_call_that_the_user_approved_is_no_second_decision(journal: JournalWriter) -> None:
    approved = Decision(Verdict.ALLOW, Reason("user", "accept"))
    ready = ReadyCall(CALL, CallTarget("/w"), approved)
    journal.add(*start_records(ready), durable=has_own_effect(ready))
    assert kinds(journal) == ["call_started"]


def test_a_result_is_written_with_the_rule_that_denied_the_call(journal: JournalWriter) -> None:
    result = ToolResult("1", "edit", "Denied by rule: deny edit", Status.DENIED)
    journal.add(*message_records(result, Decision(Verdict.DENY, Reason("rule", "deny edit"))))
    decided, recorded = journal.records()
    assert isinstance(decided, r.DecisionMade)
    assert (decided.verdict, decided.why) == ("deny", "rule: deny edit")
    assert isinstance(recorded, r.MessageRecorded)
    assert recorded.message == result


def test_a_preview_is_written_with_its_bytes_and_how_it_was_resolved(
    journal: JournalWriter,
) -> None:
    pending = Preview("AST Edit", "ast_edit", nothing, preview=DryRunResult(CHANGE), id="p1")
    journal.add(preview_record(pending, journal.store))
    journal.add(r.PreviewResolving(pending.id, "apply"))
    journal.add(r.PreviewResolved(pending.id, pending.label, "apply", "fine"))
    assert kinds(journal) == ["content", "content", "staged", "resolving", "resolved"]


def test_an_arriving_answer_costs_its_own_length_and_not_its_square(journal: JournalWriter) -> None:
    answer = "".join(f"This is sentence {number} of a long answer. " for number in range(1000))
    for end in range(0, len(answer), 100):
        journal.add_progress(answer[:end])
    size = sum(len(pack(to_fields(record))) for record in journal.records())
    assert size < 2 * len(answer)
    (broken,) = journal_history(journal)
    assert answer.startswith(broken)
    assert len(broken) > len(answer) - 100


def test_a_secret_that_arrives_in_two_parts_is_masked(journal: JournalWriter) -> None:
    journal.mask_secrets(["sk-0123456789"])
    answer = "The key sk-0123456789 is it"
    for end in (7, 16, 24, len(answer)):
        journal.add_progress(answer[:end])
    assert journal_history(journal) == ["The key [secret] is it"]


def test_the_next_answer_begins_from_its_start(journal: JournalWriter) -> None:
    journal.add_progress("I wi")
    journal.add(*message_records(Reply("I will.")))
    journal.add_progress("I did")
    assert journal_history(journal) == ["I will.", "I did"]


def test_an_answer_that_was_recorded_whole_is_not_recorded_again(journal: JournalWriter) -> None:
    journal.add_progress("I will.")
    journal.add_progress("I will.")
    assert kinds(journal) == ["so_far"]


def test_what_a_chat_was_is_known_as_soon_as_it_is_open(tmp_path: Path) -> None:
    first = JournalWriter.open(tmp_path, "chat")
    assert first.restored == RestoredChat(History(), Timeline(), None)
    first.add(tools_record(ToolSelection(("bash",), ("read",), ())))
    first.add(r.TurnStarted(3))
    first.add(*message_records(UserText("go")))
    first.add(r.ChangeStarted("c", first.store(CHANGE.parts)))
    staged = Preview("Edit: a", "edit", nothing, id="p", calls=("c",), for_user=True)
    first.add(preview_record(staged, first.store))
    first.close()
    second = JournalWriter.open(tmp_path, "chat")
    restored = second.restored
    second.close()
    assert restored.history.messages == (UserText("go"),)
    assert restored.tools == ToolSelection(("bash",), ("read",), ())
    assert restored.timeline.turn == 3
    (pending,) = restored.timeline.pending_previews
    assert (pending.staged.preview, pending.staged.label) == ("p", "Edit: a")
    assert (pending.staged.calls, pending.staged.for_user) == (("c",), True)
    assert [change.source for change in restored.timeline.unfinished] == ["c"]


def journal_history(journal: JournalWriter) -> list[str]:
    """Return the texts of the messages that a resume would restore."""
    return [message.text for message in read_history(journal.records()).messages]


def test_a_turn_has_a_beginning_and_an_end(journal: JournalWriter) -> None:
    journal.add(r.ChatOpened(chat="chat", cwd="/w", model="offline", version="0.1.0"))
    journal.add(r.TurnStarted(1))
    journal.add_progress("I re")
    journal.add(r.CallFinished("1", "ok"))
    journal.add(r.TurnFinished(1, "stop"))
    assert kinds(journal) == ["opened", "turn_started", "so_far", "call_finished", "turn_finished"]
