"""What happens to a file while a question about it is open."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agentchat.core.messages import Reply
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.hunk_decisions import HunkDecision
from agentchat.tools.builtin import edit
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls

TEXT = "".join(f"line {n}\n" for n in range(1, 41))
DONE = Reply("Done.")


def editing(folder: Path, number: int) -> Scene:
    one = {"old_text": f"line {number}\n", "new_text": f"LINE {number}\n"}
    call = a_call("1", "edit", json.dumps({"path": "a.txt", "edits": [one]}))
    return Scene(folder, [calls(call), DONE], edit.TOOL)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    return path


async def asked(scene: Scene) -> None:
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))


async def test_two_chats_that_change_one_file_both_keep_their_change(path: Path) -> None:
    one, other = editing(path.parent, 5), editing(path.parent, 30)
    await asked(one)
    await other.play("go", "accept")
    await one.answer("accept")
    await one.screen.until(lambda: bool(one.screen.questions))
    (again,) = one.screen.questions.values()
    assert again.problem.startswith("a.txt changed since it was shown")
    await one.answer("accept")
    await one.finished()
    expected = TEXT.replace("line 5\n", "LINE 5\n").replace("line 30\n", "LINE 30\n")
    assert path.read_text() == expected


def _deleted(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.rename(path.with_name("was.txt"))
    path.symlink_to("was.txt")


def _rewritten(path: Path) -> None:
    path.write_text(TEXT.replace("line 5\n", "mine\n"))


CHANGED = "a.txt changed since the preview."


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_deleted, CHANGED),
        (_rewritten, CHANGED),
        (_folder, "a.txt is a directory, not a regular file."),
        (_pipe, "a.txt is a device, socket or pipe, not a regular file."),
    ],
)
async def test_what_became_of_a_file_is_told_and_nothing_is_made_of_it(
    path: Path, change: Callable[[Path], None], why: str
) -> None:
    scene = editing(path.parent, 5)
    await asked(scene)
    change(path)
    kind = path.lstat().st_mode if path.exists() else None
    await scene.answer("accept")
    await scene.finished()
    assert scene.results()["1"] == f"{why} Nothing was changed."
    assert "line 5" not in (path.read_text() if path.is_file() else "")
    assert (path.lstat().st_mode if path.exists() else None) == kind


async def test_a_link_in_place_of_the_file_is_not_written_through_unasked(path: Path) -> None:
    scene = editing(path.parent, 5)
    await asked(scene)
    _link(path)
    await scene.answer("accept")
    await scene.finished()
    assert path.is_symlink()
    assert path.with_name("was.txt").read_text() == TEXT
    assert "Nothing was changed" in scene.results()["1"]


async def test_only_the_replacements_that_were_kept_are_counted(path: Path) -> None:
    edits = [{"old_text": f"line {n}\n", "new_text": f"LINE {n}\n"} for n in (5, 6, 30)]
    call = a_call("1", "edit", json.dumps({"path": "a.txt", "edits": edits}))
    scene = Scene(path.parent, [calls(call), DONE], edit.TOOL)
    await scene.play("go", ApprovalResponse("accept", hunk_decisions=(HunkDecision(str(path), 1),)))
    assert scene.results()["1"].startswith("Applied 1 of 2 hunks in a.txt.")
    (finished,) = scene.screen.named("AgentToolFinished")
    assert finished["details"]["replacements"] == 2
