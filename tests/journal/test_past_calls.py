"""The calls of a project's past, read from its journals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from agentchat.core.messages import Reply, ToolCall
from agentchat.journal.file import JournalFile, journal_path
from agentchat.journal.index import PastCall, list_past_calls
from agentchat.journal.records import ChatOpened, DecisionMade, MessageRecorded, Record


def begin(state: Path, chat: str, *records: Record, cwd: str = "/ws", time: float = 0) -> None:
    journal = JournalFile.open(state, chat)
    for record in (ChatOpened(chat, cwd, "m", "1"), *records):
        journal.append(record)
    journal.close()
    os.utime(journal_path(state, chat), (time, time))


def reply_of(*reply: tuple[str, str]) -> MessageRecorded:
    return MessageRecorded(Reply(calls=tuple(ToolCall(id, "bash", text) for id, text in reply)))


def decided(id: str, verdict: str, who: Literal["user", "policy"] = "policy") -> DecisionMade:
    return DecisionMade(id, "bash", "", verdict, "", who)


def test_each_call_ends_as_the_user_answered_or_else_as_was_decided(tmp_path: Path) -> None:
    reply = reply_of(
        ("1", '{"command": "a"}'), ("2", '{"command": "b"}'), ("3", "{bad"), ("4", "[]")
    )
    answered = (decided("1", "accept", "user"), decided("1", "allow"))
    begin(tmp_path, "c1", reply, *answered, decided("2", "deny"), decided("3", "allow"))
    assert list_past_calls(tmp_path, "/ws", 9) == (
        PastCall("bash", {"command": "b"}, "deny"),
        PastCall("bash", {"command": "a"}, "accept"),
    )


def test_the_newest_chats_come_first_and_other_projects_not_at_all(tmp_path: Path) -> None:
    for number, chat in enumerate(("old", "new")):
        reply = reply_of(("1", f'{{"command": "{chat}"}}'))
        begin(tmp_path, chat, reply, decided("1", "allow"), time=1000 + number)
    begin(
        tmp_path,
        "other",
        reply_of(("1", "{}")),
        decided("1", "allow"),
        cwd="/else",
        time=2000,
    )
    calls = list_past_calls(tmp_path, "/ws", 9)
    assert [call.arguments["command"] for call in calls] == ["new", "old"]
    assert len(list_past_calls(tmp_path, "/ws", 1)) == 1
    assert list_past_calls(tmp_path / "nowhere", "/ws", 9) == ()
