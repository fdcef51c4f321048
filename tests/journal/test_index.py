"""The chats on disk: found by project and words, and forked."""

from __future__ import annotations

import os
from pathlib import Path

from agentchat.core.messages import Message, Reply, ToolCall, ToolResult, UserText
from agentchat.journal import records as r
from agentchat.journal.file import Journal, journal_path
from agentchat.journal.index import fork, saved_chats
from agentchat.journal.reader import history
from agentchat.journal.timeline import Lost, past
from agentchat.journal.undo_plan import gone


def a_journal(state: Path, chat: str, cwd: str, *said: str, at: float = 1000.0) -> None:
    """Write the journal of a chat in which the user said these things, each answered."""
    journal = Journal.open(state, chat)
    journal.append(r.Opened(chat, cwd))
    for number, text in enumerate(said, 1):
        journal.append(r.TurnStarted(number))
        journal.append(r.Said(UserText(f"sent: {text}", shown=text)))
        journal.append(r.Said(Reply(f"Answer {number}")))
    journal.close()
    os.utime(journal_path(state, chat), (at, at))


def test_a_projects_chats_are_listed_newest_first_by_their_first_prompt(tmp_path: Path) -> None:
    a_journal(tmp_path, "old", "/p", "  fix   the parser\nplease", "and more", at=1000)
    a_journal(tmp_path, "new", "/p", "x" * 200, at=2000)
    a_journal(tmp_path, "elsewhere", "/q", "something", at=3000)
    a_journal(tmp_path, "silent", "/p", at=4000)
    found = saved_chats(tmp_path, "/p")
    assert [one.chat for one in found] == ["new", "old"]
    assert found[0].title == "x" * 79 + "…"
    assert found[1].title == "fix the parser"
    assert found[1].at == 1000


def test_words_are_looked_for_in_all_that_was_said(tmp_path: Path) -> None:
    a_journal(tmp_path, "a", "/p", "first", "about the Parser")
    a_journal(tmp_path, "b", "/p", "parser")
    assert {one.chat for one in saved_chats(tmp_path, "/p", "PARSER")} == {"a", "b"}
    assert [one.chat for one in saved_chats(tmp_path, "/p", "parser answer 2".upper())] == ["a"]
    assert saved_chats(tmp_path, "/p", "never") == []


def test_without_a_state_directory_or_with_damaged_files_nothing_fails(tmp_path: Path) -> None:
    assert saved_chats(tmp_path / "none", "/p") == []
    a_journal(tmp_path, "good", "/p", "hello")
    (tmp_path / "journals" / "bad.msgpack").write_bytes(b"\xff\x00 not one")
    assert [one.chat for one in saved_chats(tmp_path, "/p")] == ["good"]


def test_a_fork_has_all_that_was_said_and_none_of_the_file_changes(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path, "source")
    said: tuple[Message, ...] = (UserText("go"), Reply("On it.", (ToolCall("c1", "write", "{}"),)))
    journal.append(r.Opened("source", "/p"))
    journal.append(r.TurnStarted(3))
    for message in said:
        journal.append(r.Said(message))
    journal.append(r.Changing("c1", (r.FileBytes("/p/a", None, journal.keep(b"a")),)))
    journal.append(r.Said(ToolResult("c1", "write", "Created a (1 byte).")))
    journal.append(r.Staged("p1", "Edit: a", "edit"))
    fork(tmp_path, "source", "copy")  # while the source is open and locked
    journal.close()
    copy = Journal.open(tmp_path, "copy")
    assert history(copy.records()).messages == (
        *said,
        ToolResult("c1", "write", "Created a (1 byte)."),
    )
    assert past(copy.records()).turn == 3
    assert past(copy.records()).steps == ()
    copy.close()


def test_a_preview_that_was_left_unresolved_is_lost_with_its_process() -> None:
    opened = r.Opened("c", "/p")
    records: list[r.Record] = [
        opened,
        r.Staged("p1", "Edit: one", "edit"),
        r.Staged("p2", "Edit: two", "edit"),
        r.Resolved("p2", "Edit: two", "apply", "ok"),
        r.Staged("p3", "Edit: three", "edit"),
        r.Resolving("p3", "apply"),
    ]
    assert past(records).lost == ()
    lost = past([*records, opened]).lost
    assert lost == (Lost("Edit: one"), Lost("Edit: three", begun=True))
    assert "Nothing of it was changed" in gone(lost[0])
    assert "look at its files" in gone(lost[1])
    assert past([*records, opened, opened]).lost == ()
