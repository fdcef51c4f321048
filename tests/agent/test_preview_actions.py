"""What the user does with previews outside a call, on real files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentchat.agent.preview_actions import NOT_SHOWN, ResolveCommand, ShownPreview
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.messages import Reply
from agentchat.core.tools.tool import (
    DryRunResult,
    Hooks,
    StagedPreview,
    Tool,
    ToolContext,
    ToolOutput,
    UndoCall,
)
from agentchat.core.turn.hunk_decisions import HunkDecision, ProposedText, change_hash
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.workspace import FileTarget
from agentchat.journal.records import DecisionMade, UndoOffered
from tests.agent.scene import Scene
from tests.core.turn.world import Given, a_call, a_tool, calls

BEFORE = "".join(f"line {n}\n" for n in range(1, 41))
CALL = Reply(calls=(a_call("1", "stage"),), finish="tool_calls")
DONE = Reply("Shall I?")


def staging(path: Path, *numbers: int) -> Tool:
    """A tool that stages a preview for each of the lines ``numbers`` of a file."""

    async def run(arguments: Given, context: ToolContext) -> ToolOutput:
        for number in numbers:
            after = BEFORE.replace(f"line {number}\n", f"LINE {number}\n")
            file = FileChange(str(path), BEFORE.encode(), after.encode(), path.name)

            async def make(preview: DryRunResult) -> ToolOutput:
                assert preview.change is not None
                await context.workspace.apply(preview.change)
                return ToolOutput(preview.headline or "made")

            async def apply(reason: str, extra: object) -> ToolOutput:
                raise AssertionError("the change is made, not the callback called")

            preview = DryRunResult(ChangeSet((file,)))
            context.stage(Preview(f"Stage: {number}", "stage", apply, preview=preview, make=make))
        return ToolOutput("staged")

    return replace(a_tool("stage", asks=False), steps=(run,))


def staging_both(path: Path) -> Tool:
    """A tool that stages one preview of the lines 5 and 30."""

    async def run(arguments: Given, context: ToolContext) -> ToolOutput:
        after = BEFORE.replace("line 5\n", "LINE 5\n").replace("line 30\n", "LINE 30\n")
        file = FileChange(str(path), BEFORE.encode(), after.encode(), path.name)

        async def make(preview: DryRunResult) -> ToolOutput:
            return ToolOutput(preview.headline)

        async def apply(reason: str, extra: object) -> ToolOutput:
            raise AssertionError("the change is made, not the callback called")

        preview = DryRunResult(ChangeSet((file,)))
        staged = StagedPreview("Stage: 2 lines", "stage", apply, preview=preview, make=make)
        context.stage(staged)
        return ToolOutput("staged")

    return replace(a_tool("stage", asks=False), steps=(run,))


async def staged(tmp_path: Path, *numbers: int) -> tuple[Scene, Path]:
    path = tmp_path / "a.txt"
    path.write_text(BEFORE)
    scene = Scene(tmp_path, [CALL, DONE], staging(path, *numbers))
    await scene.play()
    return scene, path


async def resolved(scene: Scene, times: int = 1) -> None:
    """Wait until so many previews are resolved."""
    await scene.screen.until(lambda: len(scene.screen.named("AgentPreviewResolved")) >= times)


def after(scene: Scene) -> str:
    """The text that the newest preview proposes."""
    change = scene.screen.staged[0].preview.change
    assert change is not None
    return (change.files[0].after or b"").decode()


async def test_the_older_preview_is_on_top_of_the_newer_before_that_is_told(tmp_path: Path) -> None:
    scene, path = await staged(tmp_path, 5, 30)
    scene.resolve("apply")
    await resolved(scene)
    assert "LINE 5\n" in after(scene)
    assert "LINE 30\n" in after(scene)
    scene.resolve("apply")
    await resolved(scene, 2)
    assert path.read_text() == BEFORE.replace("line 5\n", "LINE 5\n").replace("line 30", "LINE 30")


async def test_of_two_previews_on_adjacent_lines_both_can_be_applied(tmp_path: Path) -> None:
    scene, path = await staged(tmp_path, 5, 6)
    scene.resolve("apply")
    await resolved(scene)
    scene.resolve("apply")
    await resolved(scene, 2)
    assert path.read_text() == BEFORE.replace("line 5\nline 6\n", "LINE 5\nLINE 6\n")


async def test_a_file_that_changed_elsewhere_is_shown_anew_under_the_same_id(
    tmp_path: Path,
) -> None:
    scene, path = await staged(tmp_path, 5)
    first = scene.screen.staged[0].id
    path.write_text("mine\n" + BEFORE)
    scene.resolve("apply")
    await scene.screen.until(lambda: after(scene).startswith("mine\n"))
    assert [one.id for one in scene.screen.staged] == [first]
    assert path.read_text() == "mine\n" + BEFORE
    scene.resolve("apply")
    await resolved(scene)
    assert path.read_text() == "mine\n" + BEFORE.replace("line 5\n", "LINE 5\n")


async def test_a_place_that_changed_itself_is_left_alone_and_stays_pending(tmp_path: Path) -> None:
    scene, path = await staged(tmp_path, 5)
    path.write_text(BEFORE.replace("line 5\n", "my line\n"))
    scene.resolve("apply")
    await resolved(scene)
    assert scene.screen.named("AgentPreviewResolved")[0]["status"] == "error"
    assert "a.txt changed since the preview. Nothing was changed." in scene.screen.notes[-1][1]
    assert len(scene.chat.previews) == 1
    assert "my line" in path.read_text()


async def test_what_was_not_seen_is_not_applied(tmp_path: Path) -> None:
    scene, path = await staged(tmp_path, 5)
    pending = scene.screen.staged[0]
    assert pending.preview.change is not None
    scene.session.preview_actions.resolve(
        ResolveCommand("apply", seen=ShownPreview(pending.id, "another"))
    )
    scene.session.preview_actions.resolve(ResolveCommand("apply", seen=ShownPreview("another", "")))
    assert [text for _, text in scene.screen.notes[-2:]] == [NOT_SHOWN, NOT_SHOWN]
    assert path.read_text() == BEFORE
    seen = ShownPreview(pending.id, change_hash(pending.preview.change))
    scene.session.preview_actions.resolve(ResolveCommand("apply", seen=seen))
    await resolved(scene)
    assert path.read_text() != BEFORE


async def test_text_of_the_user_is_shown_and_applied_and_told(tmp_path: Path) -> None:
    scene, path = await staged(tmp_path, 5)
    pending = scene.screen.staged[0]
    scene.session.preview_actions.show_proposal(pending.id, str(path))
    ((subject, file),) = scene.screen.proposals
    assert subject == pending.id
    mine = (file.after or b"").decode().replace("LINE 5", "my line")
    scene.session.preview_actions.replace_proposal(pending.id, ProposedText(str(path), mine))
    assert "my line" in after(scene)
    scene.resolve("apply")
    await resolved(scene)
    assert path.read_text() == mine
    scene.model.replies.append(DONE)
    await scene.play("go on")
    said = str(scene.model.requests[-1].history.messages[-2:])
    assert "The user edited the proposed text of a.txt:" in said


async def test_what_is_kept_of_a_preview_is_what_the_chat_says(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BEFORE)
    scene = Scene(tmp_path, [CALL, DONE], staging_both(path))
    await scene.play()
    no = HunkDecision(str(path), 1)
    scene.session.preview_actions.resolve(ResolveCommand("apply", hunks=(no,)))
    await resolved(scene)
    await scene.screen.until(lambda: bool(scene.screen.notes))
    assert scene.screen.notes[-1][1] == "Accept: 1 of 2 hunks in 1 file [Stage]"


async def test_a_command_of_the_user_is_a_decision_in_the_journal_once(tmp_path: Path) -> None:
    scene, _ = await staged(tmp_path, 5, 30)
    scene.resolve("apply", "fine")
    await resolved(scene)
    scene.resolve("discard")
    await resolved(scene, 2)
    decided = [one for one in scene.journal.records() if isinstance(one, DecisionMade)]
    assert [
        (one.tool, one.scope, one.verdict, one.why) for one in decided if one.who == "user"
    ] == [
        ("stage", "Stage: 30", "apply", "fine"),
        ("stage", "Stage: 5", "discard", ""),
    ]


async def test_nothing_kept_is_discarded_with_the_comments_as_reason(tmp_path: Path) -> None:
    scene, path = await staged(tmp_path, 5)
    no = HunkDecision(str(path), 0, comment="leave it")
    scene.session.preview_actions.resolve(ResolveCommand("apply", hunks=(no,)))
    await resolved(scene)
    assert path.read_text() == BEFORE
    assert len(scene.chat.previews) == 0
    (event,) = scene.screen.named("AgentPreviewResolved")
    assert event["action"] == "discard"
    await scene.screen.until(lambda: bool(scene.screen.notes))
    assert "leave it" in scene.screen.notes[-1][1]


async def test_a_mode_that_applies_previews_answers_whether_to_apply_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BEFORE)
    wanted = calls(a_call("2", "resolve", '{"action": "apply", "reason": "ok"}'))
    scene = Scene(tmp_path, [CALL, wanted, DONE], staging(path, 5))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    scene.session.set_mode("edit")
    await scene.finished()
    assert "LINE 5\n" in path.read_text()
    assert "answered accept" not in scene.journal_lines()


async def test_no_remembered_answer_covers_a_preview_of_hidden_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BEFORE)
    call = Reply(calls=(a_call("1", "stage", '{"text": "\\u202e"}'),), finish="tool_calls")
    scene = Scene(tmp_path, [call, DONE], staging(path, 5))
    await scene.play()
    assert scene.screen.staged[0].scope is None


async def test_an_older_preview_that_cannot_be_rebased_does_not_undo_the_newer_one(
    tmp_path: Path,
) -> None:
    scene, path = await staged(tmp_path, 5, 30)
    older = scene.screen.staged[1]
    workspace = scene.workspace
    read = workspace.read

    async def failing(path: str, limit: int | None = None, start: int = 0) -> bytes:
        if "LINE 30" in Path(path).read_text():
            raise ToolError("The connection is lost.")
        return await read(path, limit, start)

    workspace.read = failing  # type: ignore[method-assign]
    scene.resolve("apply")
    await resolved(scene)
    assert scene.screen.named("AgentPreviewResolved")[0]["status"] == "success"
    assert path.read_text() == BEFORE.replace("line 30\n", "LINE 30\n")
    assert [one.id for one in scene.screen.staged] == [older.id]
    assert not [text for level, text in scene.screen.notes if level == "error"]


async def test_a_preview_that_cannot_be_staged_loses_no_undo_of_its_call(tmp_path: Path) -> None:
    lost = DryRunResult(ChangeSet((FileChange("/w/loop/a", b"", b"x"),)))

    async def apply(reason: str, extra: object) -> None:
        raise AssertionError

    async def run(arguments: Given, context: ToolContext) -> ToolOutput:
        context.stage(StagedPreview("Stage: it", "t", apply, preview=lost))
        return ToolOutput("sent 3 mails")

    async def no_path(path: str) -> FileTarget:
        raise ToolError("Too many symlinks: /w/loop/a")

    hooks = Hooks(undo=lambda arguments, result: UndoCall("calls them back", tool="t"))
    tool = replace(a_tool("t", asks=False), steps=(run,), hooks=hooks)
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool)
    scene.workspace.locate = no_path  # type: ignore[method-assign]
    await scene.play()
    assert scene.results()["1"] == (
        "sent 3 mails\nThe call ran, but its preview could not be staged: "
        "Too many symlinks: /w/loop/a"
    )
    assert [
        record.description for record in scene.journal.records() if isinstance(record, UndoOffered)
    ]
