"""Changes on a real disk: every file its old bytes or its new ones, whatever goes wrong."""

from __future__ import annotations

import errno
import os
import resource
import stat
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.diff.aspects import FOLDER, aspect_path, mode_content
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.workspace.files.disk import Disk, FolderHandles
from agentchat.workspace.files.transaction import FileTransaction

Print = dict[str, tuple[object, ...]]


def fingerprint(root: Path) -> Print:
    """Path, type, mode, owner, links, content and attributes of all below a directory."""
    return {str(path.relative_to(root)): _one(path) for path in sorted(root.rglob("*"))}


def _one(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content: object = None
    if stat.S_ISREG(status.st_mode):
        content = path.read_bytes()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    attributes = tuple(os.listxattr(path, follow_symlinks=False))
    links = status.st_nlink if stat.S_ISREG(status.st_mode) else 0
    return (status.st_mode, status.st_uid, status.st_gid, links, content, attributes)


@dataclass
class FaultyDisk(Disk):
    """Fails the ``at``-th operation (from 0) with ``error``, or calls ``meanwhile`` before it."""

    at: int = -1
    error: int = errno.EIO
    meanwhile: Callable[[], None] | None = None
    after: bool = False
    log: list[str] = field(default_factory=list)

    def _op(self, name: str, *given: Any) -> Any:
        number = len(self.log)
        self.log.append(name)
        planned = number == self.at
        if planned and self.meanwhile is not None:
            self.meanwhile()
            planned = False
        if planned and not self.after:
            raise OSError(self.error, os.strerror(self.error))
        result = getattr(Disk, name)(self, *given)
        if planned:
            raise OSError(self.error, os.strerror(self.error))
        return result

    def open(self, name: str, flags: int, mode: int = 0o666, dir_fd: int | None = None) -> int:
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return super().open(name, flags, mode, dir_fd)
        self.after, after = False, self.after  # a handle nobody gets cannot be closed
        try:
            return int(self._op("open", name, flags, mode, dir_fd))
        finally:
            self.after = after

    def write(self, fd: int, data: bytes, offset: int) -> int:
        return int(self._op("write", fd, data, offset))

    def truncate(self, fd: int, size: int) -> None:
        self._op("truncate", fd, size)

    def fsync(self, fd: int) -> None:
        self._op("fsync", fd)

    def rename(self, old: str, new: str, dir_fd: int) -> None:
        self._op("rename", old, new, dir_fd)

    def link(self, old: str, new: str, dir_fd: int) -> None:
        self._op("link", old, new, dir_fd)

    def unlink(self, name: str, dir_fd: int) -> None:
        self._op("unlink", name, dir_fd)

    def mkdir(self, name: str, dir_fd: int) -> None:
        self._op("mkdir", name, dir_fd)

    def rmdir(self, name: str, dir_fd: int) -> None:
        self._op("rmdir", name, dir_fd)

    def chmod(self, fd: int, mode: int) -> None:
        self._op("chmod", fd, mode)

    def chown(self, fd: int, uid: int, gid: int) -> None:
        self._op("chown", fd, uid, gid)


class ShortWrites(Disk):
    """Takes one byte at a time."""

    def write(self, fd: int, data: bytes, offset: int) -> int:
        return super().write(fd, data[:1], offset)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "d").mkdir(parents=True)
    for name in ("a", "b", "d/c"):
        (root / name).write_text(f"old {name}\n")
    return root


def change(root: Path, name: str, before: str | None, after: str | None) -> FileChange:
    sides = [None if side is None else side.encode() for side in (before, after)]
    return FileChange(str(root / name), sides[0], sides[1], name)


def renamed(root: Path, old: str, new: str, before: str, after: str) -> FileChange:
    return replace(change(root, new, before, after), old_path=str(root / old))


def four(root: Path) -> list[FileChange]:
    """An edit, a new file in new folders, a deletion, and a file that gets a new name."""
    return [
        change(root, "a", "old a\n", "new a\n"),
        change(root, "new/deep/f", None, "new f\n"),
        change(root, "d/c", "old d/c\n", None),
        renamed(root, "b", "d/moved", "old b\n", "new b\n"),
    ]


def swapped(root: Path) -> list[FileChange]:
    """A file becomes a folder, and a folder a file; what was in that gets a new name."""
    mode = mode_content((root / "d").stat().st_mode)
    return [
        change(root, "a/in", None, "new in\n"),
        change(root, "a", "old a\n", None),
        renamed(root, "d/c", "moved", "old d/c\n", "old d/c\n"),
        FileChange(aspect_path(str(root / "d"), FOLDER), mode, None),
        change(root, "d", None, "new d\n"),
    ]


