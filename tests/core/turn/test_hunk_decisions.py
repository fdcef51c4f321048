"""What the user keeps of a change, and what the model is told: pure, and through a turn."""

from __future__ import annotations

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.diff.hunks import hunks
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.messages import Reply, Status, ToolResult
from agentchat.core.tools.tool import DryRunResult, ToolOutput
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.hunk_decisions import (
    HunkDecision,
    ProposedText,
    apply_decisions,
    change_hash,
    decision_note,
    hunk_line_range,
    rebase_change,
    rejection_reason,
    replace_proposed_texts,
)
from agentchat.core.turn.loop import turn
from agentchat.core.turn.preview_stack import Preview
from tests.core.turn.world import World, a_call, a_chat, a_tool, calls

BEFORE = b"".join(b"line %d\n" % n for n in range(1, 41))
AFTER = BEFORE.replace(b"line 5\n", b"LINE 5\n").replace(b"line 30\n", b"LINE 30\nmore\n")
FILE = FileChange("/ws/a.py", BEFORE, AFTER, "a.py")
PREVIEW = DryRunResult(ChangeSet((FILE,)))
NO_TO_SECOND = HunkDecision("/ws/a.py", 1, comment="not\nthis")
NO_TO_BOTH = (HunkDecision("/ws/a.py", 0), NO_TO_SECOND)
EDIT = a_tool("edit", dry_run=lambda arguments, context: None)
DONE = Reply("Done.")
CALL = calls(a_call("1", "edit", '{"path": "a.py"}'))


def change_of(preview: DryRunResult | None) -> ChangeSet:
    assert preview is not None
    assert preview.change is not None
    return preview.change


def play(world: World, chat: Chat | None = None) -> str:
    chat = chat or a_chat(EDIT)
    ending = world.play(turn(chat))
    assert not chat.history.unanswered()
    reason: str = ending.reason
    return reason


# --- the value ------------------------------------------------------------------------------


def test_what_is_kept_is_exactly_the_accepted_hunks() -> None:
    keep = apply_decisions(PREVIEW, [NO_TO_SECOND])
    assert change_of(keep).files[0].after == BEFORE.replace(b"line 5\n", b"LINE 5\n")
    assert keep is not None
    assert keep.headline == (
        "Applied 1 of 2 hunks in a.py. Rejected: hunk 2 (lines 30-30): not this"
    )


def test_a_part_of_a_hunk_that_the_user_split_is_decided_alone() -> None:
    after = AFTER.replace(b"line 8\n", b"LINE 8\n")
    preview = DryRunResult(ChangeSet((FileChange("/ws/a.py", BEFORE, after, "a.py"),)))
    no = HunkDecision("/ws/a.py", 0, comment="why?", part=1)
    keep = apply_decisions(preview, [no, HunkDecision("/ws/a.py", 1)])
    assert change_of(keep).files[0].after == BEFORE.replace(b"line 5\n", b"LINE 5\n")
    assert keep is not None
    assert keep.headline == (
        "Applied 1 of 3 hunks in a.py. Rejected: hunk 2 (lines 8-8): why?; hunk 3 (lines 30-30)"
    )
    assert rejection_reason("", preview, [no]) == "a.py hunk 2 (lines 8-8): why?"


def test_without_decisions_the_preview_is_taken_as_it_is() -> None:
    assert apply_decisions(PREVIEW, []) is PREVIEW
    assert apply_decisions(DryRunResult(), NO_TO_BOTH) == DryRunResult()


def test_nothing_kept_is_no_preview() -> None:
    assert apply_decisions(PREVIEW, NO_TO_BOTH) is None


def test_a_file_of_which_nothing_is_kept_is_left_out() -> None:
    both = ChangeSet((FILE, FileChange("/ws/new.py", None, b"new\n", "new.py")))
    keep = apply_decisions(
        DryRunResult(both), [HunkDecision("/ws/new.py", 0, comment="no new files")]
    )
    assert [file.path for file in change_of(keep).files] == ["/ws/a.py"]
    assert keep is not None
    assert keep.headline.split("\n") == [
        "Applied 0 of 1 hunks in new.py. Rejected: hunk 1 (lines 1-1): no new files",
        "Applied all hunks in 1 other file.",
    ]


def test_a_comment_on_a_kept_hunk_is_told() -> None:
    keep = apply_decisions(PREVIEW, [HunkDecision("/ws/a.py", 0, keep=True, comment="nice")])
    assert change_of(keep) == PREVIEW.change
    assert keep is not None
    assert keep.headline == "Applied 2 of 2 hunks in a.py. Comment on hunk 1 (lines 5-5): nice"


