"""A diff in two columns, the old text beside the new, as wide screens show it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.nvim.render.diff import diff_document
from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk
from tests.support.chat import Chat
from tests.support.editor import Editor

WIDE, NARROW = (180, 40), (100, 30)
BEFORE = "def greet(name):\n    return 'Hello, ' + name\n"
AFTER = "def welcome(name, mark):\n    return f'Hello, {name}' + mark\n\n\n# the end\n"


@pytest.fixture
def wide(start_editor: StartEditor) -> Desk:
    """A desk with a chat that has room for two columns."""
    editor = start_editor({"ui": {"width": 0.9, "prompt_delay_ms": 0}}, init=QUIET_HOST, size=WIDE)
    return Desk(editor, Chat.open(editor))


def change(*texts: tuple[str, str]) -> Any:
    """The document of a change of files ``0.py``, ``1.py`` and so on."""
    files = [
        FileChange(f"/work/project/{at}.py", old.encode(), new.encode())
        for at, (old, new) in enumerate(texts)
    ]
    return diff_document(ChangeSet(tuple(files)), "/work/project")


def distant(count: int) -> tuple[str, str]:
    """Two versions of a text that differ at ``count`` places, each a hunk of its own."""
    old = "".join(f"value_{n} = {n}\n" + "# as it was\n" * 9 for n in range(count))
    return old, old.replace("value_", "other_")


def ask(desk: Desk, *texts: tuple[str, str]) -> None:
    desk.ask(kind="diff", subject="c1", doc=change(*texts or [(BEFORE, AFTER)]))
    desk.chat.focus()
    desk.editor.keys("ga")


def shown(editor: Editor) -> list[str]:
    """The lines above the facts, from the first file on."""
    lines: list[str] = editor.floats()[0].lines
    facts = next(at for at, line in enumerate(lines) if line.startswith("in      "))
    return lines[: facts - 1]


def pairs(lines: list[str]) -> list[tuple[str, str]]:
    """Both sides of the lines that have two, without what fills them up."""
    both = [line.split("│") for line in lines if "│" in line]
    return [(left.rstrip(), right.rstrip()) for left, right in both]


def test_where_there_is_room_the_new_text_stands_beside_the_old(wide: Desk) -> None:
    ask(wide)
    assert pairs(shown(wide.editor)) == [
        ("1 - def greet(name):", "1 + def welcome(name, mark):"),
        ("2 -     return 'Hello, ' + name", "2 +     return f'Hello, {name}' + mark"),
        ("", "3 +"),
        ("", "4 +"),
        ("", "5 + # the end"),
    ]


def test_the_colours_of_both_sides_stand_at_their_text(wide: Desk) -> None:
    ask(wide)
    assert wide.groups("def greet") == ["AgentChatDelete", "AgentChatCodeKeyword"]
    assert wide.groups("def welcome") == ["AgentChatAdd", "AgentChatCodeKeyword"]
    assert "AgentChatDeleteWord" in wide.groups("greet(")
    assert "AgentChatAddWord" in wide.groups("welcome(")
    assert wide.groups("1 + def") == ["AgentChatAdd", "AgentChatLineNr"]


def test_a_key_goes_from_two_columns_to_one_and_back(wide: Desk) -> None:
    ask(wide, distant(3))
    two = shown(wide.editor)
    wide.editor.keys("]c]c|")
    assert pairs(shown(wide.editor)) == []
    wide.editor.keys("x")
    assert "2 of 3 kept" in wide.editor.floats()[0].footer
    assert wide.editor.eval("getline('.')") == "@@ -8,7 +8,7 @@"
    wide.editor.keys("|")
    assert shown(wide.editor) == two
    assert wide.editor.eval("getline('.')") == "@@ -8,7 +8,7 @@"
    wide.editor.keys("a")
    (answer,) = wide.told("answer")
    assert [(hunk["index"], hunk["keep"]) for hunk in answer["hunks"]] == [(1, False)]


def test_the_choice_holds_for_what_is_shown_next(wide: Desk) -> None:
    ask(wide)
    wide.editor.keys("|q")
    wide.stage(doc=change((BEFORE, AFTER)))
    wide.call("approval.close", wide.chat.id, "p1")
    wide.editor.wait(lambda: "AST Edit" in wide.editor.float_text(), why="the review is shown")
    assert pairs(wide.editor.floats()[0].lines) == []


def test_hunks_and_files_are_walked_and_decided_in_two_columns(wide: Desk) -> None:
    ask(wide, distant(2), (BEFORE, AFTER))
    wide.editor.keys("]f]fx")
    wide.editor.keys("[f]c]cC")
    wide.editor.type("why?")
    wide.editor.keys("<CR>")
    wide.editor.wait_screen("why?")
    wide.editor.keys("a")
    (answer,) = wide.told("answer")
    assert [(hunk["path"][-4:], hunk["index"], hunk["keep"]) for hunk in answer["hunks"]] == [
        ("0.py", 1, True),
        ("1.py", 0, False),
    ]


def test_the_line_under_the_cursor_names_the_hunk(wide: Desk) -> None:
    ask(wide, distant(3))
    wide.editor.keys("]c]c]cjjjx")
    wide.editor.keys("a")
    (answer,) = wide.told("answer")
    assert [hunk["index"] for hunk in answer["hunks"]] == [2]


def test_a_split_and_a_tab_show_what_their_width_allows(wide: Desk) -> None:
    ask(wide, distant(3))
    wide.editor.keys("]c]c")
    here = wide.editor.eval("getline('.')")
    for _ in range(3):
        wide.editor.keys("s")
        assert pairs(wide.editor.text().split("\n"))
        assert wide.editor.eval("getline('.')") == here
    wide.editor.keys("s")
    wide.editor.command("vnew | wincmd p")
    wide.editor.wait(lambda: not pairs(wide.editor.text().split("\n")), why="it has become narrow")
    assert wide.editor.eval("getline('.')") == here


def test_it_follows_the_size_of_the_screen(wide: Desk) -> None:
    ask(wide, distant(3))
    wide.editor.keys("]c]c")
    here = wide.editor.eval("getline('.')")
    for size, two in ((NARROW, False), (WIDE, True), ((20, 6), False), (WIDE, True)):
        wide.editor.resize(*size)
        assert bool(pairs(shown(wide.editor))) is two
        assert wide.editor.eval("getline('.')") == here
    assert wide.told("answer") == []
    assert wide.editor.messages() == ""


@pytest.mark.parametrize(
    ("setting", "size", "two"),
    [
        ("auto", NARROW, False),
        (True, NARROW, True),
        (True, (50, 20), False),
        (False, WIDE, False),
    ],
)
def test_the_setting_says_when(
    start_editor: StartEditor, setting: Any, size: tuple[int, int], two: bool
) -> None:
    editor = start_editor({"ui": {"side_by_side": setting}}, init=QUIET_HOST, size=size)
    desk = Desk(editor, Chat.open(editor))
    ask(desk)
    assert bool(pairs(shown(editor))) is two


def test_a_wrong_setting_is_told_and_two_columns_come_where_they_fit(
    start_editor: StartEditor,
) -> None:
    editor = start_editor(
        {"ui": {"side_by_side": "always", "width": 0.9}}, init=QUIET_HOST, size=WIDE
    )
    desk = Desk(editor, Chat.open(editor))
    ask(desk)
    editor.wait_notice("ui.side_by_side must be true, false or 'auto'")
    assert pairs(shown(editor))


def test_where_two_columns_have_no_room_the_key_says_so(start_editor: StartEditor) -> None:
    editor = start_editor(init=QUIET_HOST, size=(50, 20))
    desk = Desk(editor, Chat.open(editor))
    ask(desk)
    editor.keys("|")
    editor.wait_notice("for two columns")


def test_a_file_without_lines_stays_as_it_is(wide: Desk) -> None:
    binary = FileChange("/work/project/x", b"\0", b"\0\0")
    text = FileChange("/work/project/y", b"a\n", b"b")
    wide.ask(kind="diff", doc=diff_document(ChangeSet((binary, text)), "/work/project"))
    lines = shown(wide.editor)
    assert "(binary file, 1 byte → 2 bytes)" in lines
    assert pairs(lines) == [("1 - a", "1 + b"), ("", "    \\ No newline at end of file")]


def test_a_great_change_comes_in_two_columns_too(wide: Desk) -> None:
    ask(wide, distant(400))
    wide.editor.wait(lambda: pairs(shown(wide.editor)), why="it is put into two columns")
    wide.editor.keys("G[cxa")
    (answer,) = wide.told("answer")
    assert [hunk["index"] for hunk in answer["hunks"]] == [399]


TEXTS = st.lists(
    st.text(st.sampled_from("ab (\t\u202eé日👍🏽e\u0301"), max_size=90), max_size=6
).map("\n".join)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TEXTS, new=TEXTS)
def test_of_no_text_anything_is_cut(wide: Desk, old: str, new: str) -> None:
    if old == new:
        return
    code = "return require('agentchat.diff.columns').arrange(..., 100, function() end).lines"
    document = change((old, new))
    lines = wide.editor.lua(
        code.replace("...", "{ lines = (...).lines, rows = {}, hunks = (...).hunks }"), document
    )
    facing = [line.split("│") for line in lines if "│" in line]
    for side, sign in ((0, "-"), (1, "+")):
        (digits,) = {hunk["digits"] for hunk in document["hunks"]}
        drawn = rejoined([both[side] for both in facing], digits)
        there = texts(document["lines"], digits, sign)
        assert [bare(line) for line in drawn] == [bare(line) for line in there]
    widths = wide.editor.lua(
        "return vim.tbl_map(vim.api.nvim_strwidth, ...)", [b[0] for b in facing]
    )
    assert len(set(widths)) == 1


def rejoined(cells: list[str], digits: int) -> list[str]:
    """The texts of one side, what goes on below put back behind its line."""
    found: list[str] = []
    for cell in cells:
        text = cell[digits + 3 :]
        if cell[digits + 1] == "↳":
            found[-1] += text
        elif cell.strip():
            found.append(text)
    return found


def texts(lines: list[str], digits: int, sign: str) -> list[str]:
    """The texts of the lines of one side in a diff of one column."""
    body = lines[2:]
    kept, kind = [], " "
    for line in body:
        if line[: 2 * digits + 1].strip():
            kind = line[2 * digits + 2]
        if kind in (" ", sign):
            kept.append(line[2 * digits + 4 :])
    return kept


def bare(text: str) -> str:
    """A text without blanks, which fill columns up and stand for tabs."""
    return text.replace(" ", "").replace("\t", "")
