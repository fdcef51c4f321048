"""The tools see and change what the user sees: loaded buffers, unsaved changes included."""

from __future__ import annotations

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import Tool
from agentchat.tools.builtin import delete, edit, grep, read, write
from agentchat.workspace.buffers import BuffersWorkspace
from agentchat.workspace.local import LocalWorkspace
from tests.tools.conftest import Bench
from tests.workspace.editor import Buffers


@pytest.fixture
def editor(bench: Bench) -> Buffers:
    editor = Buffers()
    bench.workspace = BuffersWorkspace(LocalWorkspace(str(bench.root)), editor)
    return editor


async def test_an_unsaved_buffer_is_read_searched_and_edited_and_not_saved(
    bench: Bench, editor: Buffers
) -> None:
    path = bench.write("a", "disk\n")
    editor.load(path, "mine\nneedle\n")
    assert (await bench.call(read.TOOL, path="a")).text == "mine\nneedle\n"
    assert (await bench.call(grep.TOOL, pattern="needle|disk")).text == "a:2: needle"
    result = await bench.call(edit.TOOL, path="a", old_text="needle", new_text="pin")
    first, note = result.text.split("\n")
    assert first == "Edited a: 1 replacement."
    assert note.startswith("Not saved: ")
    assert editor.lines(path) == ("mine", "pin")
    assert path.read_text() == "disk\n"


async def test_the_lines_that_a_formatter_changed_are_reported(
    bench: Bench, editor: Buffers
) -> None:
    editor.load(bench.write("a", "1\n2\n"))
    editor.formatter = lambda lines: tuple(line.strip() for line in lines)
    result = await bench.call(write.TOOL, path="a", content=" 1\n2\n 3\n 4\n")
    assert result.text.split("\n") == [
        "Wrote a (11 bytes).",
        "Saving changed line 1, lines 3-4 as well (a formatter or autocommand).",
    ]


async def test_a_long_unsaved_buffer_is_read_piece_by_piece(bench: Bench, editor: Buffers) -> None:
    text = "".join(f"{n:0>99}\n" for n in range(10_000))
    editor.load(bench.write("a", ""), text)
    result = await bench.call(read.TOOL, path="a", offset=9_999)
    assert result.text == text[-200:]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (edit.TOOL, {"old_text": "b", "new_text": "B"}),
        (write.TOOL, {"content": "x"}),
    ],
    ids=["edit", "write"],
)
async def test_a_buffer_that_cannot_be_changed_is_refused_before_the_question(
    bench: Bench, editor: Buffers, tool: Tool, given: dict[str, str]
) -> None:
    editor.load(bench.write("a", "b\n"), modifiable=False)
    with pytest.raises(ToolError) as refused:
        await bench.dry_run(tool, path="a", **given)
    assert str(refused.value) == "The buffer of a is 'nomodifiable'. Nothing was changed."


async def test_a_file_with_unsaved_changes_is_not_deleted_and_nobody_is_asked(
    bench: Bench, editor: Buffers
) -> None:
    editor.load(bench.write("a", "b\n"), "mine\n")
    with pytest.raises(ToolError) as refused:
        await bench.dry_run(delete.TOOL, path="a")
    said = "a is open with the user's unsaved changes. Nothing was changed."
    assert str(refused.value) == said
