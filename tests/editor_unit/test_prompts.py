"""Questions and previews as tables for the floats."""

from __future__ import annotations

from typing import Any, cast

from agentchat.core.approval import Decision, Scope, Verdict
from agentchat.core.calls import Call, Place
from agentchat.core.effects import Question
from agentchat.core.messages import ToolCall
from agentchat.core.pending import Pending
from agentchat.core.tool import Preview
from agentchat.editor.prompts import UNDRAWN, preview_table, prompt_table
from agentchat.tools.write import TOOL as WRITE

GIVEN = {"path": "a.txt", "content": "hello"}
BROKEN = Preview(text=cast("str", 5))
"""What a tool of the user's may show by mistake."""


def a_question(preview: Preview) -> Question:
    call = Call(ToolCall("c1", "write", "{}"), WRITE, GIVEN, WRITE.arguments.parse(GIVEN))
    scope = Scope("write", WRITE.definition, ("tool",), "write in the workspace")
    return Question(call, Place("/w"), Decision(Verdict.ASK, "it has an effect", scope), preview)


def test_what_cannot_be_drawn_is_asked_with_its_arguments_and_without_always() -> None:
    usual = prompt_table("p1", a_question(Preview(text="a diff")), "/w")
    table = prompt_table("p1", a_question(BROKEN), "/w")
    assert set(table) == set(usual)
    assert usual["always"]
    assert not table["always"]
    assert not table["rule"]
    assert table["warning"] == UNDRAWN
    assert "hello" in "\n".join(table["doc"]["lines"])


def test_a_preview_that_cannot_be_drawn_says_so() -> None:
    pending = Pending("Rename", "own_tool", apply=cast("Any", None), preview=BROKEN)
    assert preview_table(pending, "/w")["doc"]["lines"] == [UNDRAWN]
