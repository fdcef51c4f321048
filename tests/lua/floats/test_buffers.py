"""File buffers as Python reads, changes and saves them, in a real Neovim."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import StartEditor
from tests.support.editor import Editor

Edits = list[tuple[int, int, list[str]]]


class Buffer:
    """A file that is loaded in an editor."""

    def __init__(self, editor: Editor, path: Path, text: bytes = b"one\ntwo\nthree\n") -> None:
        self.editor = editor
        self.path = path
        path.write_bytes(text)
        editor.command(f"edit {path}")
        self.number: int = editor.eval("bufnr()")

    def snapshot(self) -> dict[str, Any]:
        return look(self.editor, self.path)  # type: ignore[no-any-return]

    def replace(self, edits: Edits, tick: int | None = None, **form: Any) -> dict[str, Any]:
        """Make edits; at the tick of now unless another is given."""
        tick = self.snapshot()["changedtick"] if tick is None else tick
        more = [form] if form else []
        return call(self.editor, "replace", str(self.path), tick, edits, *more)  # type: ignore[no-any-return]

    def save(self, *args: Any) -> dict[str, Any]:
        return call(self.editor, "save", str(self.path), *args)  # type: ignore[no-any-return]

    def text(self) -> str:
        return self.editor.text(self.number)

    def mark(self, name: str) -> int:
        """Line of a mark, 0 if it is gone."""
        return int(self.editor.eval(f'getpos("\'{name}")')[1])


def call(editor: Editor, name: str, *args: Any) -> Any:
    code = "local name = ...; return require('agentchat.files.buffers')[name](select(2, ...))"
    return editor.lua(code, name, *args)


def look(editor: Editor, path: Path | str, **known: int) -> Any:
    """The loaded buffer of a file, with its text also as ``lines``, where a NUL is a newline."""
    query = {"path": str(path), "text": True, **known}
    (seen,) = call(editor, "look", [query])
    return {**seen, "lines": lines_of(seen)} if seen else None


def lines_of(seen: dict[str, Any]) -> list[str]:
    text = seen.get("text", "")
    return [] if seen["empty"] else [line.replace("\0", "\n") for line in text.split("\n")]


@pytest.fixture
def editor(start_editor: StartEditor) -> Editor:
    return start_editor()


@pytest.fixture
def buffer(editor: Editor, workspace: Path) -> Buffer:
    return Buffer(editor, workspace / "f.txt")


@pytest.fixture
def long(editor: Editor, workspace: Path) -> Buffer:
    """A buffer of 200 lines."""
    return Buffer(editor, workspace / "long.txt", b"".join(b"line %d\n" % n for n in range(200)))


# --- looking --------------------------------------------------------------------------------


def test_a_loaded_file_is_seen_as_it_stands_in_the_editor(buffer: Buffer) -> None:
    buffer.editor.keys("Ounsaved<Esc>")
    seen = buffer.snapshot()
    assert seen["lines"] == ["unsaved", "one", "two", "three"]
    assert seen["modified"]
    assert seen["buf"] == buffer.number
    assert seen["changedtick"] == buffer.editor.eval("b:changedtick")
    assert (seen["eol"], seen["bomb"], seen["fileformat"]) == (True, False, "unix")
    assert (seen["modifiable"], seen["readonly"], seen["encoding"]) == (True, False, "utf-8")


def test_a_file_without_a_buffer_is_not_seen_and_no_buffer_is_made(
    editor: Editor, workspace: Path
) -> None:
    before = editor.eval("len(getbufinfo())")
    assert look(editor, str(workspace / "notes.txt")) is None
    assert look(editor, "/nowhere/at/all") is None
    editor.command(f"badd {workspace}/notes.txt")
    assert look(editor, str(workspace / "notes.txt")) is None
    assert editor.eval("len(getbufinfo())") == before + 1


def test_one_file_has_one_identity(buffer: Buffer, workspace: Path) -> None:
    (workspace / "link.txt").symlink_to(buffer.path)
    (workspace / "dir").symlink_to(workspace)
    for name in ("link.txt", "dir/f.txt", "./src/../f.txt"):
        buffer.editor.command(f"%bwipeout! | edit {workspace}/{name}")
        seen = look(buffer.editor, str(buffer.path))
        assert seen is not None
        assert seen["buf"] == buffer.editor.eval("bufnr()")


def test_a_file_that_does_not_exist_yet_is_seen_in_its_buffer(
    editor: Editor, workspace: Path
) -> None:
    editor.command("edit new.txt")
    editor.keys("ihello<Esc>")
    assert look(editor, str(workspace / "new.txt"))["lines"] == ["hello"]


def test_buffers_that_are_no_files_are_not_seen(editor: Editor, workspace: Path) -> None:
    editor.command("edit notes.txt | setlocal buftype=nofile")
    assert look(editor, str(workspace / "notes.txt")) is None
    editor.command("terminal true")
    assert call(editor, "unsaved") == []


@pytest.mark.parametrize(
    ("data", "lines", "eol"),
    [
        (b"", [], True),
        (b"\n", [""], True),
        (b"a", ["a"], False),
        (b"a\0b\n", ["a\nb"], True),
        (b"a\r\n", ["a"], True),
        (b"\xef\xbb\xbfa\n", ["a"], True),
    ],
)
def test_the_text_tells_how_the_file_was(
    editor: Editor, workspace: Path, data: bytes, lines: list[str], eol: bool
) -> None:
    seen = Buffer(editor, workspace / "x", data).snapshot()
    assert (seen["lines"], seen["eol"]) == (lines, eol)
    assert seen["fileformat"] == ("dos" if b"\r" in data else "unix")
    assert seen["bomb"] == data.startswith(b"\xef\xbb\xbf")


def test_a_text_that_the_caller_has_is_not_sent_again(buffer: Buffer) -> None:
    seen = buffer.snapshot()
    known = {"buf": buffer.number, "changedtick": seen["changedtick"]}
    assert "text" not in look(buffer.editor, buffer.path, **known)
    buffer.editor.keys("x")
    assert look(buffer.editor, buffer.path, **known)["text"] == "ne\ntwo\nthree"


@pytest.mark.parametrize(
    ("event", "unchanged"), [("User", True), ("BufWritePre", False), ("BufWritePost", False)]
)
def test_saving_reports_whether_the_text_is_still_the_same(
    buffer: Buffer, event: str, unchanged: bool
) -> None:
    buffer.editor.command(f"autocmd {event} * call append(0, 'more')")
    assert buffer.replace([(0, 1, ["1"])])["ok"]
    assert buffer.save()["unchanged"] == unchanged
    assert (buffer.snapshot()["lines"][0] == "1") == unchanged


def test_all_unsaved_buffers_are_listed_with_their_text(buffer: Buffer, workspace: Path) -> None:
    buffer.editor.command("set hidden | edit notes.txt")
    assert call(buffer.editor, "unsaved") == []
    buffer.editor.keys("dd")
    (found,) = call(buffer.editor, "unsaved")
    assert found["path"] == str(workspace / "notes.txt")
    assert found["text"] == "two\nthree"


# --- changing -------------------------------------------------------------------------------


def test_edits_change_the_buffer_and_tell_its_tick(buffer: Buffer) -> None:
    done = buffer.replace([(2, 3, ["3", "4"]), (0, 1, ["1"])])
    assert buffer.text() == "1\ntwo\n3\n4"
    tick = buffer.snapshot()["changedtick"]
    assert done == {"ok": True, "buf": buffer.number, "changedtick": tick, "undo": 0}
    assert buffer.path.read_bytes() == b"one\ntwo\nthree\n"


def test_the_order_of_edits_does_not_matter(buffer: Buffer) -> None:
    assert buffer.replace([(0, 1, ["1", "1.5"]), (2, 3, ["3"])])["ok"]
    assert buffer.text() == "1\n1.5\ntwo\n3"


def test_at_another_tick_nothing_changes(buffer: Buffer) -> None:
    tick = buffer.snapshot()["changedtick"]
    buffer.editor.keys("Ax<Esc>")
    done = buffer.replace([(0, 1, ["1"])], tick)
    assert (done["ok"], done["reason"]) == (False, "moved")
    assert buffer.text() == "onex\ntwo\nthree"


@pytest.mark.parametrize(
    "edits", [[(0, 9, [])], [(3, 4, ["x"])], [(2, 1, [])], [(0, 2, []), (1, 3, [])], [(-1, 0, [])]]
)
def test_edits_that_do_not_fit_change_nothing(buffer: Buffer, edits: Edits) -> None:
    done = buffer.replace(edits)
    assert (done["ok"], done["reason"]) == (False, "bounds")
    assert buffer.text() == "one\ntwo\nthree"
    assert not buffer.snapshot()["modified"]


def test_a_nomodifiable_buffer_is_an_error(buffer: Buffer) -> None:
    buffer.editor.command("setlocal nomodifiable")
    assert buffer.replace([(0, 1, ["1"])])["reason"] == "nomodifiable"


def test_a_file_without_a_buffer_cannot_be_changed_here(editor: Editor, workspace: Path) -> None:
    done = call(editor, "replace", str(workspace / "notes.txt"), 1, [])
    assert (done["ok"], done["reason"]) == (False, "unloaded")
    assert call(editor, "save", str(workspace / "notes.txt"))["reason"] == "unloaded"


def test_a_readonly_buffer_changes_without_a_warning_and_stays_readonly(buffer: Buffer) -> None:
    buffer.editor.command("setlocal readonly")
    assert buffer.replace([(0, 1, ["1"]), (2, 3, ["3", "4"])])["ok"]
    assert buffer.editor.messages() == ""
    assert buffer.snapshot()["readonly"]


@pytest.mark.parametrize("where", ["shown", "other tab", "hidden"])
def test_a_buffer_is_changed_wherever_it_is(buffer: Buffer, where: str) -> None:
    if where != "shown":
        buffer.editor.command("set hidden | " + ("tabnew" if where == "other tab" else "enew"))
    here = buffer.editor.eval("[win_getid(), bufnr(), tabpagenr()]")
    assert buffer.replace([(1, 2, ["2", "2.5"])])["ok"]
    assert buffer.text() == "one\n2\n2.5\nthree"
    assert buffer.save()["ok"]
    assert buffer.path.read_bytes() == b"one\n2\n2.5\nthree\n"
    assert buffer.editor.eval("[win_getid(), bufnr(), tabpagenr()]") == here


# --- what stays -----------------------------------------------------------------------------


def test_one_u_takes_back_one_write_of_the_agent(buffer: Buffer) -> None:
    buffer.editor.keys("Amine <Esc>")
    buffer.replace([(1, 2, ["2"]), (0, 0, ["0"])])
    buffer.replace([(3, 4, ["3"])])
    buffer.editor.keys("u")
    assert buffer.text() == "0\nonemine \n2\nthree"
    buffer.editor.keys("u")
    assert buffer.text() == "onemine \ntwo\nthree"
    buffer.editor.keys("u")
    assert buffer.text() == "one\ntwo\nthree"
    buffer.editor.keys("3<C-r>")
    assert buffer.text() == "0\nonemine \n2\n3"


def test_a_write_while_the_user_types_is_a_step_of_its_own(buffer: Buffer) -> None:
    buffer.editor.keys("ccfirst")
    buffer.replace([(2, 3, ["3"])])
    assert buffer.editor.mode() == "i"
    buffer.editor.type(" second")
    buffer.editor.keys("<Esc>")
    assert buffer.text() == "first second\ntwo\n3"
    buffer.editor.keys("u")
    assert buffer.text() == "first\ntwo\n3"
    buffer.editor.keys("u")
    assert buffer.text() == "first\ntwo\nthree"


def test_marks_stay_at_their_lines(long: Buffer) -> None:
    for line, name in ((10, "a"), (11, "b"), (12, "c"), (20, "d"), (30, "E")):
        long.editor.command(f"{line}mark {name}")
    long.replace([(9, 11, ["line 9 changed", "new", "line 10"]), (14, 16, []), (19, 20, ["20!"])])
    assert [long.mark(name) for name in "abcdE"] == [10, 12, 13, 19, 29]


def test_marks_stay_where_a_line_changes_and_where_lines_come_before(long: Buffer) -> None:
    long.editor.command("10mark a | 11mark b")
    long.replace([(9, 10, ["a wholly other text"]), (10, 10, ["one more"])])
    assert (long.mark("a"), long.mark("b")) == (10, 12)
    long.editor.keys("u")
    assert (long.mark("a"), long.mark("b")) == (10, 11)


def test_extmarks_stay_at_their_text(buffer: Buffer) -> None:
    mark = (
        "local ns = vim.api.nvim_create_namespace('test');"
        "return vim.api.nvim_buf_set_extmark(0, ns, 1, 1, { end_col = 3 })"
    )
    where = (
        "local ns = vim.api.nvim_create_namespace('test');"
        "local m = vim.api.nvim_buf_get_extmark_by_id(0, ns, ..., { details = true });"
        "return { m[1], m[2], m[3].end_row, m[3].end_col }"
    )
    id = buffer.editor.lua(mark)
    buffer.replace([(1, 2, ["before two"]), (0, 0, ["0"])])
    assert buffer.editor.lua(where, id) == [2, 8, 2, 10]
    buffer.editor.keys("u")
    assert buffer.editor.lua(where, id) == [1, 1, 1, 3]


@pytest.mark.parametrize("row", [4, 5, 7])
def test_folds_stay_around_their_lines(long: Buffer, row: int) -> None:
    long.editor.command("set foldopen= | setlocal foldmethod=manual | 5,8fold | 20,22fold")
    long.replace([(row, row + 1, [f"line {row} changed"])])
    assert _folds(long) == [(5, 8), (20, 22)]
    long.replace([(4, 4, ["before the fold"]), (10, 12, ["fewer"])])
    assert _folds(long) == [(6, 9), (20, 22)]
    long.editor.keys("2u")
    assert _folds(long) == [(5, 8), (20, 22)]


def _folds(buffer: Buffer) -> list[tuple[int, int]]:
    code = (
        "local found, line = {}, 1; while line <= vim.fn.line('$') do "
        "local last = vim.fn.foldclosedend(line);"
        "if last > 0 then table.insert(found, { line, last }); line = last end line = line + 1 end "
        "return found"
    )
    return [(first, last) for first, last in buffer.editor.lua(code)]


def test_cursor_and_view_stay_at_their_text_in_every_window(long: Buffer) -> None:
    editor = long.editor
    editor.command("normal! 100Gzt4l")
    editor.command("split | normal! 150Gzb")
    editor.command("tabnew % | normal! 120Gzz")
    before = editor.lua(_VIEWS)
    long.replace([(10, 12, ["one", "two", "three", "four", "five"]), (50, 52, []), (180, 181, [])])
    after = editor.lua(_VIEWS)
    assert len(before) == 3
    assert after == before
    editor.command("redraw")
    assert editor.lua(_VIEWS) == before


_VIEWS = """
  return vim.tbl_map(function(win)
    return vim.api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      return { vim.fn.getline('.'), view.col, vim.fn.getline(view.topline) }
    end)
  end, vim.fn.win_findbuf(vim.api.nvim_get_current_buf()))