def apply(files: list[FileChange], disk: Disk | None = None) -> None:
    FileTransaction(disk or Disk(), lambda path: path).apply(files)


def test_files_and_folders_take_each_others_places(ws: Path) -> None:
    apply(swapped(ws))
    found = {str(path.relative_to(ws)): path.is_dir() for path in ws.rglob("*")}
    assert found == {"a": True, "a/in": False, "b": False, "d": False, "moved": False}
    assert (ws / "d").read_text() == "new d\n"


def test_a_change_of_several_files_is_made(ws: Path) -> None:
    apply(four(ws))
    assert (ws / "a").read_text() == "new a\n"
    assert (ws / "new/deep/f").read_text() == "new f\n"
    assert (ws / "d/moved").read_text() == "new b\n"
    assert sorted(path.name for path in ws.rglob("*")) == ["a", "d", "deep", "f", "moved", "new"]


def test_a_change_and_its_reverse_leave_everything_as_it_was(ws: Path) -> None:
    before = fingerprint(ws)
    files = [file for file in four(ws) if not file.path.endswith("deep/f")]
    apply(files)
    apply(list(ChangeSet(tuple(files)).reversed().files))
    assert fingerprint(ws) == before


def test_a_file_keeps_mode_owner_and_attributes(ws: Path) -> None:
    path = ws / "a"
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    path.chmod(0o750)
    os.setxattr(path, "user.note", b"kept")
    before = fingerprint(ws)["a"]
    apply([change(ws, "a", "old a\n", "new a\n")])
    after = fingerprint(ws)["a"]
    assert [*before[:4], before[5]] == [*after[:4], after[5]]
    assert os.getxattr(path, "user.note") == b"kept"
    assert path.read_text() == "new a\n"


@pytest.mark.parametrize("after", ["old a\n", "new a\n"])
def test_a_renamed_file_keeps_mode_owner_and_attributes(ws: Path, after: str) -> None:
    path = ws / "a"
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    path.chmod(0o555)
    os.setxattr(path, "user.note", b"kept")
    before = fingerprint(ws)["a"]
    apply([renamed(ws, "a", "x/a", "old a\n", after)])
    status = fingerprint(ws)
    assert "a" not in status
    assert [*before[:4], before[5]] == [*status["x/a"][:4], status["x/a"][5]]
    assert os.getxattr(ws / "x/a", "user.note") == b"kept"
    assert (ws / "x/a").read_text() == after


@pytest.mark.parametrize(("old", "before"), [("a", "old a\n"), ("a", "moved\n"), ("z", "")])
def test_a_file_is_not_renamed_over_another_nor_when_it_moved(
    ws: Path, old: str, before: str
) -> None:
    new = "b" if before == "old a\n" else "n"
    seen = fingerprint(ws)
    with pytest.raises(ToolError, match="Nothing was changed"):
        apply([renamed(ws, old, new, before, "new\n")])
    assert fingerprint(ws) == seen


def test_a_read_only_file_is_written_and_stays_read_only(ws: Path) -> None:
    (ws / "a").chmod(0o444)
    apply([change(ws, "a", "old a\n", "new a\n")])
    assert (ws / "a").read_text() == "new a\n"
    assert stat.S_IMODE((ws / "a").stat().st_mode) == 0o444


@pytest.mark.parametrize("mode", [0o644, 0o444])
def test_a_hard_linked_file_keeps_its_other_name(ws: Path, mode: int) -> None:
    os.link(ws / "a", ws / "other")
    (ws / "a").chmod(mode)
    apply([change(ws, "a", "old a\n", "new a, longer\n")])
    assert (ws / "other").read_text() == "new a, longer\n"
    assert (ws / "a").stat().st_nlink == 2
    assert stat.S_IMODE((ws / "a").stat().st_mode) == mode


def test_a_new_file_has_the_usual_mode_or_the_one_asked_for(ws: Path) -> None:
    usual = os.open(ws / "usual", os.O_CREAT | os.O_WRONLY, 0o666)
    os.close(usual)
    script = FileChange(str(ws / "script"), None, b"#!/bin/sh\n", mode=0o755)
    apply([change(ws, "plain", None, ""), script])
    assert (ws / "plain").stat().st_mode == (ws / "usual").stat().st_mode
    assert stat.S_IMODE((ws / "script").stat().st_mode) == 0o755


