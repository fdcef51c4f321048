"""What floats draw: lines, and highlights at byte columns that fit them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.nvim.render.diff import (
    Document,
    command_document,
    diff_document,
    json_document,
    text_document,
)

PYTHON = b'''\
"""A module
that says def and return in words.
"""


def connect(timeout=30):
    return timeout
'''


def diff(before: bytes | None, after: bytes | None, path: str = "/w/src/a.py") -> Document:
    return diff_document(ChangeSet((FileChange(path, before, after),)), "/w")


def marked(document: Document, group: str) -> list[str]:
    """Return the parts of lines that have a highlight."""
    return [text for text, name in parts(document) if name == group]


def parts(document: Document) -> Iterator[tuple[str, str]]:
    for text, marks in zip(document["lines"], document["marks"], strict=True):
        line = text.encode()
        for mark in marks.split():
            start, end, group = mark.split(":")
            assert 0 <= int(start) < int(end) <= len(line)
            yield line[int(start) : int(end)].decode(), group


def rows(document: Document, group: str) -> list[str]:
    return [document["lines"][row] for row, name in document["rows"] if name == group]


def test_a_diff_has_the_file_the_hunk_and_numbered_lines() -> None:
    document = diff(PYTHON, PYTHON.replace(b"=30", b"=60"))
    assert document["lines"] == [
        "M src/a.py  +1 -1",
        "@@ -3,5 +3,5 @@",
        '3 3   """',
        "4 4   ",
        "5 5   ",
        "6   - def connect(timeout=30):",
        "  6 + def connect(timeout=60):",
        "7 7       return timeout",
    ]
    assert rows(document, "AgentChatFile") == ["M src/a.py  +1 -1"]
    assert rows(document, "AgentChatHunk") == ["@@ -3,5 +3,5 @@"]
    assert rows(document, "AgentChatDelete") == ["6   - def connect(timeout=30):"]
    assert rows(document, "AgentChatAdd") == ["  6 + def connect(timeout=60):"]


def test_changed_words_are_marked_on_both_sides() -> None:
    document = diff(PYTHON, PYTHON.replace(b"=30", b"=60"))
    assert marked(document, "AgentChatDeleteWord") == ["30"]
    assert marked(document, "AgentChatAddWord") == ["60"]


def test_code_has_the_colours_of_its_language() -> None:
    document = diff(PYTHON, PYTHON.replace(b"=30", b"=60"))
    assert "def" in marked(document, "AgentChatCodeKeyword")
    assert "connect" in marked(document, "AgentChatCodeFunction")
    assert "60" in marked(document, "AgentChatCodeNumber")


def test_a_string_of_many_lines_is_coloured_as_one() -> None:
    document = diff(PYTHON, PYTHON.replace(b"in words", b"in other words"))
    assert "that says def and return in other words." in marked(document, "AgentChatCodeComment")
    keywords = [text for text in marked(document, "AgentChatCodeKeyword") if text == "return"]
    assert keywords == []


@pytest.mark.parametrize(
    ("path", "text", "group", "part"),
    [
        ("/w/a.lua", b"local x = 1\n", "AgentChatCodeKeyword", "local"),
        ("/w/a.rs", b"fn main() {}\n", "AgentChatCodeFunction", "main"),
        ("/w/Makefile", b"# c\nall:\n", "AgentChatCodeComment", "# c"),
        ("/w/script", b"#!/usr/bin/env python3\nreturn\n", "AgentChatCodeKeyword", "return"),
    ],
)
def test_the_language_is_known_by_name_or_first_line(
    path: str, text: bytes, group: str, part: str
) -> None:
    assert part in marked(diff(None, text, path), group)


def test_a_file_of_no_known_language_has_no_colours() -> None:
    document = diff(None, b"def x\n", "/w/notes.unknown")
    assert {group for _, group in parts(document)} == {"AgentChatLineNr"}


def test_hidden_characters_are_shown_and_marked() -> None:
    document = diff(b"x = 1\n", "x = 1 # \u202e} \u200b\n".encode())
    assert "  1 + x = 1 # <U+202E>} <U+200B>" in document["lines"]
    assert marked(document, "AgentChatEscape") == ["<U+202E>", "<U+200B>"]


def test_columns_are_bytes_of_what_is_shown() -> None:
    document = diff(b"", 's = "é𝄞\u200b" # 日本\n'.encode())
    assert '"é𝄞<U+200B>"' in marked(document, "AgentChatCodeString")
    assert "# 日本" in marked(document, "AgentChatCodeComment")


def test_bytes_that_are_no_utf_8_are_shown() -> None:
    document = diff(b"a\xff\n", b"b\xff\n", "/w/a.txt")
    assert document["lines"][-1] == "  1 + b<0xFF>"


