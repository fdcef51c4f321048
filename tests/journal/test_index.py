"""The chats on disk: found by project and words, and forked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import Message, Reply, ToolCall, ToolResult, Usage, UserText
from agentchat.journal import records as r
from agentchat.journal.file import JournalFile, journal_path
from agentchat.journal.index import (
    delete_chat,
    find_title,
    fork_chat,
    list_saved_chats,
    rename_chat,
)
from agentchat.journal.reader import read_history, read_records, read_steps, read_totals
from agentchat.journal.timeline import read_timeline


def a_journal(state: Path, chat: str, cwd: str, *messages: str, time: float = 1000.0) -> None:
    """Write the journal of a chat in which the user said these things, each answered."""
    journal = JournalFile.open(state, chat)
    journal.append(r.ChatOpened(chat, cwd))
    for number, text in enumerate(messages, 1):
        journal.append(r.TurnStarted(number))
        journal.append(r.MessageRecorded(UserText(f"sent: {text}", display_text=text)))
        journal.append(r.MessageRecorded(Reply(f"Answer {number}")))
    journal.close()
    os.utime(journal_path(state, chat), (time, time))


def test_a_projects_chats_are_listed_newest_first_by_their_first_prompt(tmp_path: Path) -> None:
    a_journal(tmp_path, "old", "/p", "  fix   the parser\nplease", "and more", time=1000)
    a_journal(tmp_path, "new", "/p", "x" * 200, time=2000)
    a_journal(tmp_path, "elsewhere", "/q", "something", time=3000)
    a_journal(tmp_path, "silent", "/p", time=4000)
    chats = list_saved_chats(tmp_path, "/p")
    assert [chat.chat for chat in chats] == ["new", "old"]
    assert chats[0].title == "x" * 79 + "…"
    assert chats[1].title == "fix the parser"
    assert chats[1].time == 1000


def test_words_are_looked_for_in_all_that_was_said(tmp_path: Path) -> None:
    a_journal(tmp_path, "a", "/p", "first", "about the Parser")
    a_journal(tmp_path, "b", "/p", "parser")
    assert {chat.chat for chat in list_saved_chats(tmp_path, "/p", "PARSER")} == {"a", "b"}
    assert [chat.chat for chat in list_saved_chats(tmp_path, "/p", "parser answer 2".upper())] == [
        "a"
    ]
    assert list_saved_chats(tmp_path, "/p", "never") == []


def test_without_a_state_directory_or_with_damaged_files_nothing_fails(tmp_path: Path) -> None:
    assert list_saved_chats(tmp_path / "none", "/p") == []
    a_journal(tmp_path, "good", "/p", "hello")
    (tmp_path / "journals" / "bad.msgpack").write_bytes(b"\xff\x00 not one")
    assert [chat.chat for chat in list_saved_chats(tmp_path, "/p")] == ["good"]


def test_a_fork_has_all_that_was_said_and_none_of_the_file_changes(tmp_path: Path) -> None:
    journal = JournalFile.open(tmp_path, "source")
    messages: tuple[Message, ...] = (
        UserText("go"),
        Reply("On it.", (ToolCall("c1", "write", "{}"),)),
    )
    journal.append(r.ChatOpened("source", "/p"))
    journal.append(r.TurnStarted(3))
    for message in messages:
        journal.append(r.MessageRecorded(message))
    journal.append(r.ChangeStarted("c1", (r.RecordedFile("/p/a", None, journal.store(b"a")),)))
    journal.append(r.MessageRecorded(ToolResult("c1", "write", "Created a (1 byte).")))
    journal.append(r.PreviewStaged("p1", "Edit: a", "edit"))
    fork_chat(tmp_path, "source", "copy")  # while the source is open and locked
    journal.close()
    copy = JournalFile.open(tmp_path, "copy")
    assert read_history(copy.records()).messages == (
        *messages,
        ToolResult("c1", "write", "Created a (1 byte)."),
    )
    assert read_timeline(copy.records()).turn == 3
    assert read_timeline(copy.records()).steps == ()
    copy.close()


def test_a_fork_is_found_in_the_project_of_its_source_only(tmp_path: Path) -> None:
    a_journal(tmp_path, "source", "/p", "make a plan")
    fork_chat(tmp_path, "source", "copy")
    assert {chat.chat for chat in list_saved_chats(tmp_path, "/p")} == {"source", "copy"}
    assert list_saved_chats(tmp_path, "/q") == []
    opened = next(iter(read_records(journal_path(tmp_path, "copy"))))
    assert isinstance(opened, r.ChatOpened)
    assert (opened.chat, opened.cwd) == ("copy", "/p")


def test_a_fork_of_an_older_version_that_was_opened_is_found_in_its_project(tmp_path: Path) -> None:
    journal = JournalFile.open(tmp_path, "old")
    journal.append(r.MessageRecorded(UserText("make a plan")))
    journal.append(r.ChatOpened("old", "/p"))
    journal.close()
    assert [chat.title for chat in list_saved_chats(tmp_path, "/p")] == ["make a plan"]
    assert list_saved_chats(tmp_path, "/q") == []


def test_a_listing_reads_the_beginning_of_a_long_journal_only(tmp_path: Path) -> None:
    a_journal(tmp_path, "long", "/p", "make a plan")
    path = journal_path(tmp_path, "long")
    path.write_bytes(path.read_bytes() + b"\xc1 not a record")
    journal = Counting(read_records(path))
    assert find_title(journal, "/p", []) == "make a plan"
    assert journal.count == 3


class Counting:
    """Records that count how many of them were taken."""

    def __init__(self, records: Iterator[r.Record]) -> None:
        self._records = records
        self.count = 0

    def __iter__(self) -> Iterator[r.Record]:
        for record in self._records:
            self.count += 1
            yield record


def test_a_preview_that_was_left_unresolved_is_known_to_the_next_process() -> None:
    opened = r.ChatOpened("c", "/p")
    records: list[r.Record] = [
        opened,
        r.PreviewStaged("p1", "Edit: one", "edit"),
        r.PreviewStaged("p2", "Edit: two", "edit"),
        r.PreviewResolved("p2", "Edit: two", "apply", "ok"),
        r.PreviewStaged("p3", "Edit: three", "edit"),
        r.PreviewResolving("p3", "apply"),
    ]
    assert read_timeline(records).pending_previews == ()
    first, third = read_timeline([*records, opened]).pending_previews
    assert (first.staged.label, first.resolving) == ("Edit: one", False)
    assert (third.staged.label, third.resolving) == ("Edit: three", True)
    assert read_timeline([*records, opened, opened]).pending_previews == ()


def test_a_fork_at_a_message_has_what_was_said_before_it(tmp_path: Path) -> None:
    a_journal(tmp_path, "source", "/p", "one", "two", "three")
    fork_chat(tmp_path, "source", "copy", requests=2)
    copy = list(read_records(journal_path(tmp_path, "copy")))
    messages = read_history(copy).messages
    assert [message.text for message in messages] == [
        "sent: one",
        "Answer 1",
        "sent: two",
        "Answer 2",
    ]
    assert read_timeline(copy).turn == 2
    (saved,) = [chat for chat in list_saved_chats(tmp_path, "/p") if chat.chat == "copy"]
    assert saved.source == "source"


def test_a_fork_keeps_tools_mode_model_and_the_summaries_that_it_contains(tmp_path: Path) -> None:
    a_journal(tmp_path, "source", "/p", "one", "two")
    kept = (r.ToolsGiven(("files",)), r.ModelChosen("ollama", "m"), r.ModeChanged("plan"))
    journal = JournalFile.open(tmp_path, "source")
    journal.append(*kept)
    for length in (2, 4):
        journal.append(r.ContextCompacted(before=1, text="short", summary="short", length=length))
    journal.close()
    fork_chat(tmp_path, "source", "copy", requests=1)
    copy = [replace(record, time=0.0) for record in read_records(journal_path(tmp_path, "copy"))]
    assert set(map(type, kept)) <= set(map(type, copy))
    assert [step.length for step in read_steps(copy)] == [2]


def test_what_a_fork_copied_costs_nothing_again(tmp_path: Path) -> None:
    usage = Usage(10, 5, 15, cost=0.5)
    journal = JournalFile.open(tmp_path, "source")
    journal.append(r.ChatOpened("source", "/p"), r.TurnStarted(1))
    journal.append(r.MessageRecorded(UserText("go")), r.MessageRecorded(Reply("ok", usage=usage)))
    journal.close()
    fork_chat(tmp_path, "source", "copy")
    copy = JournalFile.open(tmp_path, "copy")
    assert read_totals(copy.records()).requests == 0
    copy.append(r.MessageRecorded(UserText("on")), r.MessageRecorded(Reply("ok", usage=usage)))
    assert read_totals(copy.records()).cost == 0.5
    copy.close()


def test_a_deleted_chat_leaves_nothing_and_an_open_one_stays(tmp_path: Path) -> None:
    a_journal(tmp_path, "chat", "/p", "one")
    results = tmp_path / "results" / "chat"
    results.mkdir(parents=True)
    journal = JournalFile.open(tmp_path, "chat")
    with pytest.raises(UserError, match="Another"):
        delete_chat(tmp_path, "chat")
    journal.close()
    delete_chat(tmp_path, "chat")
    assert not results.exists()
    assert list_saved_chats(tmp_path, "/p") == []


def test_a_title_that_the_user_gave_is_listed_until_it_is_taken_back(tmp_path: Path) -> None:
    a_journal(tmp_path, "a", "/p", "fix the parser")
    with_lock = JournalFile.open(tmp_path, "a")  # it is open in an editor
    assert rename_chat(tmp_path, "a", " The  parser\nof dates ") == "The parser"
    with_lock.close()
    assert [chat.title for chat in list_saved_chats(tmp_path, "/p")] == ["The parser"]
    assert rename_chat(tmp_path, "a", " ") == "fix the parser"
    assert [chat.title for chat in list_saved_chats(tmp_path, "/p")] == ["fix the parser"]


def test_a_title_goes_with_its_chat(tmp_path: Path) -> None:
    a_journal(tmp_path, "a", "/p", "fix the parser")
    rename_chat(tmp_path, "a", "The parser")
    delete_chat(tmp_path, "a")
    assert not list(tmp_path.rglob("a.*"))
    with pytest.raises(UserError, match="not on disk"):
        rename_chat(tmp_path, "a", "The parser")


def test_a_damaged_title_is_ignored(tmp_path: Path) -> None:
    a_journal(tmp_path, "a", "/p", "fix the parser")
    (tmp_path / "journals" / "a.title").write_bytes(b"\xff\xfe")
    assert [chat.title for chat in list_saved_chats(tmp_path, "/p")] == ["fix the parser"]
