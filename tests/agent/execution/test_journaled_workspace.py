"""A stop while files are changed: files, journal, undo and the model agree on what happened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.messages import Reply, ToolResult
from agentchat.core.model import ModelRequest
from agentchat.core.workspace import AppliedFile
from agentchat.journal import records as r
from agentchat.journal.reader import read_history
from agentchat.journal.writer import JournalWriter
from agentchat.workspace.editor_port import SaveOutcome
from agentchat.workspace.local import LocalWorkspace
from tests.agent.scene import Scene
from tests.agent.test_preview_actions import BEFORE, staging
from tests.agent.undo.test_commands import UndoScene, edit
from tests.core.turn.world import a_call, calls
from tests.workspace.editor import Buffers


class SlowBuffers(Buffers):
    """An editor that is just saving, until it ``may_save``."""

    def __init__(self) -> None:
        super().__init__()
        self.saving, self.may_save = asyncio.Event(), asyncio.Event()

    async def save(self, path: str) -> SaveOutcome:
        self.saving.set()
        await self.may_save.wait()
        return await super().save(path)


class SlowWorkspace(LocalWorkspace):
    """A disk that is just being written, until it ``may_write``."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.writing, self.may_write = asyncio.Event(), asyncio.Event()

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        self.writing.set()
        await self.may_write.wait()
        return await super().apply(change)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[UndoScene]:
    """A file that is open in the editor, which formats it on save."""
    scene = UndoScene(tmp_path, editor=SlowBuffers())
    scene.editor.formatter = lambda lines: tuple(line.upper() for line in lines)
    scene.editor.load(scene.write("a", "zero\n"))
    yield scene
    scene.journal.close()


def results(scene: UndoScene) -> dict[str, str]:
    messages = scene.chat.history.messages
    return {m.call_id: m.text for m in messages if isinstance(m, ToolResult)}


async def stopped_while_saving(scene: UndoScene) -> None:
    """Play a turn that is stopped while the editor saves what a call changed."""
    assert isinstance(scene.editor, SlowBuffers)
    name, arguments = edit("a", "zero", "one")
    scene.model.replies.append(calls(a_call("c1", name, json.dumps(arguments))))
    scene.session.set_mode("yolo")
    scene.session.send("go")
    await scene.editor.saving.wait()
    scene.session.stop()
    scene.editor.may_save.set()
    await scene.screen.until(lambda: bool(scene.screen.named("AgentTurnFinished")))
    assert scene.screen.named("AgentTurnFinished")[-1]["reason"] == "cancelled"


async def test_the_model_hears_that_the_file_was_changed(scene: UndoScene) -> None:
    await stopped_while_saving(scene)
    assert scene.files()["a"][0] == "ONE\n"
    assert results(scene)["c1"].startswith("Edited a: 1 replacement.")
    assert scene.screen.named("AgentToolFinished")[-1]["status"] == "success"


async def test_what_a_formatter_made_of_it_is_undone(scene: UndoScene) -> None:
    await stopped_while_saving(scene)
    scene.restart()
    scene.editor.formatter = lambda lines: lines
    assert "restored: a" in await scene.undo()
    assert scene.files()["a"][0] == "zero\n"


async def test_a_preview_that_is_being_applied_is_applied_and_the_model_hears_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BEFORE)
    workspace = SlowWorkspace(tmp_path)
    resolve = calls(a_call("2", "resolve", '{"action": "apply", "reason": "ok"}'))
    scene = Scene(
        tmp_path,
        [calls(a_call("1", "stage")), resolve],
        staging(path, 5),
        workspace=workspace,
    )
    scene.session.send("go")
    await scene.answer("accept")
    await workspace.writing.wait()
    scene.session.stop()
    workspace.may_write.set()
    await scene.finished()
    assert "LINE 5\n" in path.read_text()
    assert scene.results()["2"] == "made"
    assert len(scene.chat.previews) == 0
    lines = scene.journal_lines()
    assert lines.index("changing 1") < lines.index("changed 1")
    assert "settled 1" not in lines


