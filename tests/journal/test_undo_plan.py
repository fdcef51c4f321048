"""The timeline of a chat, and what an undo or a redo would take back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import Note, UserText
from agentchat.journal import records as r
from agentchat.journal.timeline import CallRun, Timeline, read_timeline
from agentchat.journal.undo_plan import (
    FileRestore,
    FileUndo,
    find_later_turn,
    plan_redo,
    plan_restore,
    plan_undo,
    read_contents,
    undoable_turns,
    unreported_undos,
)


def change(
    source: str, path: str, before: str | None, after: str | None, *takes: int
) -> list[r.Record]:
    """A change that was made."""
    return [
        r.ChangeStarted(source, (r.RecordedFile(path, before, after),), takes),
        r.ChangeApplied(source),
    ]


def turn(number: int, *parts: Iterable[r.Record]) -> list[r.Record]:
    inner = [record for part in parts for record in part]
    return [r.TurnStarted(number), *inner, r.TurnFinished(number, "stop")]


def named(call: CallRun) -> bool:
    return call.tool == "bash"


def undone(timeline: Timeline, number: int | None = None) -> dict[str, list[int]]:
    """The numbers of the changes that an undo takes back, newest first, by path."""
    plan = plan_undo(timeline, number, named)
    return {file.path: [step.number for step in file.steps] for file in plan.files}


TWO = [
    *turn(1, change("a", "/x", "0", "1")),
    *turn(2, change("b", "/x", "1", "2"), change("c", "/new", None, "9")),
]


def test_the_newest_turn_that_changed_files_is_undone_first() -> None:
    timeline = read_timeline([*TWO, *turn(3)])
    assert timeline.turn == 3
    assert undoable_turns(timeline) == (2, 1)
    assert undone(timeline) == {"/new": [2], "/x": [1]}
    assert undone(timeline, 1) == {"/x": [0]}


def test_objects_of_git_stay_since_a_later_commit_may_refer_to_them() -> None:
    made = ("objects/ab/cdef", "modules/lib/objects/pack/p.pack", "refs/heads/topic")
    parts = [change(name, f"/ws/.git/{name}", None, "1") for name in made]
    gone = change("gc", "/ws/.git/objects/01/2345", "2", None)
    timeline = read_timeline(turn(1, *parts, gone))
    assert undone(timeline) == {"/ws/.git/objects/01/2345": [3], "/ws/.git/refs/heads/topic": [2]}


def test_several_changes_to_one_file_compose() -> None:
    timeline = read_timeline(turn(1, change("a", "/x", "0", "1"), change("b", "/x", "1", "2")))
    steps = plan_undo(timeline, None, named).files[0].steps
    assert plan_restore(steps, "2") == FileRestore((1, 0), "0")


def test_a_file_that_changed_since_is_not_taken_back() -> None:
    timeline = read_timeline(turn(1, change("a", "/x", "0", "1")))
    steps = plan_undo(timeline, None, named).files[0].steps
    assert plan_restore(steps, "the user's") is None


def test_an_edit_of_the_user_in_between_keeps_the_older_change() -> None:
    timeline = read_timeline(turn(1, change("a", "/x", "0", "1"), change("b", "/x", "user", "2")))
    steps = plan_undo(timeline, None, named).files[0].steps
    assert plan_restore(steps, "2") == FileRestore((1,), "user", None, 1)


def test_what_the_user_took_back_by_hand_counts_as_taken_back() -> None:
    timeline = read_timeline(turn(1, change("a", "/x", "0", "1"), change("b", "/x", "1", "2")))
    steps = plan_undo(timeline, None, named).files[0].steps
    assert plan_restore(steps, "1") == FileRestore((1, 0), "0")
    assert plan_restore(steps, "0") == FileRestore((1, 0), "0")


def test_a_deleted_file_comes_back_with_its_mode() -> None:
    deleting = r.ChangeStarted("b", (r.RecordedFile("/x", "1", None, 0o755),))
    timeline = read_timeline(turn(1, change("a", "/x", "0", "1"), [deleting, r.ChangeApplied("b")]))
    steps = plan_undo(timeline, None, named).files[0].steps
    assert plan_restore(steps, None) == FileRestore((1, 0), "0", 0o755)


def test_a_file_created_and_deleted_in_one_turn_needs_nothing() -> None:
    timeline = read_timeline(turn(1, change("a", "/x", None, "1"), change("b", "/x", "1", None)))
    steps = plan_undo(timeline, None, named).files[0].steps
    assert plan_restore(steps, None) == FileRestore((1, 0), None)


def test_what_a_formatter_made_of_it_is_what_must_be_there() -> None:
    formatted = (r.RecordedFile("/x", "0", "1 formatted"),)
    timeline = read_timeline(
        turn(
            1,
            [
                r.ChangeStarted("a", (r.RecordedFile("/x", "0", "1"),)),
                r.ChangeApplied("a", formatted),
            ],
        )
    )
    steps = plan_undo(timeline, None, named).files[0].steps
    assert plan_restore(steps, "1 formatted") == FileRestore((0,), "0")
    assert plan_restore(steps, "1") is None


def test_a_preview_applied_after_the_turn_belongs_to_it() -> None:
    timeline = read_timeline([*turn(1), *change("staged", "/x", "0", "1")])
    assert undone(timeline) == {"/x": [0]}


# --- undone, redone ---------------------------------------------------------------------------

UNDO_2 = [
    r.UndoStarted("u", 2),
    *change("u", "/new", "9", None, 2),
    *change("u", "/x", "2", "1", 1),
]


def test_what_is_undone_is_not_undone_twice() -> None:
    timeline = read_timeline([*TWO, *UNDO_2])
    assert undoable_turns(timeline) == (1,)
    assert undone(timeline) == {"/x": [0]}
    with pytest.raises(UserError, match="Turn 2 is already undone"):
        plan_undo(timeline, 2, named)


def test_redo_takes_the_last_undo_back_and_then_it_can_be_undone_again() -> None:
    plan = plan_redo(read_timeline([*TWO, *UNDO_2]))
    assert (plan.turn, plan.undone) == (2, "u")
    assert [file.path for file in plan.files] == ["/x", "/new"]
    assert plan_restore(plan.files[1].steps, None) == FileRestore((3,), "9")
    redo = [
        r.RedoStarted("v", "u"),
        *change("v", "/x", "1", "2", 4),
        *change("v", "/new", None, "9", 3),
    ]
    timeline = read_timeline([*TWO, *UNDO_2, *redo])
    assert undone(timeline) == {"/new": [2], "/x": [1]}
    with pytest.raises(UserError, match="Nothing to redo"):
        plan_redo(timeline)


def test_two_undos_are_redone_newest_first() -> None:
    both = [*TWO, *UNDO_2, r.UndoStarted("w", 1), *change("w", "/x", "1", "0", 0)]
    assert plan_redo(read_timeline(both)).turn == 1
    again = [*both, r.RedoStarted("v", "w"), *change("v", "/x", "0", "1", 5)]
    assert plan_redo(read_timeline(again)).turn == 2


def test_an_undo_that_took_a_part_back_is_not_tried_again_without_its_number() -> None:
    part = [r.UndoStarted("u", 2), *change("u", "/new", "9", None, 2)]
    timeline = read_timeline([*TWO, *part])
    assert undoable_turns(timeline) == (1,)
    assert undone(timeline, 2) == {"/x": [1]}


def test_an_undo_that_took_nothing_back_is_tried_again() -> None:
    assert undoable_turns(read_timeline([*TWO, r.UndoStarted("u", 2)])) == (2, 1)


def test_a_turn_that_changes_more_after_its_undo_can_be_undone_again() -> None:
    timeline = read_timeline([*TWO, *UNDO_2, *change("staged", "/y", "0", "1")])
    assert undoable_turns(timeline) == (2, 1)
    assert undone(timeline) == {"/y": [5]}


def test_a_later_turn_that_changed_the_file_is_known() -> None:
    timeline = read_timeline([*TWO])
    plan = plan_undo(timeline, 1, named).files[0]
    assert find_later_turn(timeline, plan, "2") == 2
    assert find_later_turn(timeline, plan, "the user's") is None


# --- a process that died ----------------------------------------------------------------------


@pytest.mark.parametrize(("now", "expected"), [("1", {"/x": [0]}), ("0", None), ("other", None)])
def test_a_change_cut_off_by_a_crash_counts_if_its_bytes_are_there(
    now: str, expected: dict[str, list[int]] | None
) -> None:
    timeline = read_timeline(
        [r.TurnStarted(1), r.ChangeStarted("a", (r.RecordedFile("/x", "0", "1"),))]
    )
    assert timeline.uncertain_paths() == {"/x"}
    settled = timeline.resolve_uncertain({"/x": now})
    assert undoable_turns(settled) == ((1,) if expected else ())
    if expected:
        assert undone(settled) == expected


def test_a_change_cut_off_that_a_later_one_followed_was_made() -> None:
    records: list[r.Record] = [r.ChangeStarted("a", (r.RecordedFile("/x", "0", "1"),))]
    timeline = read_timeline(turn(1, records, change("b", "/x", "1", "2"))).resolve_uncertain(
        {"/x": "2"}
    )
    assert undone(timeline) == {"/x": [1, 0]}


def test_an_undo_cut_off_by_a_crash_is_undone_where_its_bytes_are_there() -> None:
    records = [*UNDO_2[:3], UNDO_2[3]]
    timeline = read_timeline([*TWO, *records])
    assert undone(timeline.resolve_uncertain({"/x": "2"}), 2) == {"/x": [1]}
    with pytest.raises(UserError, match="already undone"):
        plan_undo(timeline.resolve_uncertain({"/x": "1"}), 2, named)


# --- calls ------------------------------------------------------------------------------------


def ran(call_id: str, tool: str, status: str = "success") -> list[r.Record]:
    return [r.CallStarted(call_id, tool, {"command": "x"}), r.CallFinished(call_id, status)]


NOTED = r.UndoOffered("d", "restore", "restore", {"id": 1})


def test_a_call_that_told_how_to_undo_it_is_taken_back_in_order() -> None:
    deploy = [*ran("d", "deploy"), NOTED]
    timeline = read_timeline(
        turn(1, change("a", "/x", "0", "1"), deploy, ran("b", "bash"), ran("e", "read"))
    )
    items = plan_undo(timeline, None, named).items
    names = [item.path if isinstance(item, FileUndo) else item.call_id for item in items]
    assert names == ["b", "d", "/x"]
    assert [call.call_id for call in plan_undo(timeline, None, named).calls] == ["d"]


@pytest.mark.parametrize(("status", "left"), [("success", ()), ("error", (1,))])
def test_a_call_is_undone_once_its_undo_succeeded(status: str, left: tuple[int, ...]) -> None:
    undo = [r.UndoStarted("u", 1, {"u.1": "d"}), *ran("u.1", "restore", status)]
    timeline = read_timeline([*turn(1, ran("d", "deploy"), [NOTED]), *undo])
    assert undoable_turns(timeline) == left
    assert [call.reverts for call in timeline.calls] == ["", "d"]


def test_a_turn_of_irreversible_calls_is_named_by_number_only() -> None:
    timeline = read_timeline([*TWO, *turn(3, ran("b", "bash"))])
    assert undoable_turns(timeline) == (2, 1)
    assert [item.index for item in plan_undo(timeline, 3, named).items] == [11]
    with pytest.raises(UserError, match="Nothing to undo in turn 3"):
        plan_undo(timeline, 3, lambda call: False)


@pytest.mark.parametrize(
    ("number", "message"),
    [(0, "no turn 0"), (9, "no turn 9: this chat has turns 1 to 2"), (None, "")],
)
def test_a_turn_that_is_not_there_is_said_in_one_line(number: int | None, message: str) -> None:
    if number is None:
        with pytest.raises(UserError, match="Nothing to undo"):
            plan_undo(read_timeline([]), None, named)
        return
    with pytest.raises(UserError, match=message):
        plan_undo(read_timeline(TWO), number, named)


# --- what is kept -----------------------------------------------------------------------------


ZERO = hashlib.sha256(b"zero").hexdigest()


def test_bytes_are_found_by_their_hash_and_secrets_are_not_there() -> None:
    kept = [
        r.ContentStored(ZERO, b"zero"),
        r.ContentStored("1", b"", withheld=True),
        r.ContentStored("2", b"changed since"),
    ]
    assert read_contents(kept, {ZERO, "1", "2", "7"}) == {ZERO: b"zero", "1": None}


def test_what_the_model_was_not_told_before_the_process_ended_is_known() -> None:
    timeline = [*TWO, *UNDO_2]
    assert unreported_undos(read_timeline(timeline)) == (
        "The user ran :AgentUndo on turn 2. Files it changed: /new, /x.",
    )
    assert unreported_undos(read_timeline([*timeline, r.MessageRecorded(UserText("go on"))])) != ()
    assert (
        unreported_undos(
            read_timeline([*timeline, r.MessageRecorded(Note("The user ran :AgentUndo."))])
        )
        == ()
    )
