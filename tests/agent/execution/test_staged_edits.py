"""Calls that change files, collected into one preview, on real files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.messages import Reply, ToolCall
from agentchat.core.permissions.policy import Mode
from agentchat.core.permissions.rules import Rule
from agentchat.core.tools.tool import ToolContext
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.hunk_decisions import HunkDecision, ProposedText
from agentchat.tools.builtin.catalogue import builtin_tools
from tests.agent.scene import Scene, Script
from tests.core.turn.world import RESOLVE, a_chat, a_tool

STAGED = "Staged as a preview - nothing has been changed yet."
FILES = {"a.py": "one = 1\ntwo = 2\nthree = 3\n", "b.py": "one = 1\n", "c.py": "gone = 1\n"}
Called = tuple[str, dict[str, Any]]
DONE = Reply("Done.")
TOOLS = tuple(tool for tool in builtin_tools("stage") if tool.name != RESOLVE.name)


def edit(path: str, *pairs: tuple[str, str]) -> Called:
    edits = [{"old_text": old, "new_text": new} for old, new in pairs]
    return "edit", {"path": path, "edits": edits}


def write(path: str, content: str) -> Called:
    return "write", {"path": path, "content": content}


def delete(path: str) -> Called:
    return "delete", {"path": path}


def replies(*called: Called) -> list[Script]:
    """A reply with these calls, and one that says goodbye."""
    calls = [
        ToolCall(str(number), name, json.dumps(given))
        for number, (name, given) in enumerate(called, 1)
    ]
    return [Reply(calls=tuple(calls), finish="tool_calls"), DONE]


def applies() -> Script:
    call = ToolCall("r", "resolve", '{"action": "apply", "reason": "ok"}')
    return Reply(calls=(call,), finish="tool_calls")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*.py"))}


def scene(folder: Path, script: list[Script], mode: Mode = "ask") -> Scene:
    made = Scene(folder, script, chat=a_chat(*TOOLS))
    made.chat.policy.mode = mode
    return made


async def staged(folder: Path, *called: Called) -> Scene:
    """A chat in which these calls were staged, and nobody asked."""
    made = scene(folder, replies(*called))
    await made.play()
    assert texts(folder) == FILES
    return made


async def resolved(made: Scene) -> None:
    await made.screen.until(lambda: bool(made.screen.named("AgentPreviewResolved")))


def change(made: Scene) -> ChangeSet:
    (pending,) = made.screen.staged
    assert pending.preview.change is not None
    return pending.preview.change


async def test_edits_of_one_reply_are_one_preview_and_applied_together(folder: Path) -> None:
    made = await staged(
        folder,
        edit("a.py", ("one = 1", "uno = 1"), ("two = 2", "dos = 2")),
        edit("b.py", ("one = 1", "uno = 1")),
        write("new.py", "four = 4\n"),
    )
    assert [one.label for one in made.screen.staged] == [
        "Edit: 3 replacements in 2 files, 1 file created"
    ]
    assert made.results()["1"] == f"{STAGED}\nIt would change a.py: +2 -2 lines."
    assert made.results()["2"].endswith("The preview is now Edit: 3 replacements in 2 files.")
    made.resolve("apply")
    await resolved(made)
    assert texts(folder) == {
        **FILES,
        "a.py": "uno = 1\ndos = 2\nthree = 3\n",
        "b.py": "uno = 1\n",
        "new.py": "four = 4\n",
    }
    assert len(made.chat.previews) == 0


async def test_a_later_call_works_on_what_an_earlier_one_staged(folder: Path) -> None:
    made = await staged(
        folder,
        edit("a.py", ("two = 2", "dos = 2")),
        edit("a.py", ("dos = 2", "deux = 2")),
        edit("a.py", ("dos = 2", "due = 2")),
        write("new.py", "x\n"),
        edit("new.py", ("x", "y")),
    )
    assert "old_text not found in a.py" in made.results()["3"]
    assert made.screen.staged[0].label == "Edit: 2 replacements in 1 file, 1 file created"
    made.resolve("apply")
    await resolved(made)
    assert (folder / "a.py").read_text() == "one = 1\ndeux = 2\nthree = 3\n"
    assert (folder / "new.py").read_text() == "y\n"


async def test_a_read_in_the_same_reply_sees_the_file_as_it_is(folder: Path) -> None:
    read = ("read", {"path": "b.py"})
    made = await staged(folder, edit("b.py", ("one = 1", "uno = 1")), read)
    assert made.results()["2"].startswith("one = 1")


async def test_a_file_deleted_here_and_written_there_is_renamed(folder: Path) -> None:
    made = await staged(folder, delete("a.py"), write("d.py", FILES["a.py"] + "four = 4\n"))
    (file,) = change(made).files
    assert (file.letter, file.name) == ("R", "a.py → d.py")
    assert [target.display_path for target in made.screen.staged[0].targets] == ["a.py", "d.py"]
    assert made.screen.staged[0].label == "Edit: 1 file renamed"
    made.resolve("apply")
    await resolved(made)
    assert "a.py" not in texts(folder)
    assert (folder / "d.py").read_text() == FILES["a.py"] + "four = 4\n"


async def test_nothing_is_applied_when_one_file_moved(folder: Path) -> None:
    made = await staged(
        folder, edit("a.py", ("one = 1", "uno = 1")), edit("b.py", ("one = 1", "uno = 1"))
    )
    (folder / "b.py").write_text("mine = 1\n")
    made.resolve("apply")
    await resolved(made)
    assert (folder / "a.py").read_text() == FILES["a.py"]
    assert (folder / "b.py").read_text() == "mine = 1\n"
    assert len(made.chat.previews) == 1


async def test_the_users_own_text_stays_when_more_joins(folder: Path) -> None:
    path, mine = str(folder / "a.py"), FILES["a.py"].replace("one = 1", "ein = 1")

    def meddle(arguments: Any, context: ToolContext) -> str:
        (pending,) = made.screen.staged
        made.session.preview_actions.replace_proposal(pending.id, ProposedText(path, mine))
        return "done"

    meddling = replace(a_tool("meddle", asks=False), steps=(meddle,))
    called: tuple[Called, ...] = (
        edit("a.py", ("one = 1", "uno = 1")),
        ("meddle", {}),
        edit("a.py", ("two = 2", "dos = 2")),
    )
    made = Scene(folder, replies(*called), chat=a_chat(*TOOLS, meddling))
    await made.play()
    (pending,) = made.screen.staged
    assert change(made).files[0].after == mine.replace("two = 2", "dos = 2").encode()
    assert pending.original_change is not None
    assert (
        pending.original_change.files[0].after
        == FILES["a.py"].replace("one = 1", "uno = 1").encode()
    )


async def test_hunks_are_kept_one_by_one_and_the_model_is_told(folder: Path) -> None:
    called = (edit("a.py", ("one = 1", "uno = 1")), edit("b.py", ("one = 1", "uno = 1")))
    made = scene(folder, [replies(*called)[0], applies(), DONE])
    no = HunkDecision(str(folder / "b.py"), 0, keep=False, comment="leave it")
    await made.play("go", ApprovalResponse("accept", hunk_decisions=(no,)))
    assert texts(folder) == {**FILES, "a.py": "uno = 1\ntwo = 2\nthree = 3\n"}
    assert (
        "Applied 0 of 1 hunks in b.py. Rejected: hunk 1 (lines 1-1): leave it"
        in (made.results()["r"])
    )


async def test_only_the_replacements_that_were_kept_are_counted(folder: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 41))
    (folder / "a.py").write_text(text)
    called = (
        edit("a.py", ("line 5\n", "LINE 5\nmore\n")),
        edit("a.py", ("line 30\n", "LINE 30\n"), ("line 31\n", "LINE 31\n")),
    )
    made = scene(folder, [replies(*called)[0], applies(), DONE])
    no = HunkDecision(str(folder / "a.py"), 0)
    await made.play("go", ApprovalResponse("accept", hunk_decisions=(no,)))
    (result,) = [m for m in made.chat.history.messages if getattr(m, "call_id", "") == "r"]
    assert result.details["sourceResultDetails"]["replacements"] == 2  # type: ignore[union-attr]


async def test_always_covers_later_edits_and_no_deletions(folder: Path) -> None:
    first, _ = replies(edit("a.py", ("one = 1", "uno = 1")))
    second = Reply(
        calls=(ToolCall("5", "edit", json.dumps(edit("b.py", ("one", "uno"))[1])),),
        finish="tool_calls",
    )
    third = Reply(calls=(ToolCall("6", "delete", '{"path": "c.py"}'),), finish="tool_calls")
    script = [first, applies(), second, applies(), third, applies(), DONE]
    made = scene(folder, script)
    await made.play("go", "always", "reject")
    assert texts(folder)["b.py"] == "uno = 1\n"
    assert "c.py" in texts(folder)


@pytest.mark.parametrize(
    ("called", "asked"), [(edit("b.py", ("one", "uno")), 0), (delete("c.py"), 1)]
)
async def test_edit_mode_applies_edits_but_asks_before_it_deletes(
    folder: Path, called: Called, asked: int
) -> None:
    made = scene(folder, [replies(called)[0], applies(), DONE], mode="edit")
    await made.play("go", *["reject"] * asked)
    assert (texts(folder) == FILES) == bool(asked)
    assert len(made.screen.named("AgentApprovalRequested")) == asked


async def test_a_protected_file_asks_when_the_preview_is_applied(folder: Path) -> None:
    made = scene(folder, [replies(write("Makefile", "all:\n"))[0], applies(), DONE], mode="yolo")
    await made.play("go", "reject")
    assert not (folder / "Makefile").exists()


async def test_a_rule_denies_before_anything_is_staged(folder: Path) -> None:
    made = scene(folder, replies(edit("a.py", ("one", "uno"))))
    made.chat.policy.rules = (Rule("deny", "edit", path="a.py"),)
    await made.play()
    assert made.results()["1"].startswith("Denied by rule")
    assert made.screen.staged == []


async def test_a_call_that_fits_nowhere_leaves_the_preview_as_it_is(folder: Path) -> None:
    made = await staged(
        folder, edit("a.py", ("one = 1", "uno = 1")), edit("b.py", ("nowhere", "x"))
    )
    assert "old_text not found in b.py" in made.results()["2"]
    assert [file.name for file in change(made).files] == ["a.py"]
