"""Undo and redo of a turn: real files, a real journal, a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentchat.agent.execution.results import ResultStore
from agentchat.agent.preview_actions import ResolveCommand
from agentchat.agent.session import Session
from agentchat.agent.session_parts import SessionParts
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.messages import Note, Reply
from agentchat.core.model import ModelRequest
from agentchat.core.tools.tool import (
    Capability,
    CheckpointHandler,
    Hooks,
    Metadata,
    Tool,
    ToolContext,
    ToolOutput,
    UndoCall,
)
from agentchat.core.turn.effects import Action, ApprovalResponse
from agentchat.journal import records as r
from agentchat.journal.log_text import render_log
from agentchat.journal.writer import JournalWriter
from agentchat.tools.builtin.bash import TOOL as BASH
from agentchat.tools.builtin.delete import TOOL as DELETE
from agentchat.tools.builtin.edit import TOOL as EDIT
from agentchat.tools.builtin.read import TOOL as READ
from agentchat.tools.builtin.write import TOOL as WRITE
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.local import LocalWorkspace
from tests.agent.scene import KeptScreen, ScriptedModel
from tests.agent.test_preview_actions import BEFORE, staging
from tests.core.turn.world import a_call, a_chat, a_tool, calls
from tests.workspace.editor import Buffers

DONE = Reply("Done.")
SECRET = "sk-0123456789abcdef"


class UndoScene:
    """A chat on a folder with a journal; ``restart`` opens it again as a new process would."""

    def __init__(
        self,
        folder: Path,
        *tools: Tool,
        editor: Buffers | None = None,
        handlers: Sequence[CheckpointHandler] = (),
    ) -> None:
        self.root = folder / "ws"
        self.root.mkdir()
        self.state = folder / "state"
        self.tools = (READ, EDIT, WRITE, DELETE, BASH, *tools)
        self.handlers = handlers
        self.editor = editor or Buffers()
        self.ids = 0
        self._open()

    def _open(self) -> None:
        self.journal = JournalWriter.open(self.state, "chat", [SECRET])
        self.screen = KeptScreen()
        self.model = ScriptedModel([])
        self.chat = a_chat(*self.tools)
        self.chat.toolset.set_checkpoint_handlers(self.handlers)
        self.session = Session(
            SessionParts(
                chat=self.chat,
                workspace=BuffersWorkspace(LocalWorkspace(str(self.root)), self.editor),
                view=self.screen,
                journal=self.journal,
                results=ResultStore(self.state),
                model=self.model,
                max_parallel=10,
            )
        )
        self.session.restore()

    def restart(self) -> None:
        self.journal.close()
        self._open()

    async def turn(self, *made: tuple[str, dict[str, Any]]) -> None:
        """Play a turn in which the model makes these calls, all accepted."""
        batch = []
        for name, arguments in made:
            self.ids += 1
            batch.append(a_call(f"c{self.ids}", name, json.dumps(arguments)))
        self.model.replies += [calls(*batch), DONE] if batch else [DONE]
        turns = len(self.screen.named("AgentTurnFinished"))

        def over() -> bool:
            return len(self.screen.named("AgentTurnFinished")) > turns

        self.session.send("go")
        while not over():
            await self.screen.until(lambda: over() or bool(self.screen.questions))
            for prompt in list(self.screen.questions):
                await self._accept(prompt)

    async def _accept(self, prompt: str) -> None:
        self.session.answer(prompt, ApprovalResponse("accept"))
        await self.screen.until(lambda: prompt not in self.screen.questions)

    async def undo(self, turn: int | None = None) -> str:
        """Run ``:AgentUndo`` to its end; return what was said."""
        return await self.said(lambda: self.session.undo(turn))

    async def redo(self) -> str:
        return await self.said(self.session.redo)

    async def said(self, verb: Callable[[], None]) -> str:
        notes = len(self.screen.notes)
        verb()
        await self.screen.until(
            lambda: len(self.screen.notes) > notes and self.screen.statuses[-1].state == "idle"
        )
        return "\n".join(text for _, text in self.screen.notes[notes:])

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        path = self.root / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def files(self) -> dict[str, tuple[str, int]]:
        """Every file by name, with its text and mode."""
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.root)): (path.read_text(), path.stat().st_mode & 0o777)
            for path in found
        }

    def notes_to_the_model(self) -> list[str]:
        return [m.text for m in self.chat.history.messages if isinstance(m, Note)]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[UndoScene]:
    scene = UndoScene(tmp_path)
    yield scene
    scene.journal.close()


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": path, "edits": [{"old_text": old, "new_text": new}]}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": path, "content": content}


def delete(path: str) -> tuple[str, dict[str, Any]]:
    return "delete", {"path": path}


async def test_a_turn_is_taken_back_file_by_file_and_redone(scene: UndoScene) -> None:
    scene.write("a.py", "one\n")
    scene.write("run.sh", "go\n", 0o755)
    before = scene.files()
    await scene.turn(
        edit("a.py", "one", "two"),
        write("new.py", "x\n"),
        delete("run.sh"),
        edit("a.py", "two", "3"),
    )
    after = scene.files()
    said = await scene.undo()
    assert said.splitlines() == [
        "Undo of turn 1:",
        "- restored: a.py",
        "- brought back: run.sh",
        "- removed: new.py",
    ]
    assert scene.files() == before
    assert "changed again: a.py" in await scene.redo()
    assert scene.files() == after
    await scene.undo(1)
    assert scene.files() == before


async def test_turns_are_undone_newest_first_and_each_by_itself(scene: UndoScene) -> None:
    scene.write("a", "0")
    await scene.turn(write("a", "1"))
    await scene.turn(write("b", "2"))
    await scene.turn()
    assert "turn 2" in await scene.undo()
    assert scene.files() == {"a": ("1", 0o644)}
    assert "turn 1" in await scene.undo()
    assert scene.files() == {"a": ("0", 0o644)}
    assert (await scene.undo()).startswith("Nothing to undo")
    assert "turn 1" in await scene.redo()
    assert "turn 2" in await scene.redo()
    assert (await scene.redo()).startswith("Nothing to redo")
    assert scene.files()["b"][0] == "2"


async def test_a_file_the_user_edited_since_is_left_alone_and_the_rest_goes_on(
    scene: UndoScene,
) -> None:
    scene.write("a", "0")
    scene.write("b", "0")
    await scene.turn(write("a", "1"), write("b", "1"))
    scene.write("b", "mine")
    said = await scene.undo()
    assert "- left alone: b: it changed since" in said
    assert "- restored: a" in said
    assert {name: text for name, (text, _) in scene.files().items()} == {"a": "0", "b": "mine"}


async def test_a_file_that_a_later_turn_changed_names_that_turn(scene: UndoScene) -> None:
    await scene.turn(write("a", "1"))
    await scene.turn(write("a", "2"))
    said = await scene.undo(1)
    assert said == (
        "Undo of turn 1: nothing was changed\n"
        "- left alone: a: turn 2 changed it since; undo that first"
    )
    assert scene.files()["a"][0] == "2"


async def test_commands_are_named_as_not_undoable_and_reads_are_not(scene: UndoScene) -> None:
    scene.write("a", "0")
    await scene.turn(
        ("read", {"path": "a"}), write("a", "1"), ("bash", {"command": "touch b\necho hi"})
    )
    said = await scene.undo()
    assert said.splitlines()[1:] == ["- not undoable: bash `touch b ...`", "- restored: a"]
    await scene.turn(("bash", {"command": "true"}))
    assert "not undoable: bash `true`" in await scene.undo(2)


async def test_the_model_is_told_at_the_next_request(scene: UndoScene) -> None:
    await scene.turn(write("a", "1"))
    await scene.undo()
    assert scene.notes_to_the_model() == []
    await scene.turn()
    assert scene.notes_to_the_model() == ["The user ran :AgentUndo on turn 1.\n- removed: a"]


async def test_redo_numbers_and_the_note_survive_a_restart(scene: UndoScene) -> None:
    await scene.turn(write("a", "1"))
    await scene.undo()
    scene.restart()
    assert scene.chat.turn == 1
    assert "created again: a" in await scene.redo()
    assert scene.files()["a"][0] == "1"
    await scene.turn()
    assert scene.chat.turn == 2
    assert "The user ran :AgentUndo on turn 1" in scene.notes_to_the_model()[0]


async def test_a_secret_is_not_kept_so_its_file_is_refused(scene: UndoScene) -> None:
    scene.write("config", f"key = {SECRET}\n")
    scene.write("a", "0")
    await scene.turn(write("config", "key = none\n"), write("a", "1"))
    said = await scene.undo()
    assert "left alone: config: its old content has a secret in it" in said
    assert "restored: a" in said
    assert scene.files()["config"][0] == "key = none\n"


async def test_open_buffers_follow_and_unsaved_changes_stay(scene: UndoScene) -> None:
    clean, dirty = scene.write("clean", "one\ntwo\n"), scene.write("dirty", "one\n")
    scene.editor.load(clean)
    scene.editor.load(dirty, "mine\none\n")
    await scene.turn(edit("clean", "two", "2"), edit("dirty", "one", "1"))
    said = await scene.undo()
    assert scene.editor.lines(clean) == ("one", "two")
    assert clean.read_text() == "one\ntwo\n"
    assert scene.editor.lines(dirty) == ("mine", "one")
    assert scene.editor.loaded[str(dirty)].modified
    assert "restored: dirty; not saved" in said


async def test_what_a_formatter_added_is_taken_back_too(scene: UndoScene) -> None:
    path = scene.write("a", "one\n")
    scene.editor.load(path)
    scene.editor.formatter = lambda lines: tuple(line.upper() for line in lines if line == "two")
    await scene.turn(edit("a", "one", "two"))
    assert path.read_text() == "TWO\n"
    scene.editor.formatter = lambda lines: lines
    assert "restored: a" in await scene.undo()
    assert path.read_text() == "one\n"


async def test_a_link_in_place_of_a_folder_is_not_followed(
    scene: UndoScene, tmp_path: Path
) -> None:
    (scene.root / "sub").mkdir()
    scene.write("sub/a", "0")
    await scene.turn(write("sub/a", "1"))
    (scene.root / "sub").rename(tmp_path / "elsewhere")
    (scene.root / "sub").symlink_to(tmp_path / "elsewhere")
    assert "left alone" in await scene.undo()
    assert (tmp_path / "elsewhere" / "a").read_text() == "1"


async def test_nothing_is_undone_while_a_turn_runs(scene: UndoScene) -> None:
    await scene.turn(write("a", "1"))
    asked = asyncio.Event()

    async def hangs(request: ModelRequest, on_piece: Any) -> Reply:
        asked.set()
        await asyncio.Event().wait()
        return DONE

    scene.model.replies.append(hangs)
    scene.session.send("go")
    await asked.wait()
    for verb, what in ((scene.session.undo, "undo"), (scene.session.redo, "redo")):
        verb()
        text = f"Nothing to {what} while a turn runs: stop it first with :AgentStop."
        assert scene.screen.notes[-1] == ("warn", text)
    await scene.session.close()
    assert scene.files()["a"][0] == "1"


async def test_what_is_sent_during_an_undo_begins_a_turn_after_it(scene: UndoScene) -> None:
    await scene.turn(write("a", "1"))
    scene.model.replies.append(DONE)
    scene.session.undo()
    scene.session.send("and now?")
    await scene.screen.until(lambda: len(scene.screen.named("AgentTurnFinished")) == 2)
    assert scene.files() == {}
    assert "removed: a" in scene.notes_to_the_model()[0]


async def test_a_change_cut_off_by_a_crash_is_undone_if_it_was_made(scene: UndoScene) -> None:
    await scene.turn()
    path = scene.write("a", "0")
    change = ChangeSet((FileChange(str(path), b"0", b"1"),))
    scene.journal.add(r.ChangeStarted("c9", scene.journal.store(change.parts)))
    path.write_text("1")
    scene.restart()
    assert "restored: a" in await scene.undo()
    assert path.read_text() == "0"


# --- tools that say how they are undone -------------------------------------------------------


def deploys(log: list[str], undo: Callable[[Any, ToolOutput], UndoCall | None]) -> Tool:
    async def run(arguments: Any, context: ToolContext) -> str:
        if arguments.fail:
            raise ValueError("no")
        log.append(f"deploy {arguments.env}")
        return "deployed"

    hooks = Hooks(undo=undo)
    tool = a_tool("deploy", hooks=hooks, capability=Capability(reversible=True))
    return replace(tool, steps=(run,), asks=False)


def withdraws(log: list[str]) -> Tool:
    async def run(arguments: Any, context: ToolContext) -> str:
        if arguments.env == "locked":
            raise ValueError("it is locked")
        log.append(f"withdraw {arguments.env}")
        return "gone"

    undo = Hooks(undo=lambda given, result: UndoCall("deploy it", "deploy", given.values))
    tool = a_tool("withdraw", hooks=undo, metadata=Metadata(destructive=True))
    return replace(tool, steps=(run,))


def withdrawal(arguments: Any, result: ToolOutput) -> UndoCall:
    return UndoCall("withdraw it", "withdraw", arguments.values)


async def test_a_call_is_undone_by_the_tool_it_named_and_redone_the_same_way(
    tmp_path: Path,
) -> None:
    log: list[str] = []
    scene = UndoScene(tmp_path, deploys(log, withdrawal), withdraws(log))
    await scene.turn(("deploy", {"env": "x"}), write("a", "1"), ("deploy", {"fail": True}))
    said = await scene.undo()
    assert said.splitlines()[1:] == [
        "- not undoable: deploy `fail=true`",
        "- removed: a",
        '- undone: deploy `env="x"` (withdraw it): gone',
    ]
    assert log == ["deploy x", "withdraw x"]
    scene.restart()
    assert 'undone: withdraw `env="x"` (deploy it)' in await scene.redo()
    assert log == ["deploy x", "withdraw x", "deploy x"]
    scene.journal.close()


async def test_an_undo_that_fails_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    log: list[str] = []
    scene = UndoScene(tmp_path, deploys(log, withdrawal), withdraws(log))
    await scene.turn(write("a", "1"), ("deploy", {"env": "locked"}))
    said = await scene.undo()
    assert 'could not undo deploy `env="locked"`: withdraw failed: it is locked' in said
    assert "- removed: a" in said
    scene.journal.close()


async def test_an_irreversible_call_shows_what_to_do_by_hand(tmp_path: Path) -> None:
    def undo(arguments: Any, result: ToolOutput) -> UndoCall:
        return UndoCall("it is public now", irreversible=True, guide="ask the registry to yank it")

    scene = UndoScene(tmp_path, deploys([], undo))
    await scene.turn(write("a", "1"), ("deploy", {"env": "x"}))
    assert (await scene.undo()).splitlines()[1:] == [
        '- not undoable: deploy `env="x"`: it is public now. By hand: ask the registry to yank it',
        "- removed: a",
    ]
    scene.journal.close()


async def test_a_record_that_cannot_be_made_fails_no_call(tmp_path: Path) -> None:
    def undo(arguments: Any, result: ToolOutput) -> UndoCall:
        raise ValueError("no record")

    scene = UndoScene(tmp_path, deploys([], undo))
    await scene.turn(("deploy", {"env": "x"}))
    finished = scene.screen.named("AgentToolFinished")
    assert [event["status"] for event in finished] == ["success"]
    assert 'not undoable: deploy `env="x"`' in await scene.undo(1)
    scene.journal.close()


async def test_what_the_model_thought_of_a_call_is_kept_with_it(tmp_path: Path) -> None:
    about = Metadata(
        permission_class="deployment", audit_operation="release", requires_reverse_thinking=True
    )
    tool = replace(
        deploys([], withdrawal), metadata=about, capability=Capability(min_confidence=50)
    )
    scene = UndoScene(tmp_path, tool)
    thoughts = {
        "hidden_assumptions": ["it builds"], "failure_scenarios": ["it does not"],
        "verdict": "proceed", "verdict_reason": "it was tested",
    }  # fmt: skip
    said = {"env": "x", "_confidence": 80, "_reverse_thinking": thoughts}
    await scene.turn(("deploy", said))
    scene.restart()
    (started,) = (one for one in scene.journal.records() if isinstance(one, r.CallStarted))
    assert started.arguments == {"env": "x"}
    assert (started.permission, started.operation) == ("deployment", "release")
    assert started.reserved == {"_confidence": 80, "_reverse_thinking": thoughts}
    shown = "\n".join(render_log([started]))
    assert 'started deploy (c1) [deployment release]: {"env": "x"}' in shown
    assert "confidence: 80" in shown
    assert 'reverse thinking: {"hidden_assumptions": ["it builds"]' in shown
    scene.journal.close()


async def test_a_tool_may_take_its_own_calls_back(tmp_path: Path) -> None:
    log: list[str] = []

    async def back(arguments: Any, context: ToolContext) -> str:
        log.append(f"back {arguments.env}")
        return "back"

    def itself(arguments: Any, result: ToolOutput) -> UndoCall:
        return UndoCall("deploy takes it back", "deploy", arguments.values)

    scene = UndoScene(tmp_path, replace(deploys(log, itself), undo=back))
    await scene.turn(("deploy", {"env": "x"}))
    assert "undone: deploy" in await scene.undo()
    assert log == ["deploy x", "back x"]
    assert 'not redoable: deploy `env="x"`' in await scene.redo()
    scene.journal.close()


async def test_folders_made_for_a_file_go_with_it_unless_something_is_in_them(
    scene: UndoScene,
) -> None:
    await scene.turn(("write", {"path": "new/deep/a.txt", "content": "a\n"}))
    await scene.turn(("write", {"path": "other/b.txt", "content": "b\n"}))
    (scene.root / "other" / "mine.txt").write_text("mine\n")
    await scene.undo(2)
    await scene.undo(1)
    assert sorted(path.name for path in scene.root.iterdir()) == ["other"]
    assert [path.name for path in (scene.root / "other").iterdir()] == ["mine.txt"]
    await scene.redo()
    assert (scene.root / "new/deep/a.txt").read_text() == "a\n"


async def test_a_folder_that_was_there_before_stays(scene: UndoScene) -> None:
    (scene.root / "mine").mkdir()
    await scene.turn(("write", {"path": "mine/a.txt", "content": "a\n"}))
    await scene.undo()
    assert list((scene.root / "mine").iterdir()) == []


async def test_a_deleted_file_comes_back_with_owner_mode_and_attributes(scene: UndoScene) -> None:
    path = scene.write("a.sh", "run\n", 0o750)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    os.setxattr(path, "user.note", b"kept")
    before = path.stat()
    await scene.turn(("delete", {"path": "a.sh"}))
    scene.restart()
    await scene.undo()
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (
        before.st_uid,
        before.st_gid,
        before.st_mode,
    )
    assert os.getxattr(path, "user.note") == b"kept"


@pytest.mark.parametrize("first", ["discard", "apply"])
async def test_two_previews_of_one_file_leave_nothing_after_their_undo(
    tmp_path: Path, first: Action
) -> None:
    path = tmp_path / "ws" / "a.txt"
    scene = UndoScene(tmp_path, staging(path, 5, 30))
    scene.write("a.txt", BEFORE, 0o640)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    before = path.stat()
    await scene.turn(("stage", {}))
    order: tuple[Action, ...] = (first, "apply")
    for number, action in enumerate(order, 1):
        scene.session.preview_actions.resolve(ResolveCommand(action))
        await scene.screen.until(
            lambda number=number: len(scene.screen.named("AgentPreviewResolved")) == number  # type: ignore[misc]
        )
    assert "LINE 5\n" in path.read_text()
    assert ("LINE 30\n" in path.read_text()) == (first == "apply")
    await scene.undo()
    after = path.stat()
    assert path.read_text() == BEFORE
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    scene.journal.close()
