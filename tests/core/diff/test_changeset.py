"""A change of files as a value: what is shown, decided and applied is the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentchat.core.diff.aspects import FOLDER, LINK, MODE, aspect_path
from agentchat.core.diff.changeset import (
    ChangeSet,
    FileChange,
    combine,
    count_lines,
    line_edits,
    rebase,
)
from agentchat.core.diff.hunks import Hunk, hunks, keep_hunks, split_hunks
from agentchat.core.diff.text_file import split_lines

SIXTY = [f"line {number}\n" for number in range(1, 61)]
PIECES = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"c\n", b"\n", b"\xff\n", b"d"]), max_size=30)


def change(before: bytes | None, after: bytes | None) -> FileChange:
    return FileChange("/w/f.txt", before, after)


def joined(lines: list[str]) -> bytes:
    return "".join(lines).encode()


def edited(**lines: str) -> list[str]:
    """Return the sixty lines, some of them replaced: ``_3="new\\n"``."""
    new = list(SIXTY)
    for name, text in lines.items():
        new[int(name[1:]) - 1] = text
    return new


FAR_APART = change(joined(SIXTY), joined(edited(_5="FIVE\n", _30="THIRTY\nand\n", _55="")))


def test_edits_far_apart_are_hunks_with_their_line_numbers() -> None:
    first, second, third = hunks(FAR_APART)
    assert [hunk.index for hunk in (first, second, third)] == [0, 1, 2]
    assert first.header == "@@ -2,7 +2,7 @@"
    assert second.header == "@@ -27,7 +27,8 @@"
    assert third.header == "@@ -52,7 +53,6 @@"


def test_a_hunk_shows_the_change_between_three_lines_of_context() -> None:
    lines = hunks(FAR_APART)[1].lines
    assert [(line.kind, line.text) for line in lines] == [
        (" ", "line 27"),
        (" ", "line 28"),
        (" ", "line 29"),
        ("-", "line 30"),
        ("+", "THIRTY"),
        ("+", "and"),
        (" ", "line 31"),
        (" ", "line 32"),
        (" ", "line 33"),
    ]
    assert [(line.old, line.new) for line in lines[2:6]] == [
        (29, 29),
        (30, None),
        (None, 30),
        (None, 31),
    ]


def test_edits_close_to_each_other_are_one_hunk() -> None:
    close = change(joined(SIXTY), joined(edited(_5="5\n", _12="12\n", _20="20\n")))
    assert [len(hunk.lines) for hunk in hunks(close)] == [16, 8]


def test_a_hunk_that_is_split_shares_its_context() -> None:
    close = change(joined(SIXTY), joined(edited(_5="5\n", _9="9\n", _30="30\n")))
    apart = hunks(split_hunks(close, {0}))
    assert [hunk.header for hunk in apart] == [
        "@@ -2,5 +2,5 @@",
        "@@ -7,6 +7,6 @@",
        hunks(close)[1].header,
    ]
    shown = [line.old for hunk in apart[:2] for line in hunk.lines if line.kind != "+"]
    assert shown == list(range(2, 13))
    assert split_hunks(close, {0}) == close


def test_a_split_hunk_is_kept_without_its_neighbour() -> None:
    close = change(joined(SIXTY), joined(edited(_5="5\n", _7="7\n")))
    assert keep_hunks(split_hunks(close, {0}), {1}).after == joined(edited(_7="7\n"))


def test_lines_that_split_a_change_from_the_start_make_hunks() -> None:
    close = FileChange("/w/f", joined(SIXTY), joined(edited(_5="5\n", _8="8\n")), splits=(4, 7))
    assert len(hunks(close)) == 2


def rebuilt(old: list[str], parts: Sequence[Hunk], kept: set[int]) -> bytes:
    """Return the text in which the lines of the kept hunks stand for those of the others."""
    text: list[str] = []
    end = 0
    for part in parts:
        start = part.old_start - 1 if part.old_count else part.old_start
        wanted = " +" if part.index in kept else " -"
        text += old[end:start]
        text += [line.text + line.end for line in part.lines if line.kind in wanted]
        end = start + part.old_count
    return "".join([*text, *old[end:]]).encode("utf-8", "surrogateescape")


@given(PIECES, PIECES, st.sets(st.integers(0, 12)))
def test_each_part_of_split_hunks_is_kept_on_its_own(
    a: list[bytes], b: list[bytes], kept: set[int]
) -> None:
    whole = change(b"".join(a), b"".join(b))
    apart = split_hunks(whole, range(len(hunks(whole))))
    parts = hunks(apart)
    numbers = [line.new for hunk in parts for line in hunk.lines if line.new]
    assert numbers == sorted(set(numbers))
    assert keep_hunks(apart, range(len(parts))) == whole
    old = split_lines(b"".join(a).decode("utf-8", "surrogateescape"))
    assert keep_hunks(apart, kept).after == rebuilt(old, parts, kept)


def test_line_ends_and_a_missing_final_newline_are_seen() -> None:
    lines = hunks(change(b"a\r\nb", b"a\nb\n"))[0].lines
    assert [(line.kind, line.text, line.end) for line in lines] == [
        ("-", "a", "\r\n"),
        ("-", "b", ""),
        ("+", "a", "\n"),
        ("+", "b", "\n"),
    ]


def test_a_created_file_is_one_hunk_of_added_lines() -> None:
    created = change(None, b"a\nb\n")
    assert created.letter == "A"
    assert [hunk.header for hunk in hunks(created)] == ["@@ -0,0 +1,2 @@"]
    assert count_lines(created) == (2, 0)


def test_a_deleted_file_is_one_hunk_of_removed_lines() -> None:
    deleted = change(b"a\nb\n", None)
    assert deleted.letter == "D"
    assert [hunk.header for hunk in hunks(deleted)] == ["@@ -1,2 +0,0 @@"]
    assert count_lines(deleted) == (0, 2)


@pytest.mark.parametrize("file", [change(None, b""), change(b"", None), change(b"\0", b"\0\1")])
def test_a_change_without_lines_is_one_hunk_that_can_be_decided(file: FileChange) -> None:
    assert [hunk.lines for hunk in hunks(file)] == [()]
    assert keep_hunks(file, {0}) == file
    assert keep_hunks(file, set()).changes_nothing


def test_no_change_has_no_hunks() -> None:
    assert hunks(change(b"a\n", b"a\n")) == ()


def test_accepting_all_hunks_is_the_change_itself() -> None:
    assert keep_hunks(FAR_APART, [0, 1, 2]) == FAR_APART


def test_accepting_none_changes_nothing() -> None:
    assert keep_hunks(FAR_APART, []).after == FAR_APART.before
    assert keep_hunks(change(None, b"a\n"), []).after is None


def test_accepting_some_gives_exactly_these() -> None:
    assert keep_hunks(FAR_APART, {1}).after == joined(edited(_30="THIRTY\nand\n"))
    assert keep_hunks(FAR_APART, {0, 2}).after == joined(edited(_5="FIVE\n", _55=""))


@settings(deadline=None)
@given(before=PIECES, after=PIECES, data=st.data())
def test_every_choice_of_hunks_keeps_the_other_lines_byte_for_byte(
    before: list[bytes], after: list[bytes], data: st.DataObject
) -> None:
    file = change(b"".join(before), b"".join(after))
    every = [hunk.index for hunk in hunks(file)]
    kept = data.draw(st.sets(st.sampled_from(every))) if every else set()
    partly = keep_hunks(file, kept)
    rest = [index for index in every if index not in kept]
    assert len(hunks(partly)) <= len(kept)
    if not rest:
        assert partly.after == file.after
    if not kept:
        assert partly.after == file.before


def test_a_change_keeps_its_place_when_other_lines_change() -> None:
    mine = change(joined(SIXTY), joined(edited(_30="mine\n")))
    current = joined(["new first\n", *edited(_50="theirs\n")])
    moved = rebase(mine, current)
    assert moved is not None
    assert moved.before == current
    assert moved.after == joined(["new first\n", *edited(_30="mine\n", _50="theirs\n")])


def test_a_change_is_stale_when_its_place_changed() -> None:
    mine = change(joined(SIXTY), joined(edited(_30="mine\n")))
    assert rebase(mine, joined(edited(_30="theirs\n"))) is None


@pytest.mark.parametrize("line", ["_29", "_31"])
def test_changes_of_adjacent_lines_are_both_made(line: str) -> None:
    mine = change(joined(SIXTY), joined(edited(_30="mine\n")))
    moved = rebase(mine, joined(edited(**{line: "theirs\n"})))
    assert moved is not None
    assert moved.after == joined(edited(**{line: "theirs\n"}, _30="mine\n"))


def test_a_deleted_line_beside_a_changed_one_stays_deleted() -> None:
    mine = change(b"a\nb\nc\n", b"a\nB\nc\n")
    moved = rebase(mine, b"a\nb\n")
    assert moved is not None
    assert moved.after == b"a\nB\n"


def test_an_insertion_beside_a_changed_line_is_a_conflict() -> None:
    mine = change(b"a\nb\nc\n", b"a\nB\nc\n")
    assert rebase(mine, b"a\nnew\nb\nc\n") is None
    assert rebase(mine, b"a\nb\nnew\nc\n") is None


def test_a_change_is_stale_when_its_place_is_gone() -> None:
    mine = change(joined(SIXTY), joined(edited(_30="mine\n")))
    assert rebase(mine, joined(SIXTY[:20] + SIXTY[40:])) is None
    assert rebase(mine, None) is None


def test_insertions_at_one_place_are_not_guessed_into_an_order() -> None:
    mine = change(b"a\nb\n", b"a\nmine\nb\n")
    assert rebase(mine, b"a\ntheirs\nb\n") is None


def test_an_unchanged_file_needs_no_rebase() -> None:
    assert rebase(FAR_APART, FAR_APART.before) is FAR_APART


def test_a_change_that_is_there_already_changes_nothing() -> None:
    done = rebase(FAR_APART, FAR_APART.after)
    assert done is not None
    assert done.changes_nothing


@pytest.mark.parametrize(
    ("file", "current"),
    [
        (change(None, b"a\n"), b"b\n"),
        (change(b"a\n", None), b"b\n"),
        (change(b"\0", b"\0\1"), b"\0\2"),
        (change(b"a\nb\nc\n", b"a\nb\nC\n"), b"\0a\nb\nc\n"),
    ],
)
def test_created_deleted_and_binary_files_are_never_merged(
    file: FileChange, current: bytes
) -> None:
    assert rebase(file, current) is None


def test_two_changes_of_a_file_are_one() -> None:
    both = combine(change(b"a\n", b"b\n"), change(b"b\n", b"c\n"))
    assert (both.before, both.after) == (b"a\n", b"c\n")
    with pytest.raises(ValueError, match="do not follow"):
        combine(change(b"a\n", b"b\n"), change(b"x\n", b"c\n"))


def test_a_change_set_sums_up() -> None:
    several = ChangeSet((FAR_APART, replace(change(None, b"a\n"), path="/w/g")))
    assert several.counts() == (4, 3)
    assert several.summary() == "2 files, +4 -3"
    assert ChangeSet((change(b"a\n", b"b\n"),)).summary() == "1 file, +1 -1"


def test_a_reversed_change_takes_it_back_newest_file_first() -> None:
    back = ChangeSet((FAR_APART, replace(change(None, b"a\n"), path="/w/g"))).reversed()
    assert [file.letter for file in back.files] == ["D", "M"]
    assert back.files[1].after == FAR_APART.before


def test_the_bytes_are_known_by_their_hash() -> None:
    file = change(b"a\n", None)
    assert file.before_hash == hashlib.sha256(b"a\n").hexdigest()
    assert file.after_hash is None


@settings(deadline=None)
@given(before=PIECES, after=PIECES)
def test_line_edits_made_from_the_end_give_the_new_lines(
    before: list[bytes], after: list[bytes]
) -> None:
    old = [line.decode("utf-8", "replace") for line in before]
    new = [line.decode("utf-8", "replace") for line in after]
    lines = list(old)
    for first, last, replacement in line_edits(old, new):
        lines[first:last] = replacement
    assert lines == new


def test_line_edits_leave_out_what_stays() -> None:
    assert line_edits(["a", "b", "c", "d"], ["a", "x", "c", "d", "e"]) == [
        (4, 4, ["e"]),
        (1, 2, ["x"]),
    ]


def test_a_summary_counts_the_files_of_groups_and_no_folders() -> None:
    new = tuple(FileChange(f"/w/build/{n}", None, b"x\ny\n") for n in range(600))
    objects = (FileChange("/w/.git/HEAD", b"a\n", b"b\n"), FileChange("/w/.git/x", None, b"c\n"))
    change = ChangeSet(
        (
            FileChange("/w/a", b"1\n2\n", b"1\n"),
            FileChange(aspect_path("/w/a", MODE), b"644\n", b"755\n"),
            FileChange(aspect_path("/w/empty", FOLDER), None, b"755\n"),
            FileChange(aspect_path("/w/link", LINK), None, b"a\n"),
            FileChange("/w/build", None, None, "build/: 600 new", members=new),
        )
    )
    assert change.summary() == "602 files, +1200 -1"
    git = FileChange("/w/.git", None, None, ".git: HEAD", members=objects)
    assert ChangeSet((*change.files, git)).summary() == "603 files, +1200 -1"
    assert ChangeSet((git,)).summary() == "1 file, +0 -0"
