"""``edit``, ``write`` and ``delete``: shown first, then made exactly as shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.tools.tool import ArgumentError, Tool
from agentchat.tools.builtin import delete, edit, write
from tests.tools.conftest import Bench


def fingerprint(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """What is on disk below a directory: inode, time of change and bytes of each file."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(root)): (
            path.stat().st_ino,
            path.stat().st_mtime_ns,
            path.read_bytes(),
        )
        for path in files
    }


ONE = {"old_text": "b", "new_text": "B"}


@pytest.mark.parametrize(
    "given",
    [
        {"edits": [ONE]},
        {"edits": [{"oldText": "b", "newText": "B"}]},
        {"edits": [{"old_string": "b", "new_string": "B", "replace_all": True}]},
        {"edits": '[{"old_text": "b", "new_text": "B"}]'},
        {"edits": '{"old_text": "b", "new_text": "B"}'},
        {"edits": ONE},
        {"old_string": "b", "new_string": "B"},
        {"oldText": "b", "newText": "B"},
        {"old_text": "b", "new_text": "B", "replaceAll": False},
        {"old_text": "b", "new_text": "B", "edits": []},
    ],
)
async def test_edits_may_be_written_in_several_ways(bench: Bench, given: dict[str, Any]) -> None:
    path = bench.write("f", "a\nb\nc\n")
    result = await bench.call(edit.TOOL, path="f", **given)
    assert result.text == "Edited f: 1 replacement."
    assert path.read_text() == "a\nB\nc\n"


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"path": "f", "edits": []},
         [("edits", "edits must contain at least one replacement. Nothing was changed.")]),
        ({"path": "f"}, [("edits", "Field required")]),
        ({"path": "f", "edits": "nonsense"}, [("edits", "Input should be a valid list")]),
        ({"path": "f", "edits": [{"old_text": "a"}]}, [("edits[0].new_text", "Field required")]),
        ({"edits": [{**ONE, "line": 3}]},
         [("path", "Field required"), ("edits[0].line", "Extra inputs are not permitted")]),
        ({"path": "f", "edits": [{"old_text": 1, "new_text": "B"}]},
         [("edits[0].old_text", "Input should be a valid string")]),
    ],
)  # fmt: skip
def test_edits_that_do_not_fit_the_schema_are_named(
    given: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    with pytest.raises(ArgumentError) as raised:
        edit.TOOL.arguments.parse(given)
    assert list(raised.value.problems) == problems


async def test_replacements_are_counted_and_a_tolerant_match_is_reported(bench: Bench) -> None:
    path = bench.write("f", "foo\n\tbar\nfoo\n")
    result = await bench.call(
        edit.TOOL,
        path="f",
        edits=[
            {"old_text": "foo", "new_text": "x", "replace_all": True},
            {"old_text": "    bar\n", "new_text": "    baz\n"},
        ],
    )
    first, *notes = result.text.split("\n")
    assert first == "Edited f: 3 replacements."
    assert [note.split(" at ")[0] for note in notes] == ["edits[1] matched tolerantly"]
    assert path.read_text() == "x\n\tbaz\nx\n"


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        ("foo foo foo", {"old_text": "foo", "new_text": "x"}, "matches 3 places in f"),
        ("a", {"old_text": "b", "new_text": "x"}, r"edits\[0\]: old_text not found in f\."),
        ("a", {"old_text": "", "new_text": "x"}, "Use write to create"),
        (b"a\0b", {"old_text": "a", "new_text": "x"}, "f is binary"),
        (None, {"old_text": "a", "new_text": "x"}, "Path not found: f"),
    ],
)
async def test_an_edit_that_cannot_be_made_is_refused_in_the_dry_run(
    bench: Bench, content: str | bytes | None, given: dict[str, str], message: str
) -> None:
    if content is not None:
        bench.write("f", content)
    before = fingerprint(bench.root)
    with pytest.raises(ToolError, match=message):
        await bench.dry_run(edit.TOOL, path="f", **given)
    assert fingerprint(bench.root) == before


async def test_the_errors_of_an_edit_quote_no_secrets(bench: Bench) -> None:
    bench.write(".env", "KEY=hunter2\nOTHER=1\n")
    bench.write("f", "KEY=hunter2\nOTHER=1\n")
    given = {"old_text": "KEY=hunter\n", "new_text": "x"}
    with pytest.raises(ToolError, match=r"not found in f[^$]*hunter2"):
        await bench.dry_run(edit.TOOL, path="f", **given)
    with pytest.raises(ToolError, match=r"not found in \.env\. Nothing was changed\.$"):
        await bench.dry_run(edit.TOOL, path=".env", **given)


