"""What the gate judged is what a call reads and changes, wherever links lead meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentchat.core.messages import Reply
from agentchat.core.tools.tool import Tool
from agentchat.core.workspace import FileTarget
from agentchat.tools.builtin import bash, edit, grep, ls, read, write
from agentchat.workspace.local import LocalWorkspace
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls

DONE = Reply("Done.")


class Swapping(LocalWorkspace):
    """A place where something is swapped as soon as a call was judged."""

    def __init__(self, root: Path, swap: Callable[[], None]) -> None:
        super().__init__(str(root))
        self._swap = swap
        self.lookups = 0

    async def locate(self, path: str) -> FileTarget:
        found = await super().locate(path)
        self.lookups += path.startswith("link")
        if self.lookups == 1:
            self._swap()
        return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a link to one of its folders, and the like outside."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.txt").write_text("secret\n")
    (tmp_path / "ws/inside").mkdir(parents=True)
    (tmp_path / "ws/inside/a.txt").write_text("public\n")
    (tmp_path / "ws/link").symlink_to("inside")
    return tmp_path / "ws"


async def played(root: Path, tool: Tool, swap: Callable[[], None], **given: object) -> str:
    call = a_call("1", tool.name, json.dumps(given))
    workspace = Swapping(root, swap)
    scene = Scene(root, [calls(call), DONE], tool, workspace=workspace)
    answers = [] if tool.metadata.read_only else ["accept"]
    await scene.play("go", *answers)
    assert workspace.lookups == 1
    return scene.results()["1"]


def link_leads_outside(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to(root.parent / "outside")


def folder_becomes_a_link(root: Path) -> None:
    (root / "inside").rename(root / "was")
    (root / "inside").symlink_to(root.parent / "outside")


@pytest.mark.parametrize("tool", [read.TOOL, grep.TOOL, ls.TOOL])
async def test_a_link_swapped_after_the_gate_leads_no_read_outside(root: Path, tool: Tool) -> None:
    given = {"pattern": "c"} if tool is grep.TOOL else {}
    path = "link/a.txt" if tool is read.TOOL else "link"
    said = await played(root, tool, lambda: link_leads_outside(root), path=path, **given)
    assert "secret" not in said
    assert ("public" in said) or ("a.txt" in said)


async def test_a_folder_swapped_for_a_link_after_the_gate_is_not_followed(root: Path) -> None:
    said = await played(root, read.TOOL, lambda: folder_becomes_a_link(root), path="link/a.txt")
    assert "secret" not in said


async def test_a_link_swapped_after_the_gate_leads_no_edit_outside(root: Path) -> None:
    one = {"old_text": "public", "new_text": "changed"}
    swap = lambda: link_leads_outside(root)  # noqa: E731
    said = await played(root, edit.TOOL, swap, path="link/a.txt", edits=[one])
    assert said == "Edited inside/a.txt: 1 replacement."
    assert (root / "inside/a.txt").read_text() == "changed\n"
    assert (root.parent / "outside/a.txt").read_text() == "secret\n"


async def test_a_link_swapped_after_the_gate_leads_no_new_file_outside(root: Path) -> None:
    swap = lambda: link_leads_outside(root)  # noqa: E731
    await played(root, write.TOOL, swap, path="link/new.txt", content="x\n")
    assert (root / "inside/new.txt").read_text() == "x\n"
    assert not (root.parent / "outside/new.txt").exists()


@pytest.mark.parametrize(("cwd", "asks_because"), [("inside", "effect"), ("../outside", "path")])
async def test_the_directory_of_a_command_is_judged_like_a_path(
    root: Path, cwd: str, asks_because: str
) -> None:
    call = a_call("1", "bash", json.dumps({"command": "pwd", "cwd": cwd}))
    scene = Scene(root, [calls(call), DONE], bash.TOOL)
    playing = asyncio.ensure_future(scene.play("go", "accept"))
    await scene.screen.until(lambda: bool(scene.screen.questions))
    request = next(iter(scene.screen.questions.values()))
    await playing
    assert request.target.cwd == str((root / cwd).resolve())
    assert request.decision.reason.kind == asks_because
    assert request.decision.scope is not None
    assert request.target.cwd in request.decision.scope.key
    assert scene.results()["1"] == request.target.cwd


async def test_a_command_in_a_directory_that_is_not_there_is_not_asked_about(root: Path) -> None:
    call = a_call("1", "bash", json.dumps({"command": "pwd", "cwd": "gone"}))
    scene = Scene(root, [calls(call), DONE], bash.TOOL)
    await scene.play("go")
    assert scene.results()["1"] == "Working directory not found: gone. Nothing was run."
