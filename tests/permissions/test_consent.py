"""What an answer is about: this call, once, in this directory, in this chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.workspace import Zone
from agentchat.workspace.paths import Paths
from tests.core.turn.world import a_call, calls
from tests.permissions.gate import ASK, DONE, RUN, Chat
from tests.permissions.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ws")


async def test_the_same_bytes_in_another_directory_ask(ground: Ground, tmp_path: Path) -> None:
    here, there = Chat(ground.root), Chat(Ground(tmp_path / "other").root)
    assert await here.bash("git status", "always") == ASK
    there.scene.chat.policy.grants = here.policy.grants
    assert await there.bash("git status") == ASK
    assert await here.bash("git status") == RUN


async def test_a_change_of_directory_ends_with_its_command(ground: Ground) -> None:
    chat = Chat(ground.root)
    assert await chat.bash("pwd", "always") == ASK
    assert await chat.bash("cd d", "accept") == ASK
    assert await chat.bash("cd d && git status", "reject") == ASK
    assert await chat.bash("pwd") == RUN
    assert chat.result().text == str(ground.root)


async def test_always_for_edits_is_about_this_chat_alone(ground: Ground) -> None:
    one = {"old_text": "a", "new_text": "c"}
    chat = Chat(ground.root)
    assert await chat.call("edit", "always", path="f", edits=[one]) == ASK
    assert await chat.call("edit", path="g", edits=[one]) == RUN
    forked = Chat(ground.root)
    forked.scene.chat.history = chat.scene.chat.history
    assert await forked.call("edit", path="src/../x", edits=[{**one, "old_text": "x"}]) == ASK


async def test_of_three_calls_none_runs_after_the_first_is_cancelled(ground: Ground) -> None:
    chat = Chat(ground.root)
    assert await chat.bash("touch n3", "always") == ASK
    (ground.root / "n3").unlink()
    scene = chat.scene
    scene.model.replies[:] = [
        calls(*(a_call(f"c{n}", "bash", f'{{"command": "touch n{n}"}}') for n in (1, 2, 3)))
    ]
    assert await scene.play("go", ApprovalResponse("cancel")) == "cancelled"
    results = [scene.results()[f"c{n}"] for n in (1, 2, 3)]
    assert results == ["Cancelled by the user."] * 3
    assert not list(ground.root.glob("n?"))


async def test_what_was_accepted_once_asks_when_it_comes_again(ground: Ground) -> None:
    chat = Chat(ground.root)
    assert await chat.bash("echo x >> n", "accept") == ASK
    assert await chat.bash("echo x >> n", "reject") == ASK
    assert (ground.root / "n").read_text() == "x\n"


async def test_yolo_frees_no_command_and_leaves_no_answer_behind(ground: Ground) -> None:
    chat = Chat(ground.root)
    assert await chat.bash("touch m", "always") == ASK
    chat.policy.mode = "yolo"
    one = {"old_text": "a", "new_text": "c"}
    assert await chat.call("write", path="new", content="") == RUN
    assert await chat.call("edit", path="f", edits=[one]) == RUN
    assert await chat.call("delete", path="g") == ASK
    assert await chat.bash("touch m2") == ASK
    assert await chat.bash("touch m") == RUN
    chat.policy.mode = "ask"
    assert await chat.bash("touch m") == RUN
    assert await chat.call("write", path="new2", content="") == ASK


async def test_an_answer_to_a_question_that_is_over_does_nothing(ground: Ground) -> None:
    chat = Chat(ground.root)
    session, screen = chat.scene.session, chat.scene.screen
    assert await chat.bash("touch n1", "reject") == ASK
    chat.scene.model.replies[:] = [calls(a_call("c9", "bash", '{"command": "touch n2"}')), DONE]
    session.send("go")
    await screen.until(lambda: bool(screen.questions))
    first = next(iter(screen.questions))
    session.answer("no such prompt", ApprovalResponse("accept"))
    assert list(screen.questions) == [first]
    session.stop()
    await screen.until(lambda: not screen.questions)
    session.answer(first, ApprovalResponse("accept"))
    await chat.scene.finished(2)
    assert not list(ground.root.glob("n?"))


def test_what_is_mounted_below_the_workspace_is_protected() -> None:
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    shared = next(m for m in mounts if m in ("/dev/shm", "/dev", "/proc", "/sys"))
    paths = Paths("/")
    assert paths.zone(f"{shared}/new/file") is Zone.PROTECTED
    assert paths.zone("/var/new-file") is Zone.ORDINARY