CALLS = [
    (edit.TOOL, {"path": "f", **ONE}),
    (write.TOOL, {"path": "f", "content": "new"}),
    (write.TOOL, {"path": "new/file", "content": "new"}),
    (delete.TOOL, {"path": "f"}),
]


@pytest.mark.parametrize(("tool", "given"), CALLS)
async def test_a_dry_run_changes_nothing(bench: Bench, tool: Tool, given: dict[str, Any]) -> None:
    bench.write("f", "a\nb\n")
    before = fingerprint(bench.root)
    preview = await bench.dry_run(tool, **given)
    assert preview.change is not None
    assert fingerprint(bench.root) == before
    assert sorted(os.listdir(bench.root)) == ["f"]


@pytest.mark.parametrize(("tool", "given"), CALLS)
async def test_what_was_shown_is_what_is_made(
    bench: Bench, tool: Tool, given: dict[str, Any]
) -> None:
    bench.write("f", "a\nb\n")
    preview = await bench.dry_run(tool, **given)
    assert preview.change is not None
    await bench.call(tool, preview, **given)
    (file,) = preview.change.files
    assert (Path(file.path).read_bytes() if os.path.exists(file.path) else None) == file.after


@pytest.mark.parametrize(("tool", "given"), CALLS)
async def test_a_file_that_moved_since_it_was_shown_is_left_alone(
    bench: Bench, tool: Tool, given: dict[str, Any]
) -> None:
    bench.write("f", "a\nb\n")
    preview = await bench.dry_run(tool, **given)
    assert preview.change is not None
    bench.write(given["path"], "someone else's\n")
    before = fingerprint(bench.root)
    with pytest.raises(StalePreview, match=f"{given['path']} changed since the preview"):
        await bench.call(tool, preview, **given)
    assert fingerprint(bench.root) == before


async def test_write_makes_folders_and_counts_bytes(bench: Bench) -> None:
    result = await bench.call(write.TOOL, path="a/b/c.txt", content="héllo")
    assert result.text == "Created a/b/c.txt (6 bytes)."
    assert (bench.root / "a/b/c.txt").read_bytes() == "héllo".encode()
    result = await bench.call(write.TOOL, path="a/b/c.txt", content="x")
    assert result.text == "Wrote a/b/c.txt (1 bytes)."


async def test_the_dry_run_of_write_compares_with_what_is_there(bench: Bench) -> None:
    path = bench.write("f", "old\n")
    preview = await bench.dry_run(write.TOOL, path="f", content="new\n")
    assert isinstance(preview.change, ChangeSet)
    (file,) = preview.change.files
    assert (file.before, file.after, file.path) == (b"old\n", b"new\n", str(path))


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        (write.TOOL, {"path": "d", "content": ""}, "Path is a directory, not a file: d"),
        (write.TOOL, {"path": "f/x", "content": ""}, "Cannot write f/x: Not a directory"),
        (write.TOOL, {"path": "x", "content": "\udcff"}, "lone surrogates"),
        (delete.TOOL, {"path": "d"}, "Path is a directory, not a file: d"),
        (delete.TOOL, {"path": "no"}, "Path not found: no"),
        (delete.TOOL, {"path": "link"}, "link is a link to f"),
    ],
)
async def test_what_cannot_be_written_is_named(
    bench: Bench, tool: Tool, given: dict[str, Any], message: str
) -> None:
    bench.write("f", "a\nb\n")
    (bench.root / "d").mkdir()
    os.symlink("f", bench.root / "link")
    before = fingerprint(bench.root)
    with pytest.raises(ToolError, match=message):
        await bench.call(tool, **given)
    assert fingerprint(bench.root) == before


@pytest.mark.parametrize(("tool", "given"), CALLS)
async def test_a_huge_file_is_refused(bench: Bench, tool: Tool, given: dict[str, Any]) -> None:
    path = bench.write(given["path"], "")
    os.truncate(path, 200_000_000)
    with pytest.raises(ToolError, match="larger than 64 MiB"):
        await bench.dry_run(tool, **given)


async def test_writing_through_a_link_writes_the_file_it_names(bench: Bench) -> None:
    bench.write("f", "a\nb\n")
    os.symlink("f", bench.root / "link")
    result = await bench.call(edit.TOOL, path="link", **ONE)
    assert result.text == "Edited f: 1 replacement."
    assert (bench.root / "f").read_text() == "a\nB\n"
    assert (bench.root / "link").is_symlink()


async def test_delete_removes_the_file(bench: Bench) -> None:
    bench.write("d/f", "a\n")
    assert (await bench.call(delete.TOOL, path="d/f")).text == "Deleted d/f."
    assert os.listdir(bench.root / "d") == []