def test_an_unchanged_file_is_not_touched(ws: Path) -> None:
    before = (ws / "a").stat()
    apply([change(ws, "a", "old a\n", "old a\n")])
    after = (ws / "a").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_writes_may_be_short(ws: Path) -> None:
    apply(four(ws), ShortWrites())
    assert (ws / "a").read_text() == "new a\n"


class OtherBytes(Disk):
    """Takes all bytes, and keeps others."""

    def write(self, fd: int, data: bytes, offset: int) -> int:
        return super().write(fd, data.upper(), offset)


def test_bytes_that_are_not_the_previewed_ones_are_not_left_there(ws: Path) -> None:
    seen = fingerprint(ws)
    with pytest.raises(ToolError, match="The bytes on disk are not the ones written"):
        apply(four(ws), OtherBytes())
    assert fingerprint(ws) == seen


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("a", "other\n", "x"), ("a", None, "x"), ("missing", "x", "y"), ("missing", "x", None),
     ("a", "other\n", None), ("a", "other\n", "other\n")],
)  # fmt: skip
def test_what_moved_is_stale_and_the_whole_change_is_not_made(
    ws: Path, name: str, before: str | None, after: str | None
) -> None:
    seen = fingerprint(ws)
    with pytest.raises(
        StalePreview, match=f"^{name} changed since the preview. Nothing was changed.$"
    ):
        apply([change(ws, "b", "old b\n", "new b\n"), change(ws, name, before, after)])
    assert fingerprint(ws) == seen


def _swap(path: Path, kind: str) -> None:
    path.unlink()
    if kind == "link":
        path.symlink_to("b")
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    else:
        os.mkfifo(path)


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")


@pytest.mark.parametrize(
    "kind", ["link", "directory", "pipe", pytest.param("device", marks=AS_ROOT)]
)
@pytest.mark.parametrize("after", ["new\n", None])
def test_a_target_swapped_for_something_else_is_refused(
    ws: Path, kind: str, after: str | None
) -> None:
    _swap(ws / "a", kind)
    seen = fingerprint(ws)
    with pytest.raises(ToolError, match=r"not a regular file.* Nothing was changed"):
        apply([change(ws, "a", "old a\n", after)])
    assert fingerprint(ws) == seen


@pytest.mark.parametrize("kind", ["link", "file", "directory"])
@pytest.mark.parametrize(("name", "before"), [("d/c", "old d/c\n"), ("d/new", None)])
def test_a_folder_swapped_since_is_refused_and_nothing_outside_is_written(
    ws: Path, kind: str, name: str, before: str | None
) -> None:
    outside = ws.parent / "outside"
    outside.mkdir()
    (outside / "c").write_text("outside\n" if kind == "directory" else "old d/c\n")
    status = (ws / "d").stat()
    anchor = (str(ws / "d"), status.st_dev, status.st_ino)
    (ws / "d").rename(ws / "was-d")
    if kind == "link":
        (ws / "d").symlink_to(outside)
    elif kind == "file":
        (ws / "d").write_text("")
    else:
        outside.rename(ws / "d")
        outside = ws / "d"
    seen = fingerprint(ws.parent)
    with pytest.raises(ToolError, match="Nothing was changed"):
        apply([replace(change(ws, name, before, "new\n"), anchor=anchor)])
    assert fingerprint(ws.parent) == seen


def test_two_new_files_in_one_new_folder_are_previewed_in_the_one_above(ws: Path) -> None:
    status = ws.stat()
    anchor = (str(ws), status.st_dev, status.st_ino)
    apply([replace(change(ws, f"n/{name}", None, "x"), anchor=anchor) for name in ("a", "b")])
    assert sorted(path.name for path in (ws / "n").iterdir()) == ["a", "b"]


def _count(ws: Path, make: Callable[[Path], list[FileChange]]) -> int:
    disk = FaultyDisk()
    apply(make(ws), disk)
    return len(disk.log)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("make", [four, swapped])
def test_whichever_operation_fails_the_change_is_whole_or_not_made(
    tmp_path: Path, error: int, after: bool, make: Callable[[Path], list[FileChange]]
) -> None:
    def fresh(number: int) -> Path:
        root = tmp_path / str(number)
        (root / "d").mkdir(parents=True)
        for name in ("a", "b", "d/c"):
            (root / name).write_text(f"old {name}\n")
        return root

    count = _count(fresh(-1), make)
    post = fingerprint(tmp_path / "-1")
    assert count > 10
    for number in range(count):
        root = fresh(number)
        pre = fingerprint(root)
        disk = FaultyDisk(at=number, error=error, after=after)
        try:
            apply(make(root), disk)
            message, expected = "", post
        except ToolError as problem:
            message, expected = str(problem), pre
        assert not message or message.endswith("Nothing was changed.")
        assert len(disk.log) > number, "the fault did not fire"
        assert _without_owner_temp(fingerprint(root)) == expected, disk.log[: number + 1]


