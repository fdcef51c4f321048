"""What a chat does with changes that a process which was killed left half made."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from agentchat.app.workspaces import LocalLeftovers
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.messages import Note
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter
from tests.faults.ground import Reopened


class Cut:
    """Files of which some were changed when the process ended."""

    def __init__(self, folder: Path) -> None:
        self.root, self.state = folder / "ws", folder / "state"
        self.root.mkdir()
        self.state.mkdir()

    def change(self, **files: tuple[bytes | None, bytes | None, bytes | None]) -> None:
        """Begin to change files: bytes before, after, and those that are there now."""
        journal = JournalWriter.open(self.state, "chat")
        journal.add(r.ChatOpened(chat="chat", cwd=str(self.root), model="", version=""))
        changes = []
        for name, (before, after, now) in files.items():
            changes.append(FileChange(str(self.root / name), before, after))
            if now is not None:
                (self.root / name).write_bytes(now)
        journal.add(r.TurnStarted(1))
        journal.add(r.ChangeStarted("c", journal.store(ChangeSet(tuple(changes)).parts)))
        journal.close()

    async def reopen(self) -> tuple[str, str]:
        """Open the chat again; return what the user and the model are told."""
        chat = Reopened(self.root, self.state)
        await chat.recover()
        messages = await chat.session._queue.complete()
        chat.close()
        user = "\n".join(text for _, text in chat.screen.notes)
        return user, "\n".join(message.text for message in messages if isinstance(message, Note))

    def files(self) -> dict[str, bytes]:
        return {name: (self.root / name).read_bytes() for name in sorted(os.listdir(self.root))}


@pytest.fixture
def cut(tmp_path: Path) -> Cut:
    return Cut(tmp_path)


async def test_a_change_of_which_a_part_was_made_is_taken_back_and_told(cut: Cut) -> None:
    cut.change(a=(b"0", b"1", b"1"), b=(b"0", b"1", b"0"), c=(None, b"1", b"1"))
    user, model = await cut.reopen()
    assert cut.files() == {"a": b"0", "b": b"0"}
    assert user == model
    assert user.startswith("The plugin's process ended while it changed files:\n- taken back: ")
    assert "/b" not in user.partition("taken back")[2]
    assert await cut.reopen() == ("", "")


async def test_a_change_that_was_made_whole_stays_even_if_a_part_is_changed_later(cut: Cut) -> None:
    cut.change(a=(b"0", b"1", b"1"), b=(b"0", b"1", b"1"))
    assert await cut.reopen() == ("", "")
    (cut.root / "b").write_bytes(b"0")
    assert await cut.reopen() == ("", "")
    assert cut.files() == {"a": b"1", "b": b"0"}


async def test_what_somebody_wrote_since_is_left_alone_and_named(cut: Cut) -> None:
    cut.change(a=(b"0", b"1", b"1"), b=(b"0", b"1", b"foreign"))
    user, _ = await cut.reopen()
    assert cut.files() == {"a": b"0", "b": b"foreign"}
    assert f"left alone: {cut.root}/b: it changed since" in user


@pytest.mark.parametrize(
    ("before", "after", "now", "then"),
    [
        (b"aaaaaaaa", b"bbbb", b"bbaaaaaa", b"aaaaaaaa"),
        (b"aaaaaaaa", b"bbbb", b"bbbbaaaa", b"aaaaaaaa"),
        (b"aaaa", b"bbbbbbbb", b"bbbbbb", b"aaaa"),
        (b"aaaaaaaa", b"bbbb", b"bbxaaaaa", b"bbxaaaaa"),
    ],
    ids=["short", "not cut yet", "longer", "not ours"],
)
async def test_a_file_that_was_partly_written_in_place_gets_its_bytes_back(
    cut: Cut, before: bytes, after: bytes, now: bytes, then: bytes
) -> None:
    cut.change(a=(before, after, now))
    await cut.reopen()
    assert cut.files() == {"a": then}


async def test_a_change_taken_back_can_be_neither_undone_nor_redone(cut: Cut) -> None:
    cut.change(a=(b"0", b"1", b"1"), b=(b"0", b"1", b"0"))
    await cut.reopen()
    chat = Reopened(cut.root, cut.state)
    assert "Nothing to undo" in await chat.undo()
    chat.close()
    assert cut.files() == {"a": b"0", "b": b"0"}


async def test_an_undo_at_once_waits_for_the_recovery(cut: Cut) -> None:
    cut.change(a=(b"0", b"1", b"1"), b=(b"0", b"1", b"1"))
    chat = Reopened(cut.root, cut.state)
    chat.session.recover(LocalLeftovers())
    said = await chat.undo()
    chat.close()
    assert said.startswith("Undo of turn 1:")
    assert cut.files() == {"a": b"0", "b": b"0"}


async def test_a_change_that_failed_is_not_looked_at_again(cut: Cut) -> None:
    cut.change(a=(b"0", b"1", b"1"), b=(b"0", b"1", b"0"))
    journal = JournalWriter.open(cut.state, "chat")
    journal.add(r.ChangeSettled("c"))
    journal.close()
    assert await cut.reopen() == ("", "")
    assert cut.files() == {"a": b"1", "b": b"0"}


async def test_what_a_call_that_never_ended_changed_is_undone_to_its_checkpoint(cut: Cut) -> None:
    for name in ("a", "b"):
        (cut.root / name).write_bytes(b"0")
    journal = JournalWriter.open(cut.state, "chat")
    journal.add(r.TurnStarted(1))
    files = [FileChange(str(cut.root / name), b"0", b"0") for name in ("a", "b")]
    journal.add(r.CheckpointCreated("c1", "files", journal.store(files)))
    journal.close()
    (cut.root / "a").write_bytes(b"1")
    assert await cut.reopen() == ("", "")
    (cut.root / "b").write_bytes(b"of the user")
    chat = Reopened(cut.root, cut.state)
    await chat.recover()
    assert "restored: a" in await chat.undo()
    chat.close()
    assert cut.files() == {"a": b"0", "b": b"of the user"}


class SlowLeftovers:
    """A disk on which looking takes until ``go_on``."""

    def __init__(self) -> None:
        self.looking, self.go_on = threading.Event(), threading.Event()

    def put_back(self, paths: Iterable[str]) -> None:
        self._look()

    def sweep(self, made: Mapping[str, int]) -> None:
        self._look()

    def _look(self) -> None:
        self.looking.set()
        assert self.go_on.wait(5), "the loop does not run meanwhile"


async def test_other_chats_go_on_while_a_slow_disk_is_looked_at(cut: Cut) -> None:
    cut.change(a=(b"0", b"1", b"1"), b=(b"0", b"1", b"0"))
    chat, leftovers = Reopened(cut.root, cut.state), SlowLeftovers()
    chat.session.recover(leftovers)
    assert await asyncio.to_thread(leftovers.looking.wait, 5)
    leftovers.go_on.set()
    await chat.idle()
    chat.close()
    assert cut.files() == {"a": b"0", "b": b"0"}