@pytest.fixture
def journal(tmp_path: Path) -> JournalWriter:
    return JournalWriter.open(tmp_path / "state", "chat")


class HalfBroken(LocalWorkspace):
    """Fails after the first file of a change, and cannot take it back."""

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        await super().apply(ChangeSet(change.files[:1]))
        raise ToolError("Cannot write b: Disk full. Could not be rolled back: a.")


async def test_a_change_that_failed_half_way_is_recorded_as_the_files_are(
    tmp_path: Path, journal: JournalWriter
) -> None:
    workspace = JournaledWorkspace(HalfBroken(str(tmp_path)), journal, "c")
    files = (FileChange(str(tmp_path / name), None, b"1") for name in "ab")
    with pytest.raises(ToolError, match="Disk full"):
        await workspace.apply(ChangeSet(tuple(files)))
    settled = list(journal.records())[-1]
    assert isinstance(settled, r.ChangeSettled)
    assert [file.path for file in settled.files] == [str(tmp_path / "a")]
    journal.close()
    again = JournalWriter.open(tmp_path / "state", "chat")
    assert [step.path for step in again.restored.timeline.steps] == [str(tmp_path / "a")]
    assert again.restored.timeline.unfinished == ()
    again.close()


async def test_a_change_that_failed_whole_leaves_nothing_to_undo(
    tmp_path: Path, journal: JournalWriter
) -> None:
    (tmp_path / "a").write_text("somebody's")
    workspace = JournaledWorkspace(LocalWorkspace(str(tmp_path)), journal, "c")
    with pytest.raises(ToolError):
        await workspace.apply(ChangeSet((FileChange(str(tmp_path / "a"), b"0", b"1"),)))
    settled = list(journal.records())[-1]
    assert isinstance(settled, r.ChangeSettled)
    assert settled.files == ()
    journal.close()


class Lost(LocalWorkspace):
    """A machine that is lost while it changes files."""

    async def apply(self, change: ChangeSet) -> tuple[AppliedFile, ...]:
        raise Unreachable("The connection was lost.")

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        raise Unreachable("The connection was lost.")


async def test_a_change_of_which_nothing_is_known_is_left_to_recovery(
    tmp_path: Path, journal: JournalWriter
) -> None:
    workspace = JournaledWorkspace(Lost(str(tmp_path)), journal, "c")
    with pytest.raises(Unreachable):
        await workspace.apply(ChangeSet((FileChange(str(tmp_path / "a"), b"0", b"1"),)))
    journal.close()
    again = JournalWriter.open(tmp_path / "state", "chat")
    assert [change.source for change in again.restored.timeline.unfinished] == ["c"]
    again.close()


async def test_a_stop_does_not_wait_for_ever_and_the_change_is_recorded_when_it_ends(
    tmp_path: Path, journal: JournalWriter
) -> None:
    slow = SlowWorkspace(tmp_path)
    workspace = JournaledWorkspace(slow, journal, "c", finish_seconds=0.01)
    change = ChangeSet((FileChange(str(tmp_path / "a"), None, b"1", "a"),))
    applying = asyncio.ensure_future(workspace.apply(change))
    await slow.writing.wait()
    applying.cancel()
    with pytest.raises(ToolError, match="Stopped while a was changed"):
        await applying
    slow.may_write.set()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait(others)
    assert (tmp_path / "a").read_bytes() == b"1"
    assert isinstance(list(journal.records())[-1], r.ChangeApplied)
    journal.close()


async def test_an_answer_that_came_whole_is_restored_once(tmp_path: Path) -> None:
    async def whole(request: ModelRequest, on_piece: object) -> Reply:
        return Reply("All of it.")

    scene = Scene(tmp_path, [whole])
    await scene.play()
    assert scene.screen.said == "|All of it."
    messages = read_history(scene.journal.records()).messages
    assert [message.text for message in messages] == ["go", "All of it."]
