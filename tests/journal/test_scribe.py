"""What a session's doings leave in the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.messages import Status, ToolCall, ToolResult
from agentchat.core.permissions.grants import Scope
from agentchat.core.permissions.policy import EFFECT, Decision, Reason, Verdict
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.tool import Extra, Preview, Result, Tool
from agentchat.core.turn.effects import Answer, Question, Ready
from agentchat.core.turn.preview_stack import Pending
from agentchat.journal import records as r
from agentchat.journal.journal import Journal
from agentchat.journal.scribe import JournalScribe

SCOPE = Scope("edit", "hash", ("tool",), "edit on ordinary paths")
CHANGE = ChangeSet(
    (FileChange("/w/a", b"old", b"new"), FileChange("/w/b", None, b"new", mode=0o755))
)


class Anything:
    def schema(self) -> dict[str, Any]:
        return {}

    def parse(self, value: Mapping[str, Any]) -> Any:
        return value


async def nothing(reason: str, extra: Extra) -> Result | None:
    return None


CALL = Call(
    ToolCall("1", "edit", '{"path": "a"}'), Tool("edit", "", Anything(), ()), {"path": "a"}, None
)
ALLOWED = Decision(Verdict.ALLOW, Reason("grant"), SCOPE)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.open(tmp_path, "chat")
    yield journal
    journal.close()


def kinds(journal: Journal) -> list[str]:
    return [record.kind for record in journal.records()]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_change_is_written_with_its_bytes_before_it_is_made(journal: Journal) -> None:
    scribe = JournalScribe(journal)
    scribe.changing("1", CHANGE)
    scribe.changed("1")
    assert kinds(journal) == ["content", "content", "changing", "changed"]
    changing = next(record for record in journal.records() if isinstance(record, r.Changing))
    assert changing.source == "1"
    assert changing.files == (
        r.FileBytes("/w/a", sha(b"old"), sha(b"new")),
        r.FileBytes("/w/b", None, sha(b"new"), 0o755),
    )


def test_a_call_without_a_change_is_written_before_it_starts(journal: Journal) -> None:
    JournalScribe(journal).started(Ready(CALL, Place("/w"), ALLOWED))
    decided, started = journal.records()
    assert isinstance(decided, r.Decided)
    assert (decided.scope, decided.verdict, decided.who) == (SCOPE.shown, "allow", "policy")
    assert isinstance(started, r.CallStarted)
    assert started.arguments == {"path": "a"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer("reject", "too bold"), "too bold"),
        (Answer("always"), ""),
        (Answer("edit", arguments='{"path": "b"}'), '{"path": "b"}'),
    ],
)
def test_an_answer_is_written_as_the_users(journal: Journal, answer: Answer, why: str) -> None:
    question = Question(CALL, Place("/w"), Decision(Verdict.ASK, EFFECT, SCOPE))
    JournalScribe(journal).answered(question, answer)
    (decided,) = journal.records()
    assert isinstance(decided, r.Decided)
    assert (decided.verdict, decided.why, decided.who) == (answer.choice, why, "user")


def test_a_result_is_written_with_the_rule_that_denied_the_call(journal: Journal) -> None:
    result = ToolResult("1", "edit", "Denied by rule: deny edit", Status.DENIED)
    JournalScribe(journal).said(result, Decision(Verdict.DENY, Reason("rule", "deny edit")))
    decided, said = journal.records()
    assert isinstance(decided, r.Decided)
    assert (decided.verdict, decided.why) == ("deny", "rule: deny edit")
    assert isinstance(said, r.Said)
    assert said.message == result


def test_a_preview_is_written_with_its_bytes_and_how_it_was_resolved(journal: Journal) -> None:
    pending = Pending("AST Edit", "ast_edit", nothing, preview=Preview(CHANGE), id="p1")
    scribe = JournalScribe(journal)
    scribe.staged(pending)
    scribe.resolving(pending, "apply")
    scribe.resolved(pending, "apply", "fine")
    assert kinds(journal) == ["content", "content", "staged", "resolving", "resolved"]


def test_a_turn_has_a_beginning_and_an_end(journal: Journal) -> None:
    scribe = JournalScribe(journal)
    scribe.opened("chat", "/w", "offline", "0.1.0")
    scribe.turn_started(1)
    scribe.so_far("I re")
    scribe.finished(ToolResult("1", "edit", "ok"))
    scribe.turn_finished(1, "stop")
    assert kinds(journal) == ["opened", "turn_started", "so_far", "call_finished", "turn_finished"]