def test_hidden_characters_and_line_breaks_in_a_path_are_shown() -> None:
    first = diff(None, b"", "/w/a\u202eb\nc")["lines"][0]
    assert first == "A a<U+202E>b<U+000A>c  +0 -0  new file"


def test_tabs_stay_tabs() -> None:
    assert diff(b"", b"\tx\n", "/w/a.txt")["lines"][-1] == "  1 + \tx"


def test_a_missing_final_newline_is_said() -> None:
    assert diff(b"a\n", b"a", "/w/a.txt")["lines"][2:] == [
        "1   - a",
        "  1 + a",
        "      \\ No newline at end of file",
    ]


def test_changed_line_ends_are_seen() -> None:
    document = diff(b"a\r\n", b"a\n", "/w/a.txt")
    assert document["lines"][2:] == ["1   - a<U+000D>", "  1 + a"]


def test_line_ends_that_are_all_the_same_are_not_shown() -> None:
    document = diff(b"a\r\nb\r\n", b"a\r\nc\r\n", "/w/a.txt")
    assert document["lines"][2:] == ["1 1   a", "2   - b", "  2 + c"]


def test_a_path_outside_the_workspace_is_absolute() -> None:
    assert diff(b"a\n", None, "/etc/x")["lines"][0] == "D /etc/x  +0 -1  deleted"


def test_the_name_that_the_reader_was_told_is_used() -> None:
    file = FileChange("/real/a.py", None, b"x\n", display_path="link/a.py", mode=0o755)
    document = diff_document(ChangeSet((file,)), "/w")
    assert document["lines"][0] == "A link/a.py  +1 -0  new file  mode 0755"


def test_several_files_are_listed_and_stand_one_after_the_other() -> None:
    files = (
        FileChange("/w/a", None, b""),
        FileChange("/w/bb\u202e", b"\0", b"\0\0"),
        FileChange("/w/c", b"x\n", None),
    )
    assert diff_document(ChangeSet(files), "/w")["lines"] == [
        "3 files, +0 -1",
        "  A a           +0 -0  new file",
        "  M bb<U+202E>  binary",
        "  D c           +0 -1  deleted",
        "",
        "A a  +0 -0  new file",
        "(empty file)",
        "",
        "M bb<U+202E>  binary",
        "(binary file, 1 byte → 2 bytes)",
        "",
        "D c  +0 -1  deleted",
        "@@ -1,1 +0,0 @@",
        "1   - x",
    ]


def test_three_edits_far_apart_in_600_lines_are_under_50_lines() -> None:
    lines = [f"line {number}\n".encode() for number in range(600)]
    changed = [b"new\n" if number in {5, 300, 590} else line for number, line in enumerate(lines)]
    document = diff(b"".join(lines), b"".join(changed))
    assert len(document["lines"]) < 50
    assert len(rows(document, "AgentChatHunk")) == 3


def test_a_long_diff_is_whole_and_fast() -> None:
    before = b"".join(b"value_%d = compute(%d)\n" % (at, at) for at in range(20_000))
    start = time.process_time()
    document = diff(before, before.replace(b"compute", b"calculate"))
    assert time.process_time() - start < 3
    assert len(rows(document, "AgentChatDelete")) == 20_000
    assert len(rows(document, "AgentChatAdd")) == 20_000


def test_a_command_is_shown_in_full_with_the_colours_of_the_shell() -> None:
    document = command_document('for f in *; do\n  echo "$f" # é\ndone\u202e')
    assert document["lines"] == ["for f in *; do", '  echo "$f" # é', "done<U+202E>"]
    assert "# é" in marked(document, "AgentChatCodeComment")
    assert marked(document, "AgentChatEscape") == ["<U+202E>"]


def test_arguments_are_shown_one_a_line() -> None:
    document = json_document({"name": "x\u200b", "deep": {"n": 1}})
    assert document["lines"] == [
        "{",
        '  "name": "x<U+200B>",',
        '  "deep": {',
        '    "n": 1',
        "  }",
        "}",
    ]
    assert "1" in marked(document, "AgentChatCodeNumber")


def test_plain_text_is_shown_as_it_is() -> None:
    assert text_document("a\nb\n") == {"lines": ["a", "b", ""], "marks": ["", "", ""], "rows": []}


def test_all_files_of_a_group_are_named_with_what_changes_in_them() -> None:
    new = (f"/r/build/{n:03}.txt" for n in range(601))
    members = tuple(FileChange(path, None, f"in {path}\n".encode()) for path in new)
    members += (FileChange("/r/build/z.bin", None, b"y" * 100_000),)
    group = FileChange("/r/build", None, None, "build/: new, 602 files", members=members)
    lines = diff_document(ChangeSet((group,)), "/r")["lines"]
    for member in members[:-1]:
        number = member.name.rpartition("/")[2]
        at = next(i for i, line in enumerate(lines) if number in line)
        assert f"in {member.path}" in lines[at + 1]
    assert "z.bin" in lines[-1]
