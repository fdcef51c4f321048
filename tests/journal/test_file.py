"""One chat's journal on a real disk: appended, torn, locked, kept from secrets, read back."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import (
    Image,
    Note,
    Reply,
    Status,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from agentchat.journal import records as r
from agentchat.journal.codec import FORMAT, from_fields
from agentchat.journal.file import JournalFile, journal_path
from agentchat.journal.reader import read_records

CHAT = "5b0c6f2e-8f6d-4a53-9c39-0a1f6f5a7a10"
KEY = 'sk-very"secret-0123456789'

EVERYTHING: list[r.Record] = [
    r.ChatOpened(CHAT, "/work", "offline", "0.1.0", time=1.5),
    r.TurnStarted(1, time=2.0),
    r.MessageRecorded(
        UserText("read é𝄞", "read é𝄞 @bash", (Image("image/png", b"\x00\xff"),)), time=3.0
    ),
    r.MessageRecorded(Note("The user ran :AgentResolve."), time=3.0),
    r.ReplyProgress("I re", time=3.5),
    r.MessageRecorded(
        Reply(
            "I read.\x00\x1b[31m\u202e",
            (ToolCall("a~2", "read", '{"path": "x"}', "a", True),),
            "hm",
            "tool_calls",
            "cut",
            Usage(1, 2, 3, 0.25),
            "m",
        ),
        time=4.0,
    ),
    r.MessageRecorded(
        Reply(
            parts=(
                ThinkingPart("hm", {"anthropic": {"signature": "a+/=\ud83d", "n": [1.5, None]}}),
                TextPart("I read.", {"gemini": {"thoughtSignature": "x"}}),
                ThinkingPart("", {"anthropic": {"type": "redacted_thinking", "data": "ZA=="}}),
                ToolCall("b", "read", "{}", "b", opaque={"gemini": {"thoughtSignature": "y"}}),
                TextPart("Then."),
            ),
            usage=Usage(9, 2, 11, None, 5, 3),
            model="m",
            provider="anthropic",
            thinking_seconds=2.5,
        ),
        time=4.5,
    ),
    r.DecisionMade("a~2", "read", "tool read", "allow", "it only reads", "policy", time=5.0),
    r.CallStarted("a~2", "read", {"path": "x", "deep": [1, {"y": None}]}, time=6.0),
    r.ChangeStarted(
        "a~2", (r.RecordedFile("/x", None, "00", 0o644), r.RecordedFile("/y", "00", None)), time=7
    ),
    r.ChangeApplied("a~2", time=7.5),
    r.ChangeSettled("a~2", time=7.5),
    r.RecoveryStarted("recovery-1", "a~2", time=7.5),
    r.UndoOffered(
        "a~2", "put it back", "put", {"id": [1, {"y": None}]}, False, "by hand", time=7.6
    ),
    r.UndoStarted("u1", 1, {"u1.1": "a~2"}, time=7.7),
    r.ChangeStarted("u1", (r.RecordedFile("/y", None, "00"),), (0, 2), time=7.8),
    r.ChangeApplied("u1", (r.RecordedFile("/y", None, "11"),), time=7.8),
    r.RedoStarted("u2", "u1", time=7.9),
    r.CallFinished("a~2", "success", time=8.0),
    r.MessageRecorded(
        ToolResult("a~2", "read", "text", Status.REJECTED, {"n": [1]}, (), "shown"), time=9.0
    ),
    r.PreviewStaged("p1", "AST Edit", "ast_edit", (r.RecordedFile("/x", "00", "11"),), time=10.0),
    r.PreviewResolving("p1", "apply", time=11.0),
    r.PreviewResolved("p1", "AST Edit", "apply", "fine", time=12.0),
    r.ContentStored("00", b"\xff\xfe", time=13.0),
    r.TurnFinished(1, "stop", time=14.0),
]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "agentchat"


def test_every_kind_of_record_comes_back_as_it_was(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    for record in EVERYTHING:
        journal.append(record)
    assert list(journal.records()) == EVERYTHING
    journal.close()
    assert list(read_records(journal.path)) == EVERYTHING


def test_a_record_gets_its_time_and_its_format(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    journal.append(r.TurnStarted(1))
    (record,) = journal.records()
    assert record.time > 1_700_000_000
    assert msgpack.unpackb(journal.path.read_bytes())["v"] == FORMAT
    journal.close()


def test_only_the_user_can_read_it(state: Path) -> None:
    state.parent.mkdir()
    state.mkdir(mode=0o755)
    (state / "journals").mkdir(mode=0o777)
    old = os.umask(0)
    try:
        journal = JournalFile.open(state, CHAT)
    finally:
        os.umask(old)
    journal.close()
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700


def test_a_fresh_state_folder_is_private(state: Path) -> None:
    JournalFile.open(state, CHAT).close()
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["", ".", "../x", "a/b", "a\0", "x" * 101, "-x"])
def test_a_chat_with_a_strange_name_has_no_journal(state: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a chat"):
        journal_path(state, name)


def test_a_link_in_its_place_is_not_followed(state: Path, tmp_path: Path) -> None:
    path = journal_path(state, CHAT)
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="cannot be opened"):
        JournalFile.open(state, CHAT)
    assert not (tmp_path / "elsewhere").exists()


def filled(state: Path) -> Path:
    journal = JournalFile.open(state, CHAT)
    for number in range(3):
        journal.append(r.TurnStarted(number, time=1.0))
    journal.close()
    return journal.path


def numbers(path: Path) -> list[int]:
    return [record.number for record in read_records(path) if isinstance(record, r.TurnStarted)]


def test_a_tail_torn_anywhere_costs_only_its_own_record(state: Path) -> None:
    path = filled(state)
    whole = path.read_bytes()
    size = len(whole) // 3
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        assert numbers(path) == list(range(end // size))


def test_a_torn_tail_is_cut_off_when_the_chat_opens_again(state: Path) -> None:
    path = filled(state)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:9])
    journal = JournalFile.open(state, CHAT)
    journal.append(r.TurnStarted(3))
    journal.close()
    assert numbers(path) == [0, 1, 2, 3]
    assert path.with_suffix(".torn").read_bytes() == whole[:9]


@pytest.mark.parametrize("rest", [b"\0" * 4096, b"\xc1\xc1", b"\x93\x01\x02\x03", b"\x81\xa1a\x01"])
def test_a_tail_that_is_no_record_is_cut_off_too(state: Path, rest: bytes) -> None:
    path = filled(state)
    path.write_bytes(path.read_bytes() + rest)
    assert numbers(path) == [0, 1, 2]
    journal = JournalFile.open(state, CHAT)
    journal.append(r.TurnStarted(3))
    journal.close()
    assert numbers(path) == [0, 1, 2, 3]


def test_records_and_fields_of_a_later_version_are_skipped_but_kept(state: Path) -> None:
    path = filled(state)
    later: dict[str, Any] = {"v": 2, "kind": "dreamt", "at": 5.0, "of": "sheep"}
    more: dict[str, Any] = {"v": 2, "kind": "turn_started", "at": 5.0, "number": 9, "mood": "fine"}
    path.write_bytes(path.read_bytes() + msgpack.packb(later) + msgpack.packb(more))
    foreign, known = list(read_records(path))[-2:]
    assert foreign == r.UnknownRecord(later, time=5.0)
    assert known == r.TurnStarted(9, time=5.0)
    JournalFile.open(state, CHAT).close()
    assert len(list(read_records(path))) == 5


def test_a_reply_of_an_older_journal_has_its_parts() -> None:
    said = {
        "who": "reply",
        "text": "I read.",
        "calls": [{"id": "a", "name": "read", "arguments": "{}", "provider_id": "a"}],
        "reasoning": "hm",
        "finish": "tool_calls",
        "model": "m",
    }
    record = from_fields({"v": 1, "kind": "said", "message": said})
    call = ToolCall("a", "read", "{}", "a")
    parts = (ThinkingPart("hm"), TextPart("I read."), call)
    assert record == r.MessageRecorded(Reply(parts=parts, finish="tool_calls", model="m"))


def test_vendor_data_that_is_no_map_is_left_out() -> None:
    part = {"part": "thinking", "text": "hm", "opaque": ["corrupt"]}
    later = {"part": "hologram", "text": "?"}
    said = {"who": "reply", "parts": [part, later]}
    record = from_fields({"v": 1, "kind": "said", "message": said})
    assert record == r.MessageRecorded(Reply(reasoning="hm"))


def test_a_second_process_cannot_write_it(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    journal.append(r.TurnStarted(1))
    other = in_another_process(f"JournalFile.open({str(state)!r}, {CHAT!r})")
    assert other.returncode == 1
    assert "Another Neovim has this chat open" in other.stderr
    with pytest.raises(UserError, match="Another Neovim"):
        JournalFile.open(state, CHAT)
    assert numbers(journal.path) == [1]
    journal.close()
    JournalFile.open(state, CHAT).close()


def test_a_closed_journal_can_be_opened_though_a_child_still_shares_its_file(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    shared = os.dup(journal._handle)  # what a program that is just being started has
    journal.close()
    JournalFile.open(state, CHAT).close()
    os.close(shared)


def test_nothing_is_added_after_closing(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    journal.close()
    journal.close()
    with pytest.raises(UserError, match="closed"):
        journal.append(r.TurnStarted(1))


def test_what_it_held_is_there_once_without_the_bytes_of_files(state: Path) -> None:
    first = JournalFile.open(state, CHAT)
    first.append(r.TurnStarted(1, time=1.0))
    name = first.store(b"x" * 1000)
    first.close()
    journal = JournalFile.open(state, CHAT)
    started, content = journal.take_previous()
    assert started == r.TurnStarted(1, time=1.0)
    assert isinstance(content, r.ContentStored)
    assert (content.sha256, content.data) == (name, b"")
    assert journal.take_previous() == ()
    journal.close()


OLD: list[tuple[dict[str, Any], r.Record]] = [
    ({"kind": "opened", "chat": "c", "cwd": "/w", "model": "m"}, r.ChatOpened("c", "/w", "m")),
    (
        {"kind": "tools", "given": ["a"], "taken": ["b"], "activated": []},
        r.ToolsGiven(given=("a",), removed=("b",)),
    ),
    ({"kind": "so_far", "text": "I wi"}, r.ReplyProgress("I wi")),
    (
        {"kind": "changing", "source": "c", "files": [], "takes": [1, 2]},
        r.ChangeStarted("c", (), reverts=(1, 2)),
    ),
    ({"kind": "settled", "source": "c"}, r.ChangeSettled("c")),
    (
        {"kind": "undo_noted", "call_id": "c", "description": "d", "given": {"x": 1}},
        r.UndoOffered("c", "d", arguments={"x": 1}),
    ),
    ({"kind": "undone", "id": "u", "turn": 2}, r.UndoStarted("u", 2)),
]


@pytest.mark.parametrize(("stored", "record"), OLD, ids=[str(one["kind"]) for one, _ in OLD])
def test_a_journal_of_an_older_version_is_read(
    state: Path, stored: dict[str, Any], record: r.Record
) -> None:
    path = filled(state)
    path.write_bytes(path.read_bytes() + msgpack.packb({"v": 1, "at": 0.0, **stored}))
    assert list(read_records(path))[-1] == record


def test_a_killed_process_leaves_all_it_wrote_and_no_lock(state: Path) -> None:
    code = (
        f"j = JournalFile.open({str(state)!r}, {CHAT!r})\n"
        "for n in range(1000): j.append(r.TurnStarted(n))\n"
        "import os; os.kill(os.getpid(), 9)"
    )
    assert in_another_process(code).returncode == -signal.SIGKILL
    journal = JournalFile.open(state, CHAT)
    assert numbers(journal.path) == list(range(1000))
    journal.close()


def in_another_process(code: str) -> subprocess.CompletedProcess[str]:
    start = (
        "from agentchat.journal.file import JournalFile; from agentchat.journal import records as r"
    )
    env = {**os.environ, "PYTHONPATH": "python3"}
    argv = [sys.executable, "-c", f"{start}\n{code}"]
    return subprocess.run(argv, capture_output=True, text=True, env=env, check=False)


def test_a_full_disk_says_so_and_leaves_the_journal_whole(state: Path) -> None:
    code = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"j = JournalFile.open({str(state)!r}, {CHAT!r})\n"
        "j.append(r.TurnStarted(1))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: j.append(r.ReplyProgress('x' * 9000))\n"
        "except Exception as e: print(type(e).__name__, e)\n"
        "j.append(r.TurnStarted(2))"
    )
    done = in_another_process(code)
    assert done.stdout.startswith("UserError The journal")
    assert "free space, then try again" in done.stdout
    assert done.returncode == 0, done.stderr
    assert numbers(journal_path(state, CHAT)) == [1, 2]


def test_bytes_are_kept_once_and_found_by_their_hash(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    name = journal.store(b"before\xff")
    assert name == hashlib.sha256(b"before\xff").hexdigest()
    assert journal.store(b"before\xff") == name
    journal.close()
    again = JournalFile.open(state, CHAT)
    assert again.store(b"before\xff") == name
    contents = [record for record in again.records() if isinstance(record, r.ContentStored)]
    again.close()
    assert [(c.sha256, c.data) for c in contents] == [(name, b"before\xff")]


def test_a_secret_is_never_written(state: Path) -> None:
    journal = JournalFile.open(state, CHAT, secrets=[KEY, "short"])
    inside = '{"command": "curl -H ' + KEY.replace('"', '\\"') + '"}'
    journal.append(r.MessageRecorded(UserText(f"my key is {KEY}, a short word")))
    journal.append(r.MessageRecorded(Reply("", (ToolCall("a", "bash", inside),))))
    journal.append(r.CallStarted("a", "bash", {KEY: [f"x{KEY}"]}))
    name = journal.store(f"KEY={KEY}".encode())
    journal.close()
    written = journal.path.read_bytes()
    assert b"very" not in written
    message = next(iter(read_records(journal.path)))
    assert isinstance(message, r.MessageRecorded)
    assert message.message == UserText("my key is [secret], a short word")
    assert list(read_records(journal.path))[-1] == r.ContentStored(
        name, b"", True, list(read_records(journal.path))[-1].time
    )


def test_a_secret_that_becomes_known_later_is_hidden_from_then_on(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    journal.mask_secrets(["0123456789"])
    journal.append(r.ReplyProgress("0123456789", time=1.0))
    assert list(journal.records()) == [r.ReplyProgress("[secret]", time=1.0)]
    journal.close()


@pytest.mark.parametrize(
    ("strange", "comes_back"),
    [
        (10**30, str(10**30)),
        ("\ud83d", "\ud83d"),
        ({1}, "{1}"),
        (object, "<class 'object'>"),
        ((1, 2), [1, 2]),
    ],
    ids=["huge", "half a character", "set", "type", "tuple"],
)
def test_arguments_that_the_format_cannot_say_are_written_as_text(
    state: Path, strange: Any, comes_back: Any
) -> None:
    journal = JournalFile.open(state, CHAT)
    journal.append(r.CallStarted("a", "t", {"x": strange}, time=1.0))
    assert list(journal.records()) == [r.CallStarted("a", "t", {"x": comes_back}, time=1.0)]
    journal.close()


def test_arguments_nested_without_end_are_cut(state: Path) -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    journal = JournalFile.open(state, CHAT)
    journal.append(r.CallStarted("a", "t", {"x": deep}))
    journal.append(r.TurnStarted(1))
    assert numbers(journal.path) == [1]
    journal.close()


def test_a_large_file_fits(state: Path) -> None:
    journal = JournalFile.open(state, CHAT)
    data = b"x" * (120 * 1024 * 1024)
    name = journal.store(data)
    contents = [record for record in journal.records() if isinstance(record, r.ContentStored)]
    journal.close()
    assert [content.sha256 for content in contents] == [name]
    assert len(contents[0].data) == len(data)
