"""Changes put together, and files that only moved."""

from __future__ import annotations

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange, rebase
from agentchat.core.diff.hunks import hunks, keep_hunks
from agentchat.tools.staging import compose, with_renames

TEXT = b"".join(b"line %d\n" % n for n in range(1, 41))
EDITED = TEXT.replace(b"line 5\n", b"LINE 5\n").replace(b"line 30\n", b"LINE 30\n")


def change(path: str, before: bytes | None, after: bytes | None) -> FileChange:
    return FileChange(f"/w/{path}", before, after, path)


def moved(after: bytes = EDITED) -> FileChange:
    """The file ``a`` that becomes ``b``."""
    (file,) = with_renames([change("a", TEXT, None), change("b", None, after)]).files
    return file


def test_changes_of_one_file_become_one() -> None:
    first = ChangeSet((change("a", b"1\n", b"2\n"), change("b", b"x\n", b"y\n")))
    second = ChangeSet((change("a", b"2\n", b"3\n"), change("c", None, b"new\n")))
    assert compose(first, second).files == (
        change("a", b"1\n", b"3\n"),
        change("b", b"x\n", b"y\n"),
        change("c", None, b"new\n"),
    )


def test_a_change_that_begins_elsewhere_does_not_follow() -> None:
    with pytest.raises(ValueError, match="do not follow"):
        compose(
            ChangeSet((change("a", b"1\n", b"2\n"),)), ChangeSet((change("a", b"9\n", b"3\n"),))
        )


def test_a_file_made_and_deleted_again_was_never_there() -> None:
    made = ChangeSet((change("a", None, b"x\n"),))
    assert compose(made, ChangeSet((change("a", b"x\n", None),))).files == ()


@pytest.mark.parametrize("after", [TEXT, EDITED])
def test_a_file_deleted_here_and_created_there_is_renamed(after: bytes) -> None:
    file = moved(after)
    assert (file.letter, file.name, file.paths) == ("R", "a → b", ("/w/a", "/w/b"))
    assert (file.before, file.after) == (TEXT, after)
    assert not file.changes_nothing


@pytest.mark.parametrize(
    ("before", "after"), [(TEXT, b"another\ntext\n"), (b"", b""), (b"\0\1\2", b"\0\1\3")]
)
def test_files_that_are_not_alike_stay_two(before: bytes, after: bytes) -> None:
    files = [change("a", before, None), change("b", None, after)]
    assert with_renames(files) == ChangeSet(tuple(files))


def test_the_likest_file_is_the_renamed_one() -> None:
    files = [change("far", TEXT[:-80], None), change("near", TEXT, None), change("b", None, EDITED)]
    assert [file.name for file in with_renames(files).files] == ["far", "near → b"]


def test_a_renamed_file_can_be_renamed_on() -> None:
    on = ChangeSet((change("b", EDITED, None), change("c", None, EDITED)))
    (file,) = compose(ChangeSet((moved(),)), on).files
    assert (file.paths, file.before, file.after) == (("/w/a", "/w/c"), TEXT, EDITED)


def test_hunks_of_a_renamed_file_are_kept_one_by_one() -> None:
    file = moved()
    assert len(hunks(file)) == 2
    some = keep_hunks(file, {1})
    assert (some.paths, some.after) == (file.paths, TEXT.replace(b"line 30\n", b"LINE 30\n"))


@pytest.mark.parametrize("after", [TEXT, EDITED])
def test_a_renamed_file_of_which_nothing_is_kept_stays_where_it_is(after: bytes) -> None:
    left = keep_hunks(moved(after), set())
    assert left.path == "/w/a"
    assert left.changes_nothing


def test_a_new_name_alone_is_a_hunk_without_lines() -> None:
    (hunk,) = hunks(moved(TEXT))
    assert hunk.lines == ()
    assert keep_hunks(moved(TEXT), {0}) == moved(TEXT)


def test_a_renamed_file_goes_back_to_its_old_name() -> None:
    back = moved().reversed()
    assert (back.paths, back.before, back.after) == (("/w/b", "/w/a"), EDITED, TEXT)


def test_a_new_name_is_rebased_onto_what_the_old_file_is_now() -> None:
    now = b"mine\n" + TEXT
    on_top = rebase(moved(), now)
    assert on_top is not None
    assert (on_top.paths, on_top.before) == (("/w/a", "/w/b"), now)
    assert on_top.after == b"mine\n" + EDITED
