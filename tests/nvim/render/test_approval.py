"""Questions and previews as tables for the floats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.messages import ToolCall
from agentchat.core.permissions.grants import Scope
from agentchat.core.permissions.policy import EFFECT, Decision, Verdict
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import Capability, DryRunResult, Metadata
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.workspace import BufferState, FileTarget, Zone
from agentchat.nvim.render.approval import UNDRAWN, preview_table, request_table
from agentchat.tools.builtin.write import TOOL as WRITE

GIVEN = {"path": "a.txt", "content": "hello"}
BROKEN = DryRunResult(text=cast("str", 5))
"""What a tool of the user's may show by mistake."""


def a_question(preview: DryRunResult, writes: tuple[FileTarget, ...] = ()) -> ApprovalRequest:
    call = ValidCall(ToolCall("c1", "write", "{}"), WRITE, GIVEN, WRITE.arguments.parse(GIVEN))
    scope = Scope("write", WRITE.definition, ("tool",), "write in the workspace")
    place = CallTarget("/w", writes=writes)
    return ApprovalRequest(call, place, Decision(Verdict.ASK, EFFECT, scope), preview)


def test_what_cannot_be_drawn_is_asked_with_its_arguments_and_without_always() -> None:
    usual = request_table("p1", a_question(DryRunResult(text="a diff")), "/w")
    table = request_table("p1", a_question(BROKEN), "/w")
    assert set(table) == set(usual)
    assert usual["always"]
    assert not table["always"]
    assert not table["rule"]
    assert table["warning"] == UNDRAWN
    assert "hello" in "\n".join(table["doc"]["lines"])


def test_a_line_break_in_a_path_begins_no_line() -> None:
    path = "/w/a\nsafety 2"
    change = ChangeSet((FileChange(path, None, b"x\n", "a\nsafety 2"),))
    table = request_table(
        "p1", a_question(DryRunResult(change), (FileTarget(path, "a\nsafety 2"),)), "/w"
    )
    shown = [table["title"], *table["doc"]["lines"], *(text for _, text in table["facts"])]
    assert [text for text in shown if "\n" in text] == []
    assert table["title"].endswith("a<U+000A>safety 2")


def test_what_the_model_thought_of_its_call_is_readable() -> None:
    tool = replace(
        WRITE,
        metadata=Metadata(requires_reverse_thinking=True),
        capability=Capability(min_confidence=50),
    )
    thinking = {
        "hidden_assumptions": ["the tests pass", "nobody else deploys"],
        "failure_scenarios": ["the site is down"],
        "verdict": "proceed",
        "verdict_reason": "it can be rolled back",
    }
    asked = a_question(DryRunResult(text="a diff"))
    reserved = {"_reverse_thinking": thinking, "_confidence": 80}
    call = replace(asked.call, tool=tool, reserved=reserved)
    facts = request_table("p1", replace(asked, call=call), "/w")["facts"]
    assert facts[-4:] == [
        ["assumes", "the tests pass\nnobody else deploys"],
        ["risks", "the site is down"],
        ["verdict", "proceed: it can be rolled back"],
        ["confidence", "80 of 100"],
    ]


def test_a_unified_diff_in_a_dry_run_has_its_colours() -> None:
    text = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n\nArguments:\n{}"
    table = request_table("p1", a_question(DryRunResult(text=text)), "/w")
    marks = table["doc"]["marks"]
    assert marks[3:5] == ["0:4:AgentChatCodeDeleted", "0:4:AgentChatCodeAdded"]
    plain = request_table("p1", a_question(DryRunResult(text="- one\n+ two")), "/w")
    assert plain["doc"]["marks"] == ["", ""]


def test_a_preview_that_cannot_be_drawn_says_so() -> None:
    pending = Preview("Rename", "own_tool", apply=cast("Any", None), preview=BROKEN)
    assert preview_table(pending, "/w")["doc"]["lines"] == [UNDRAWN]


def test_many_files_are_one_fact_where_a_diff_names_them() -> None:
    names = ["a.py", "b.py", "c.py", "d.py"]
    change = ChangeSet(tuple(FileChange(f"/w/{n}", b"1\n", b"2\n", n) for n in names))
    plain = tuple(FileTarget(f"/w/{name}", name) for name in names)
    secret = FileTarget("/w/.env", ".env", Zone.SECRET)
    table = request_table("p1", a_question(DryRunResult(change), (*plain, secret)), "/w")
    assert table["facts"][:2] == [["paths", "4 ordinary files in /w"], ["path", "/w/.env"]]
    few = request_table("p1", a_question(DryRunResult(change), plain[:3]), "/w")
    assert few["facts"][:3] == [["path", f"/w/{name}"] for name in names[:3]]


def test_the_question_about_a_preview_says_who_wants_to_apply_it() -> None:
    pending = Preview("Rename: 2 files", "own_tool", apply=cast("Any", None))
    question = replace(a_question(DryRunResult(text="a diff")), staged_preview=pending)
    assert request_table("p1", question, "/w")["title"] == "own_tool wants to apply Rename: 2 files"


@pytest.mark.parametrize(
    ("loaded", "warns", "hooks"),
    [
        (BufferState.NO, False, False),
        (BufferState.SAVED, False, True),
        (BufferState.PLAIN, False, False),
        (BufferState.UNSAVED, True, False),
    ],
)
def test_the_question_says_what_becomes_of_an_open_buffer(
    loaded: BufferState, warns: bool, hooks: bool
) -> None:
    target = CallTarget("/w", writes=(FileTarget("/w/a.txt", "a.txt", loaded=loaded),))
    request = replace(a_question(DryRunResult(text="a diff")), target=target)
    table = request_table("p1", request, "/w")
    assert ("a.txt has unsaved changes of yours" in table["warning"]) is warns
    assert ("autocommands and formatters run" in "\n".join(table["details"])) is hooks


def test_a_question_about_no_call_names_no_directory() -> None:
    request = a_question(DryRunResult(text="$1.00 so far"))
    assert request_table("p1", request, "/w")["facts"][0] == ["in", "/w"]
    assert request_table("p1", replace(request, question="Go on?"), "/w")["facts"] == []