"""


def test_the_cursor_stays_in_the_middle_of_a_changed_line(buffer: Buffer) -> None:
    buffer.editor.keys("gg$")
    buffer.replace([(0, 1, ["before one"])])
    assert buffer.editor.eval("getcurpos()[1:2]") == [1, len("before one")]


def test_jumps_and_last_visual_area_stay(long: Buffer) -> None:
    editor = long.editor
    editor.keys("50Gvjj<Esc>80G120G")
    long.replace([(49, 50, ["changed"]), (9, 9, ["a", "b"]), (79, 80, ["changed too"])])
    jumps = [jump["lnum"] for jump in editor.eval("getjumplist()[0]")]
    assert jumps[-2:] == [54, 82]
    assert editor.eval('[line("\'<"), line("\'>")]') == [52, 54]
    editor.keys("gv<Esc>")
    assert editor.eval("line('.')") == 54


def test_registers_search_and_last_substitution_stay(buffer: Buffer) -> None:
    editor = buffer.editor
    editor.keys("yy/three<CR>:s/three/3/<CR>")
    before = editor.eval("[@/, @\", histget('/'), histget(':')]")
    buffer.replace([(0, 1, ["1"]), (1, 2, [])])
    assert editor.eval("[@/, @\", histget('/'), histget(':')]") == before
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'three' })")
    editor.keys("gg:s/three/~/<CR>")
    assert editor.text().startswith("3")


def test_lines_that_stay_the_same_are_not_touched(long: Buffer) -> None:
    long.editor.lua(
        "_G.seen = {}; vim.api.nvim_buf_attach(0, false, { on_lines ="
        " function(_, _, _, first, last, now) table.insert(_G.seen, { first, last, now }) end })"
    )
    lines = [f"line {n}" for n in range(200)]
    lines[50] = "other"
    long.replace([(0, 200, lines)])
    assert long.editor.lua("return _G.seen") == [[50, 51, 51]]
    assert long.replace([(0, 200, lines)])["ok"]
    assert len(long.editor.lua("return _G.seen")) == 1


def test_who_follows_the_text_byte_by_byte_is_told_the_truth(buffer: Buffer) -> None:
    # Tree-sitter and language servers keep their own copy by these events.
    buffer.editor.lua("vim.treesitter.start(0, 'lua')")
    buffer.replace([(0, 3, ["local a = 1", "return a"])])
    tree = "return vim.treesitter.get_parser(0, 'lua'):parse()[1]:root():sexpr()"
    before = buffer.editor.lua(tree)
    buffer.replace([(0, 1, ["local abc = { 1 }", "local d = 2"])])
    after = buffer.editor.lua(tree)
    buffer.editor.lua("vim.treesitter.get_parser(0, 'lua'):invalidate(true)")
    assert after == buffer.editor.lua(tree) != before


LINE = st.text(st.sampled_from("ab é漢e\u0301|/\\~&'\"\x01\t\r\n%<\U0001f600"), max_size=8)
LINES = st.lists(LINE, max_size=6)


@given(data=st.data())
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_edits_of_any_text_give_what_was_meant(buffer: Buffer, data: st.DataObject) -> None:
    buffer.editor.command("silent %delete _ | setlocal fileformat=unix endofline nobomb")
    old = data.draw(LINES)
    assert buffer.replace([(0, 1, old)])["ok"]
    assert buffer.snapshot()["lines"] == old
    new: list[str] = []
    edits: Edits = []
    at = 0
    while at < len(old):
        last = data.draw(st.integers(at, len(old)))
        lines = data.draw(LINES)
        edits.append((at, last, lines))
        new += lines + old[last : last + 1]
        at = last + 1
    assert buffer.replace(edits)["ok"]
    assert buffer.snapshot()["lines"] == new
    if new != old:
        buffer.editor.command("undo")
        assert buffer.snapshot()["lines"] == old or not old


# --- saving ---------------------------------------------------------------------------------


def test_saving_writes_as_the_user_would(buffer: Buffer) -> None:
    buffer.editor.command("autocmd BufWritePre * call setline(1, toupper(getline(1)))")
    buffer.editor.command("autocmd BufWritePost * let g:written = expand('<afile>:t')")
    buffer.replace([(1, 2, ["2"])])
    saved = buffer.save()
    assert (saved["ok"], saved["modified"]) == (True, False)
    assert buffer.path.read_bytes() == b"ONE\n2\nthree\n"
    assert saved["changedtick"] == buffer.snapshot()["changedtick"]
    assert buffer.editor.eval("g:written") == "f.txt"
    assert buffer.editor.messages() == ""


def test_saving_plainly_runs_no_autocommands(buffer: Buffer) -> None:
    buffer.editor.command("autocmd BufWritePre,BufWriteCmd,FileWriteCmd * let g:ran = 1")
    buffer.replace([(1, 2, ["2"])])
    assert buffer.save(True)["ok"]
    assert buffer.path.read_bytes() == b"one\n2\nthree\n"
    assert buffer.editor.eval("exists('g:ran')") == 0


@pytest.mark.parametrize(
    "data",
    [b"one\ntwo", b"one\r\ntwo\r\n", b"\xef\xbb\xbfone\ntwo\n", b"one\0\ntwo\n", b"one\ntwo\r\n"],
)
def test_a_file_keeps_its_form(editor: Editor, workspace: Path, data: bytes) -> None:
    buffer = Buffer(editor, workspace / "form.txt", data)
    lines = buffer.snapshot()["lines"]
    buffer.replace([(1, 2, [lines[1].replace("two", "2")])])
    assert buffer.save()["ok"]
    assert buffer.path.read_bytes() == data.replace(b"two", b"2")
    assert editor.eval("&fixendofline") == 1


@pytest.mark.parametrize(
    ("lines", "form", "data"),
    [
        (["a"], {"eol": False}, b"a"),
        (["a"], {"bomb": True}, b"\xef\xbb\xbfa\n"),
        (["a", "b"], {"fileformat": "dos"}, b"a\r\nb\r\n"),
        ([], {}, b""),
        ([""], {}, b"\n"),
        (["", ""], {}, b"\n\n"),
    ],
)
@pytest.mark.parametrize("before", [b"one\n", b"", b"\n"])
def test_the_form_can_change_with_the_text(
    editor: Editor,
    workspace: Path,
    before: bytes,
    lines: list[str],
    form: dict[str, Any],
    data: bytes,
) -> None:
    buffer = Buffer(editor, workspace / "x", before)
    whole = {"eol": True, "bomb": False, "fileformat": "unix", **form}
    assert buffer.replace([(0, 1, lines)], **whole)["ok"]
    assert buffer.snapshot()["lines"] == lines
    editor.command("setlocal modified")
    assert buffer.save()["ok"]
    assert buffer.path.read_bytes() == data


def test_a_new_file_is_saved_with_the_folders_it_needs(editor: Editor, workspace: Path) -> None:
    editor.command("edit deep/er/new.txt")
    path = workspace / "deep/er/new.txt"
    assert look(editor, str(path)) is None
    (workspace / "deep").mkdir()
    editor.command("edit deep/new.txt")
    path = workspace / "deep/new.txt"
    tick = look(editor, str(path))["changedtick"]
    assert call(editor, "replace", str(path), tick, [[0, 1, ["hello"]]])["ok"]
    assert call(editor, "save", str(path))["ok"]
    assert path.read_text() == "hello\n"


@pytest.mark.parametrize(
    "command",
    [
        "throw 'it broke'",
        "lua error('it broke')",
        "echoerr 'it broke'",
        "call Broken('it broke')",
    ],
)
def test_what_breaks_before_writing_is_told_and_nothing_is_written(
    buffer: Buffer, command: str
) -> None:
    buffer.editor.command(f"autocmd BufWritePre * {command}")
    buffer.replace([(1, 2, ["2"])])
    saved = buffer.save()
    assert not saved["ok"]
    assert re.fullmatch("it broke|Unknown function: Broken", saved["message"])
    assert buffer.path.read_bytes() == b"one\ntwo\nthree\n"
    assert buffer.editor.messages() == ""
    assert not buffer.editor.blocking()


def test_what_breaks_after_writing_is_told_too(buffer: Buffer) -> None:
    buffer.editor.command("autocmd BufWritePost * throw 'the linter broke'")
    buffer.replace([(1, 2, ["2"])])
    saved = buffer.save()
    assert saved["ok"]
    assert saved["message"] == "the linter broke"
    assert buffer.path.read_bytes() == b"one\n2\nthree\n"


def test_a_file_that_cannot_be_written_is_told_without_numbers(
    buffer: Buffer, workspace: Path
) -> None:
    buffer.replace([(1, 2, ["2"])])
    buffer.path.unlink()
    buffer.path.mkdir()
    saved = buffer.save()
    assert not saved["ok"]
    assert "directory" in saved["message"]
    assert "E17" not in saved["message"]


def test_a_readonly_file_is_written_and_keeps_its_mode(buffer: Buffer) -> None:
    buffer.path.chmod(0o444)
    buffer.editor.command("edit!")
    assert buffer.snapshot()["readonly"]
    buffer.replace([(1, 2, ["2"])])
    assert buffer.save()["ok"]
    assert buffer.path.read_bytes() == b"one\n2\nthree\n"
    assert buffer.path.stat().st_mode & 0o777 == 0o444
    assert buffer.snapshot()["readonly"]


@pytest.mark.parametrize(
    ("option", "seen"), [("set autoread", "from elsewhere"), ("set noautoread", "one")]
)
def test_a_file_is_seen_as_the_disk_has_it_where_the_user_reads_it_again(
    buffer: Buffer, option: str, seen: str
) -> None:
    buffer.editor.command(option)
    _write_later(buffer.path, b"from elsewhere\n")
    assert buffer.snapshot()["lines"][0] == seen
    assert buffer.text().split("\n")[0] == seen
    assert buffer.editor.messages() == ""


def test_the_screen_shows_what_became_of_files_without_unsaved_changes(
    buffer: Buffer, workspace: Path
) -> None:
    buffer.editor.command("split")
    mine = Buffer(buffer.editor, workspace / "mine.txt")
    buffer.editor.keys("Amine<Esc>")
    for path in (buffer.path, mine.path):
        _write_later(path, b"from elsewhere\n")
    call(buffer.editor, "refresh")
    assert buffer.text() == "from elsewhere"
    assert mine.text() == "onemine\ntwo\nthree"
    assert buffer.editor.messages() == ""


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_a_file_that_changed_on_the_disk_is_not_overwritten(buffer: Buffer, autoread: str) -> None:
    buffer.editor.command(f"set {autoread}")
    buffer.replace([(1, 2, ["2"])])
    _write_later(buffer.path, b"from elsewhere\n")
    saved = buffer.save()
    assert (saved["ok"], saved["reason"]) == (False, "moved")
    assert buffer.path.read_bytes() == b"from elsewhere\n"
    assert buffer.editor.messages() == ""


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_a_buffer_whose_file_changed_is_not_changed(buffer: Buffer, autoread: str) -> None:
    buffer.editor.command(f"set {autoread}")
    tick = buffer.snapshot()["changedtick"]
    _write_later(buffer.path, b"from elsewhere\n")
    done = buffer.replace([(1, 2, ["2"])], tick)
    assert (done["ok"], done["reason"]) == (False, "moved")
    assert buffer.editor.messages() == ""


@pytest.mark.parametrize("autoread", ["autoread", "noautoread"])
def test_a_file_that_was_only_touched_is_saved(buffer: Buffer, autoread: str) -> None:
    buffer.editor.command(f"set {autoread}")
    _write_later(buffer.path, buffer.path.read_bytes())
    assert buffer.replace([(1, 2, ["2"])])["ok"]
    assert buffer.save()["ok"]
    assert buffer.path.read_bytes() == b"one\n2\nthree\n"


def test_what_the_user_answers_to_changed_files_is_not_asked(buffer: Buffer) -> None:
    buffer.editor.command("set noautoread | autocmd FileChangedShell * let v:fcs_choice = 'ask'")
    _write_later(buffer.path, b"from elsewhere\n")
    assert buffer.replace([(1, 2, ["2"])])["reason"] == "moved"
    assert not buffer.editor.blocking()


def test_a_file_python_wrote_is_taken_in(buffer: Buffer) -> None:
    buffer.editor.command("set noautoread")
    _write_later(buffer.path, b"from python\n")
    call(buffer.editor, "reload", str(buffer.path))
    assert buffer.text() == "from python"
    assert buffer.editor.messages() == ""


def test_a_file_python_wrote_leaves_unsaved_changes_alone(buffer: Buffer) -> None:
    buffer.editor.keys("Amine<Esc>")
    _write_later(buffer.path, b"from python\n")
    call(buffer.editor, "reload", str(buffer.path))
    assert buffer.text() == "onemine\ntwo\nthree"
    assert buffer.editor.messages() == ""


def test_a_file_python_deleted_is_not_complained_of(buffer: Buffer) -> None:
    buffer.path.unlink()
    call(buffer.editor, "reload", str(buffer.path))
    assert buffer.text() == "one\ntwo\nthree"
    assert buffer.editor.messages() == ""


def _write_later(path: Path, data: bytes) -> None:
    """Write a file so that its time differs."""
    path.write_bytes(data)
    later = path.stat().st_mtime + 5
    os.utime(path, (later, later))


# --- a new name -----------------------------------------------------------------------------


def test_a_buffer_follows_its_renamed_file_with_its_undo_history(buffer: Buffer) -> None:
    buffer.replace([(1, 2, ["TWO"])])
    buffer.save()
    buffer.editor.command("2mark k")
    new = buffer.path.with_name("f.py")
    buffer.path.rename(new)
    tick = buffer.snapshot()["changedtick"]
    call(buffer.editor, "rename", str(buffer.path), str(new))
    assert buffer.editor.eval(f"bufname({buffer.number})") == "f.py"
    assert look(buffer.editor, str(buffer.path)) is None
    assert look(buffer.editor, str(new))["changedtick"] == tick
    assert buffer.editor.eval("&filetype") == "python"
    assert buffer.mark("k") == 2
    names = buffer.editor.lua(
        "return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"
    )
    assert str(buffer.path) not in names
    buffer.editor.keys("u")
    assert buffer.text() == "one\ntwo\nthree"
    buffer.editor.command("write")
    assert new.read_text() == "one\ntwo\nthree\n"
    assert not buffer.path.exists()


# --- taking back ----------------------------------------------------------------------------


def test_what_is_taken_back_leaves_no_undo_step_behind(buffer: Buffer) -> None:
    form = {"eol": True, "bomb": False, "fileformat": "unix"}
    buffer.editor.keys("Aown<Esc>")
    buffer.editor.command("write")
    before = buffer.editor.eval("undotree().seq_cur")
    made = buffer.replace(
        [(0, 1, ["ONE"]), (3, 3, ["four"])], eol=False, bomb=False, fileformat="dos"
    )
    assert buffer.editor.eval("&modified")
    path = str(buffer.path)
    call(buffer.editor, "undo", path, made["changedtick"], made["undo"], form)
    assert buffer.text() == "oneown\ntwo\nthree"
    assert buffer.editor.eval("undotree().seq_cur") == before
    assert not buffer.editor.eval("&modified")
    assert buffer.snapshot()["eol"]
    buffer.editor.keys("u")
    assert buffer.text() == "one\ntwo\nthree"


def test_what_the_user_typed_since_is_not_taken_back(buffer: Buffer) -> None:
    form = {"eol": True, "bomb": False, "fileformat": "unix"}
    made = buffer.replace([(0, 1, ["ONE"])])
    buffer.editor.keys("Aown<Esc>")
    path = str(buffer.path)
    done = call(buffer.editor, "undo", path, made["changedtick"], made["undo"], form)
    assert (done["ok"], done["reason"]) == (False, "moved")
    assert "own" in buffer.text()


# --- a deleted file -------------------------------------------------------------------------


@pytest.mark.parametrize("shown", [True, False])
def test_a_buffer_nobody_looks_at_goes_with_its_file(buffer: Buffer, shown: bool) -> None:
    if not shown:
        buffer.editor.command("set hidden | enew")
    buffer.path.unlink()
    call(buffer.editor, "reload", str(buffer.path))
    assert bool(buffer.editor.eval(f"bufloaded({buffer.number})")) == shown
    assert bool(buffer.editor.eval(f"buflisted({buffer.number})")) == shown


def test_a_hidden_buffer_with_unsaved_changes_stays_when_its_file_goes(buffer: Buffer) -> None:
    buffer.editor.keys("Aown<Esc>")
    buffer.editor.command("set hidden")
    buffer.editor.command("enew")
    buffer.path.unlink()
    call(buffer.editor, "reload", str(buffer.path))
    assert buffer.text() == "oneown\ntwo\nthree"