def test_what_the_user_made_of_the_text_is_told_as_a_diff() -> None:
    mine = replace_proposed_texts(
        change_of(PREVIEW), [ProposedText("/ws/a.py", AFTER.decode().replace("LINE 5", "five"))]
    )
    keep = apply_decisions(DryRunResult(mine), [NO_TO_SECOND], PREVIEW.change)
    assert change_of(keep).files[0].after == BEFORE.replace(b"line 5\n", b"five\n")
    assert keep is not None
    told = keep.headline.split("\n")
    assert told[0].startswith("Applied 1 of 2 hunks in a.py. Rejected: hunk 2")
    assert told[1] == "The user edited the proposed text of a.py:"
    assert "-LINE 5" in told
    assert "+five" in told
    assert "more" not in keep.headline


def test_the_lines_of_a_hunk_are_those_of_the_text_before() -> None:
    def only(before: bytes, after: bytes) -> tuple[int, int]:
        (hunk,) = hunks(FileChange("/ws/x", before, after))
        return hunk_line_range(hunk)

    assert only(b"a\nb\nc\n", b"a\nc\n") == (2, 2)
    assert only(b"a\nb\n", b"a\nnew\nb\n") == (1, 2)
    assert only(b"a\n", b"a\nnew\n") == (1, 1)
    assert only(b"a\n", b"new\na\n") == (1, 1)
    assert only(b"", b"x\ny\n") == (1, 2)


def test_reasons_of_single_hunks_join_the_reason_of_a_no() -> None:
    said = "a.py hunk 2 (lines 30-30): not this"
    assert rejection_reason("", PREVIEW, [NO_TO_SECOND]) == said
    assert rejection_reason("no", PREVIEW, [NO_TO_SECOND]) == f"no; {said}"
    assert rejection_reason("no", None, [NO_TO_SECOND]) == "no"
    assert decision_note(PREVIEW, [NO_TO_SECOND]).startswith("Kept 1 of 2 hunks in a.py.")


def test_a_change_is_put_on_top_of_changes_elsewhere_only() -> None:
    change = change_of(PREVIEW)
    moved = rebase_change(change, {"/ws/a.py": b"first\n" + BEFORE})
    assert isinstance(moved, ChangeSet)
    assert moved.files[0].after == b"first\n" + AFTER
    assert change_hash(moved) != change_hash(change)
    assert rebase_change(change, {"/ws/a.py": BEFORE}) is change
    for now in (BEFORE.replace(b"line 5", b"mine"), None):
        with pytest.raises(StalePreview, match=r"^a\.py changed"):
            rebase_change(change, {"/ws/a.py": now})


# --- a call ---------------------------------------------------------------------------------


def test_the_tool_runs_with_what_is_kept() -> None:
    world = World(
        [CALL, DONE],
        [ApprovalResponse("accept", hunk_decisions=(NO_TO_SECOND,))],
        previews={"1": PREVIEW},
    )
    assert play(world) == "stop"
    assert world.applied == [apply_decisions(PREVIEW, [NO_TO_SECOND])]


def test_nothing_kept_is_a_no_with_the_comments_as_reason() -> None:
    world = World(
        [CALL, DONE],
        [ApprovalResponse("accept", hunk_decisions=NO_TO_BOTH)],
        previews={"1": PREVIEW},
    )
    play(world)
    assert world.ran == []
    assert world.results()["1"] == (
        "User rejected the edit call. Reason: a.py hunk 2 (lines 30-30): not this"
    )


def test_comments_are_not_lost_in_a_no() -> None:
    answer = ApprovalResponse("reject", "later", hunk_decisions=(NO_TO_SECOND,))
    world = World([CALL, DONE], [answer], previews={"1": PREVIEW})
    play(world)
    assert world.results()["1"].endswith("Reason: later; a.py hunk 2 (lines 30-30): not this")


def test_text_the_user_wrote_is_shown_and_asked_about_before_it_is_applied() -> None:
    mine = AFTER.decode().replace("LINE 5", "five")
    edit = ApprovalResponse("edit", replacements=(ProposedText("/ws/a.py", mine),))
    world = World([CALL, DONE], [edit, "accept"], previews={"1": PREVIEW})
    play(world)
    first, second = world.questions
    assert change_of(first.preview).files[0].after == AFTER
    assert change_of(second.preview).files[0].after == mine.encode()
    assert (second.number, second.total) == (1, 1)
    (applied,) = world.applied
    assert change_of(applied).files[0].after == mine.encode()
    assert applied is not None
    assert "The user edited the proposed text of a.py:" in applied.headline


