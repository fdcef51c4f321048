"""What a killed process leaves beside its targets is cleared away, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import FileChange
from agentchat.workspace.files.cleanup import remove_leftovers, restore_originals
from agentchat.workspace.files.disk import FOLDER_LOCKS, Disk, FolderHandles
from agentchat.workspace.files.operation import FileOperation
from agentchat.workspace.files.transaction import FileTransaction
from tests.workspace.files.test_transaction import change

NOBODY = 999_999_999
"""No process has this id."""


@pytest.fixture
def other() -> Iterator[int]:
    """The id of another process that runs."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def left(target: Path, owner: int, ending: str = "tmp") -> Path:
    """A file as a process leaves it that is killed while it changes ``target``."""
    file = change(target.parent, target.name, "", "")
    own = FileOperation(Disk(), file, FolderHandles()).temp_name(ending)
    path = target.parent / own.replace(f"-{os.getpid()}-", f"-{owner}-")
    path.write_text("left\n")
    return path


def test_only_what_no_running_process_needs_is_swept(tmp_path: Path, other: int) -> None:
    target = tmp_path / "a"
    dead, mine, living = (left(target, owner) for owner in (NOBODY, os.getpid(), other))
    alike = tmp_path / ".agentchat-notes.tmp"
    alike.write_text("")
    remove_leftovers({str(target): 0, str(tmp_path / "gone/b"): 0})
    assert [path.exists() for path in (dead, mine, living, alike)] == [False, False, True, True]


def test_a_file_set_aside_gets_its_name_back_unless_that_is_taken(tmp_path: Path) -> None:
    free, used = tmp_path / "free", tmp_path / "taken"
    for path in (free, used):
        left(path, NOBODY, "old")
    used.write_text("foreign\n")
    restore_originals([str(free), str(used)])
    remove_leftovers({str(free): 0, str(used): 0})
    assert (free.read_text(), used.read_text()) == ("left\n", "foreign\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["free", "taken"]


def test_a_sweep_waits_for_changes_of_its_own_folders_only(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    first, second = left(here / "a", NOBODY), left(there / "a", NOBODY)
    with FOLDER_LOCKS.hold([str(here)]):
        remove_leftovers({str(there / "a"): 0})
        waiting = threading.Thread(target=remove_leftovers, args=({str(here / "a"): 0},))
        waiting.start()
        assert not second.exists()
        assert first.exists()
    waiting.join()
    assert not first.exists()


def test_a_change_waits_for_a_sweep_of_the_folder_above_the_one_it_makes(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a"
    writer = FileTransaction(Disk(), str)
    with FOLDER_LOCKS.hold([str(tmp_path)]):
        writing = threading.Thread(target=writer.apply, args=([FileChange(str(path), None, b"1")],))
        writing.start()
        assert not path.exists()
    writing.join()
    assert path.read_bytes() == b"1"


def test_folders_made_for_a_file_that_is_not_there_go_as_far_as_they_are_empty(
    tmp_path: Path,
) -> None:
    (tmp_path / "new/deep").mkdir(parents=True)
    (tmp_path / "kept/deep").mkdir(parents=True)
    (tmp_path / "kept/mine").write_text("")
    remove_leftovers({str(tmp_path / "new/deep/f"): 2, str(tmp_path / "kept/deep/f"): 2})
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "kept", "kept/mine",
    ]  # fmt: skip
