"""Loaded buffers stand for their files; the user's own unsaved work is never lost or saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.workspace.buffers import FRESH_SECONDS, BuffersWorkspace
from agentchat.workspace.editor_port import (
    BufferMovedError,
    BufferSnapshot,
    TextForm,
    decode_text,
    encode_text,
)
from agentchat.workspace.local import LocalWorkspace
from tests.workspace.editor import Buffers


@dataclass
class World:
    """A directory, an editor over it, and the workspace that sees both."""

    root: Path
    editor: Buffers
    workspace: BuffersWorkspace

    def write(self, name: str, content: str) -> Path:
        path = self.root / name
        path.write_bytes(content.encode())
        return path

    def lines(self, name: str) -> tuple[str, ...]:
        return self.editor.lines(self.root / name)

    def disk(self, name: str) -> str | None:
        path = self.root / name
        return path.read_bytes().decode() if path.exists() else None

    def change(self, name: str, before: str | None, after: str | None) -> FileChange:
        sides = [None if side is None else side.encode() for side in (before, after)]
        return FileChange(str(self.root / name), sides[0], sides[1], name)


@pytest.fixture
def world(tmp_path: Path) -> World:
    root = tmp_path / "ws"
    root.mkdir()
    editor = Buffers()
    return World(root, editor, BuffersWorkspace(LocalWorkspace(str(root)), editor))


async def test_an_unsaved_buffer_is_read_instead_of_its_file(world: World) -> None:
    path = world.write("a", "disk\n")
    world.editor.load(path, "mine\nand more\n")
    assert await world.workspace.read(str(path)) == b"mine\nand more\n"
    assert await world.workspace.read(str(path), 4) == b"mine"
    assert await world.workspace.read(str(path), 3, 5) == b"and"
    assert await world.workspace.size(str(path)) == 14
    assert await world.workspace.unsaved() == {str(path): b"mine\nand more\n"}


async def test_a_text_that_is_read_in_pieces_is_kept_until_its_end_or_the_next_turn(
    world: World,
) -> None:
    path = world.root / "a"
    world.editor.load(path, "old\ntext\n")
    assert await world.workspace.read(str(path), 4) == b"old\n"
    world.editor.load(path, "new\nwords\n")
    assert await world.workspace.read(str(path), 4, 4) == b"text"
    assert await world.workspace.read(str(path), 4, 8) == b"\n"
    assert await world.workspace.read(str(path), 5, 4) == b"words"
    world.editor.load(path, "far newer\n")
    await world.workspace.ready()
    assert await world.workspace.read(str(path), 5, 4) == b"newer"


async def test_a_new_unsaved_buffer_is_a_file_and_an_empty_one_is_none(world: World) -> None:
    world.editor.load(world.root / "new", "text\n")
    world.editor.load(world.root / "empty")
    assert await world.workspace.kind(str(world.root / "new")) == "file"
    assert (await world.workspace.locate("new")).exists
    assert await world.workspace.kind(str(world.root / "empty")) is None
    assert not (await world.workspace.locate("empty")).exists


async def test_a_read_only_buffer_makes_its_file_read_only(world: World) -> None:
    world.editor.load(world.write("a", ""), readonly=True)
    assert (await world.workspace.locate("a")).read_only


async def test_a_clean_buffer_changes_by_few_lines_and_is_saved(world: World) -> None:
    path = world.write("a", "1\n2\n3\n4\n")
    world.editor.load(path)
    (applied,) = await world.workspace.apply(
        ChangeSet((world.change("a", "1\n2\n3\n4\n", "1\ntwo\n3\n4\nfive\n"),))
    )
    assert applied.saved
    assert world.disk("a") == "1\ntwo\n3\n4\nfive\n"
    assert world.editor.edits == [[(4, 4, ["five"]), (1, 2, ["two"])]]
    assert world.editor.saved == [str(path)]


async def test_a_buffer_with_unsaved_changes_is_changed_and_not_saved(world: World) -> None:
    path = world.write("a", "disk\n")
    world.editor.load(path, "mine\n2\n")
    (applied,) = await world.workspace.apply(
        ChangeSet((world.change("a", "mine\n2\n", "mine\ntwo\n"),))
    )
    assert not applied.saved
    assert world.lines("a") == ("mine", "two")
    assert world.disk("a") == "disk\n"


async def test_lines_that_a_formatter_changed_are_told(world: World) -> None:
    world.editor.load(world.write("a", "1\n2\n3\n"))
    world.editor.formatter = lambda lines: tuple(line.upper() for line in lines)
    (applied,) = await world.workspace.apply(
        ChangeSet((world.change("a", "1\n2\n3\n", "1\nb\n3\nd\n"),))
    )
    assert applied.reformatted == ((2, 2), (4, 4))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1\r\n2\r\n", "1\r\ntwo\r\n"),
        ("1\r\n2\r\n", "1\n2\n"),
        ("1\n2", "1\ntwo"),
        ("1\n2", "1\n2\n"),
        ("1\n2\n", "1\n2"),
        ("\ufeff1\n", "\ufefftwo\n"),
        ("\ufeff1\n", "1\n"),
        ("1\n", ""),
        ("", "1\n"),
        ("\n", ""),
        ("", "\n"),
        ("1\n", "a\0b\n"),
        ("1\r\n2\n", "1\r\n2\n3\r\n"),
    ],
)
async def test_what_is_saved_is_what_was_shown_byte_for_byte(
    world: World, before: str, after: str
) -> None:
    world.editor.load(world.write("a", before))
    await world.workspace.apply(ChangeSet((world.change("a", before, after),)))
    assert world.disk("a") == after
    assert await world.workspace.read(str(world.root / "a")) == after.encode()


async def test_a_new_file_with_an_empty_buffer_is_made_through_the_buffer(world: World) -> None:
    world.editor.load(world.root / "new" / "a")
    await world.workspace.apply(ChangeSet((world.change("new/a", None, "text\n"),)))
    assert world.disk("new/a") == "text\n"
    assert world.lines("new/a") == ("text",)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda world: world.editor.load(world.root / "b", "typed meanwhile\n"),
        lambda world: world.write("b", "written meanwhile\n"),
        lambda world: (world.root / "b").unlink(),
        lambda world: world.write("disk", "written meanwhile\n"),
        lambda world: world.editor.load(world.root / "b", modifiable=False),
        lambda world: world.editor.broken.add(str(world.root / "b")),
    ],
    ids=["typed", "written", "removed", "disk", "nomodifiable", "unwritable"],
)
async def test_a_change_that_cannot_be_made_whole_is_not_made(
    world: World, spoil: Callable[[World], object]
) -> None:
    for name in ("a", "b", "disk"):
        world.write(name, f"old {name}\n")
    for name in ("a", "b"):
        world.editor.load(world.root / name)
    spoil(world)
    disk = {name: world.disk(name) for name in ("a", "b", "disk")}
    typed = world.lines("b")
    files = [world.change(name, f"old {name}\n", f"new {name}\n") for name in ("a", "b", "disk")]
    with pytest.raises(ToolError, match="Nothing was changed"):
        await world.workspace.apply(ChangeSet(tuple(files)))
    assert {name: world.disk(name) for name in ("a", "b", "disk")} == disk
    assert (world.lines("a"), world.lines("b")) == (("old a",), typed)


async def test_a_loaded_file_is_deleted_unless_it_has_unsaved_changes(world: World) -> None:
    world.editor.load(world.write("a", "\n"))
    await world.workspace.apply(ChangeSet((world.change("a", "\n", None),)))
    assert world.disk("a") is None
    world.editor.load(world.write("b", "old\n"), "mine\n")
    with pytest.raises(ToolError, match="unsaved changes"):
        await world.workspace.apply(ChangeSet((world.change("b", "mine\n", None),)))
    assert world.disk("b") == "old\n"


async def test_a_deleted_file_that_is_still_loaded_comes_back_and_its_buffer_follows(
    world: World,
) -> None:
    path = world.write("a", "one\n")
    world.editor.load(path)
    await world.workspace.apply(ChangeSet((world.change("a", "one\n", None),)))
    assert world.disk("a") is None
    back = replace(world.change("a", None, "two\n"), mode=0o755)
    await world.workspace.apply(ChangeSet((back,)))
    assert world.disk("a") == "two\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert world.lines("a") == ("two",)


async def test_a_buffer_in_another_encoding_is_changed_too(world: World) -> None:
    path = world.root / "a"
    path.write_bytes("é\n".encode("latin-1"))
    world.editor.loaded[str(path)] = BufferSnapshot(1, False, text="é".encode(), encoding="latin1")
    await world.workspace.apply(ChangeSet((world.change("a", "é\n", "è\n"),)))
    assert world.lines("a") == ("è",)


async def test_files_that_are_not_loaded_go_to_the_disk(world: World) -> None:
    world.write("a", "old\n")
    await world.workspace.apply(ChangeSet((world.change("a", "old\n", "new\n"),)))
    assert world.disk("a") == "new\n"
    assert world.editor.loaded == {}
    with pytest.raises(StalePreview):
        await world.workspace.apply(ChangeSet((world.change("a", "old\n", "new\n"),)))


@pytest.mark.parametrize("data", [
    b"", b"\n", b"a", b"a\n", b"\n\n", b"a\r\n", b"a\r\nb\n", b"\xef\xbb\xbf", b"\xef\xbb\xbfa\n",
    b"a\0b\n", b"\xff\n", b"a\r", b"a\rb\r", b"\r\n",
])  # fmt: skip
@pytest.mark.parametrize("fileformat", ["unix", "dos", "mac"])
def test_any_bytes_are_lines_and_back(data: bytes, fileformat: str) -> None:
    assert encode_text(*decode_text(data, TextForm(fileformat=fileformat))) == data


def renamed(world: World, before: str, after: str) -> FileChange:
    """The file ``a`` that becomes ``new/b``."""
    old = world.root / "a"
    return replace(world.change("new/b", before, after), old_path=str(old))


@pytest.mark.parametrize("after", ["one\ntwo\n", "one\nTWO\n"])
async def test_the_buffer_of_a_renamed_file_follows_it(world: World, after: str) -> None:
    world.editor.load(world.write("a", "one\ntwo\n"))
    tick = world.editor.loaded[str(world.root / "a")].tick
    await world.workspace.apply(ChangeSet((renamed(world, "one\ntwo\n", after),)))
    assert list(world.editor.loaded) == [str(world.root / "new/b")]
    assert "\n".join(world.lines("new/b")) + "\n" == after
    assert world.editor.loaded[str(world.root / "new/b")].tick >= tick
    assert (world.disk("a"), world.disk("new/b")) == (None, after)


async def test_a_renamed_file_with_the_users_unsaved_changes_is_left_alone(world: World) -> None:
    world.editor.load(world.write("a", "one\n"), "mine\n")
    with pytest.raises(ToolError, match="unsaved changes"):
        await world.workspace.apply(ChangeSet((renamed(world, "mine\n", "x\n"),)))
    assert (world.disk("a"), world.disk("new/b")) == ("one\n", None)


async def test_a_rename_is_taken_back_when_something_else_fails(world: World) -> None:
    world.editor.load(world.write("a", "one\n"))
    world.editor.load(world.write("c", "two\n"))
    world.editor.broken.add(str(world.root / "c"))
    other = world.change("c", "two\n", "TWO\n")
    with pytest.raises(ToolError, match="Cannot save c"):
        await world.workspace.apply(ChangeSet((renamed(world, "one\n", "ONE\n"), other)))
    assert sorted(world.editor.loaded) == [str(world.root / "a"), str(world.root / "c")]
    assert (world.disk("a"), world.disk("c"), world.disk("new/b")) == ("one\n", "two\n", None)
    assert world.lines("a") == ("one",)


class Moving(Buffers):
    """An editor whose user types whenever something shall be taken back."""

    async def undo(self, path: str, tick: int, state: int, form: TextForm) -> None:
        raise BufferMovedError


async def test_what_cannot_be_taken_back_is_named_and_nothing_else_is_claimed(
    tmp_path: Path,
) -> None:
    editor = Moving()
    world = World(tmp_path, editor, BuffersWorkspace(LocalWorkspace(str(tmp_path)), editor))
    for name in ("a", "b"):
        world.editor.load(world.write(name, "old\n"))
    world.editor.broken.add(str(tmp_path / "b"))
    files = [world.change(name, "old\n", "new\n") for name in ("a", "b")]
    with pytest.raises(ToolError) as failed:
        await world.workspace.apply(ChangeSet(tuple(files)))
    assert str(failed.value) == (
        "Cannot save b: E212: Can't open file for writing. "
        "b could not be rolled back. a could not be rolled back."
    )


async def test_a_file_without_a_buffer_when_it_was_located_is_read_once_without_asking(
    world: World,
) -> None:
    path = world.write("a", "disk\n")
    await world.workspace.locate("a")
    world.editor.load(path, "typed meanwhile\n")
    assert await world.workspace.read(str(path)) == b"disk\n"
    assert await world.workspace.read(str(path)) == b"typed meanwhile\n"


async def test_a_file_that_was_located_long_ago_is_asked_for_again(world: World) -> None:
    path = world.write("a", "disk\n")
    await world.workspace.locate("a")
    world.editor.load(path, "typed meanwhile\n")
    await asyncio.sleep(FRESH_SECONDS)
    assert await world.workspace.read(str(path)) == b"typed meanwhile\n"