def test_a_text_taken_back_by_the_user_is_a_no() -> None:
    edit = ApprovalResponse("edit", replacements=(ProposedText("/ws/a.py", BEFORE.decode()),))
    world = World([CALL, DONE], [edit, "accept"], previews={"1": PREVIEW})
    play(world)
    assert world.ran == []
    assert world.results()["1"] == "User rejected the edit call."


def test_what_the_user_wrote_outlives_a_change_elsewhere() -> None:
    mine = AFTER.decode().replace("LINE 5", "five")
    edit = ApprovalResponse("edit", replacements=(ProposedText("/ws/a.py", mine),))
    world = World(
        [CALL, DONE],
        [edit, "accept", "accept"],
        previews={"1": PREVIEW},
        outcomes={"1": [StalePreview("a.py")]},
    )

    def move(call: object) -> None:
        file = FileChange("/ws/a.py", b"first\n" + BEFORE, b"first\n" + AFTER, "a.py")
        world.previews["1"] = DryRunResult(ChangeSet((file,)))

    world.on_run = move
    play(world)
    last = world.questions[-1]
    assert "changed since it was shown" in last.problem
    assert change_of(last.preview).files[0].after == b"first\n" + mine.encode()
    assert last.original_change is not None
    assert last.original_change.files[0].after == b"first\n" + AFTER


# --- a preview ------------------------------------------------------------------------------


async def _make(preview: DryRunResult) -> ToolOutput:
    return ToolOutput("made")


async def _apply(reason: str, extra: object) -> ToolOutput:
    return ToolOutput("applied")


def staged(preview: DryRunResult = PREVIEW) -> Preview:
    return Preview("Stage: x", "stage", _apply, preview=preview, id="p", make=_make)


def resolve(id: str = "1") -> Reply:
    return calls(a_call(id, "resolve", '{"action": "apply", "reason": "ok"}'))


def a_chat_with(pending: Preview) -> Chat:
    chat = a_chat(EDIT)
    chat.previews.push(pending)
    return chat


def test_a_preview_is_applied_with_what_is_kept() -> None:
    world = World([resolve(), DONE], [ApprovalResponse("accept", hunk_decisions=(NO_TO_SECOND,))])
    play(world, a_chat_with(staged()))
    assert world.applied == [apply_decisions(PREVIEW, [NO_TO_SECOND])]


def test_a_preview_of_which_nothing_is_kept_is_discarded_with_the_comments() -> None:
    world = World([resolve(), DONE], [ApprovalResponse("accept", hunk_decisions=NO_TO_BOTH)])
    play(world, a_chat_with(staged()))
    why = "a.py hunk 2 (lines 30-30): not this"
    assert world.resolved == [("Stage: x", "discard", why)]
    assert world.results()["1"].startswith(f"User rejected the resolve call. Reason: {why}\n")


def test_a_preview_is_asked_about_on_top_of_what_the_file_is_now() -> None:
    file = FileChange("/ws/a.py", b"first\n" + BEFORE, b"first\n" + AFTER, "a.py")
    fresh = staged(DryRunResult(ChangeSet((file,))))
    world = World([resolve(), DONE], ["accept"], refreshed=[fresh])
    play(world, a_chat_with(staged()))
    assert [question.preview for question in world.questions] == [fresh.preview]
    assert world.applied == [fresh.preview]


def test_a_preview_whose_file_moves_while_it_is_asked_about_is_asked_about_again() -> None:
    file = FileChange("/ws/a.py", b"first\n" + BEFORE, b"first\n" + AFTER, "a.py")
    fresh = staged(DryRunResult(ChangeSet((file,))))
    world = World(
        [resolve(), DONE],
        ["accept", "accept"],
        moves=[StalePreview("a.py")],
        refreshed=[staged(), fresh],
    )
    play(world, a_chat_with(staged()))
    assert [question.problem[:17] for question in world.questions] == ["", "a.py changed sinc"]
    assert world.applied[-1] == fresh.preview
    assert world.resolved == [("Stage: x", "apply", "ok")]


def test_a_preview_that_fits_no_more_is_an_error_without_a_question() -> None:
    text = "a.py changed since the preview. Nothing was changed."
    world = World([resolve(), DONE], refreshed=[ToolError(text)])
    play(world, a_chat_with(staged()))
    assert world.questions == []
    assert world.results()["1"] == text
    (result,) = [said for said in world.said if isinstance(said, ToolResult)]
    assert result.status is Status.ERROR


def test_arguments_of_a_resolve_call_can_be_changed_too() -> None:
    discard = ApprovalResponse("edit", arguments='{"action": "discard", "reason": "no"}')
    world = World([resolve(), DONE], [discard])
    play(world, a_chat_with(staged()))
    assert world.resolved == [("Stage: x", "discard", "no")]
    assert world.results()["1"].startswith("The user changed the arguments before running: {")