def test_a_change_may_have_more_folders_than_a_process_may_open(ws: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        apply([change(ws, f"out/{number}/new", None, "x") for number in range(300)])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(list((ws / "out").glob("*/new"))) == 300


def test_a_folder_that_is_replaced_during_a_change_is_not_written_in(ws: Path) -> None:
    handles = FolderHandles(most=1)
    handles.get(str(ws / "d"))
    handles.get(str(ws))
    (ws / "d").rename(ws / "was")
    (ws / "d").mkdir()
    with pytest.raises(StalePreview):
        handles.get(str(ws / "d"))
    handles.close()


class ReadOnlyDisk(Disk):
    """Refuses whatever changes a file."""

    def open(self, name: str, flags: int, mode: int = 0o666, dir_fd: int | None = None) -> int:
        if flags & os.O_ACCMODE:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return super().open(name, flags, mode, dir_fd)

    def unlink(self, name: str, dir_fd: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize("before", ["old a\n", None])
def test_on_a_read_only_file_system_nothing_was_changed(ws: Path, before: str | None) -> None:
    file = change(ws, "new" if before is None else "a", before, "x")
    with pytest.raises(ToolError, match=r"Read-only file system\. Nothing was changed\."):
        apply([file], ReadOnlyDisk())


def _without_owner_temp(status: Print) -> Print:
    """Leave out a temporary file that could not be removed, which a sweep removes."""
    return {
        name: file
        for name, file in status.items()
        if not name.rpartition("/")[2].endswith((".tmp", ".old"))
    }


def _overwrite(path: Path) -> None:
    path.write_text("foreign\n")


@pytest.mark.parametrize("operation", ["rename", "link"])
def test_a_write_by_someone_else_in_the_last_moment_is_kept(ws: Path, operation: str) -> None:
    files = [change(ws, "b", "old b\n", "new b\n"), change(ws, "n", None, "n\n")]
    disk = FaultyDisk()
    apply(files, disk)
    apply([file.reversed() for file in files])
    name = "b" if operation == "rename" else "n"
    at = disk.log.index(operation) - (operation == "rename")
    disk = FaultyDisk(at=at, meanwhile=lambda: _overwrite(ws / name))
    with pytest.raises(StalePreview):
        apply(files, disk)
    assert (ws / name).read_text() == "foreign\n"
    other = ws / ("n" if name == "b" else "b")
    assert (other.read_text() if other.exists() else None) in ("old b\n", None)


def test_what_someone_wrote_over_a_file_already_changed_is_kept_and_named(ws: Path) -> None:
    files = [change(ws, "a", "old a\n", "new a\n"), change(ws, "b", "old b\n", "new b\n")]
    disk = FaultyDisk()
    apply(files, disk)
    apply([file.reversed() for file in files])
    second = [number for number, name in enumerate(disk.log) if name == "rename"][1]

    class Meddled(FaultyDisk):
        def rename(self, old: str, new: str, dir_fd: int) -> None:
            if new == "b":
                (ws / "a").write_text("foreign\n")
                raise OSError(errno.EIO, "Input/output error")
            Disk.rename(self, old, new, dir_fd)

    assert second
    with pytest.raises(ToolError, match=r"Cannot write b: .* Could not be rolled back: .*/a\."):
        apply(files, Meddled())
    assert (ws / "a").read_text() == "foreign\n"
    assert (ws / "b").read_text() == "old b\n"


def as_user(user: int, act: Callable[[], None]) -> int:
    """Act in a child process of another user; return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside idle threads
        child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            act()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("folder_mode", [0o777, 0o755])
def test_a_file_of_someone_else_is_written_in_place_and_keeps_its_owner(folder_mode: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_text("old\n")
        os.chown(path, 1234, 1234)
        path.chmod(0o666)
        os.chmod(folder, folder_mode)
        inode = path.stat().st_ino
        file = FileChange(str(path), b"old\n", b"new\n")
        assert as_user(5678, lambda: apply([file])) == 0
        assert path.read_text() == "new\n"
        assert (path.stat().st_uid, path.stat().st_ino) == (1234, inode)
        assert os.listdir(folder) == ["a"]
