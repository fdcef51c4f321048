"""Tools that need the user's editor, with an editor of a few lines and with none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.frontend import Diagnostic, UserQuestion
from agentchat.core.limits import DIAGNOSTICS
from agentchat.core.tools.tool import ArgumentError, Tool, ToolOutput
from agentchat.tools.builtin import ask, diagnostics
from tests.tools.conftest import Bench


@dataclass
class Desk:
    """A user with answers ready, and an editor with diagnostics."""

    answers: Sequence[tuple[str, ...]] = ()
    found: Sequence[Diagnostic] = ()
    heard: list[Any] = field(default_factory=list)

    async def ask(self, questions: Sequence[UserQuestion]) -> Sequence[tuple[str, ...]]:
        self.heard.extend(questions)
        return self.answers

    async def diagnostics(
        self, path: str | None = None, severity: str | None = None
    ) -> Sequence[Diagnostic]:
        self.heard.append((path, severity))
        return self.found


async def call(bench: Bench, tool: Tool, desk: Desk | None, **given: Any) -> ToolOutput:
    arguments = tool.arguments.parse(given)
    context = replace(bench.context(), frontend=desk)
    result: ToolOutput = await tool.steps[0](arguments, context)
    return result


TWO: list[Mapping[str, Any]] = [{"question": "A?", "options": [{"label": "x"}]}, {"question": "B?"}]


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([("x",), ("y",)], "A?\n- x\n\nB?\n- y"),
        ([("x", "z"), ()], "A?\n- x\n- z\n\nB?\n(no answer)"),
        ([(), ("y",)], "A?\n(none of the options)\n\nB?\n- y"),
        ([("x",)], "A?\n- x\n\nCancelled by the user. No answer was given to: B?"),
        ([], "Cancelled by the user. No answer was given to: A?"),
    ],
)
async def test_the_result_has_the_answers_question_by_question(
    bench: Bench, answers: list[tuple[str, ...]], text: str
) -> None:
    result = await call(bench, ask.TOOL, Desk(answers), questions=TWO)
    assert result.text == text
    assert result.cancelled == (len(answers) < 2)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"questions": []},
        {"questions": [{"question": ""}]},
        {"questions": [{"question": "A?", "options": [{"label": ""}]}]},
        {"questions": [{"question": "A?", "options": [{"label": "x"}, {"label": "x"}]}]},
        {"questions": [{"question": "A?", "colour": "red"}]},
    ],
)
def test_questions_that_cannot_be_put_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        ask.TOOL.arguments.parse(given)


async def test_without_an_editor_both_say_what_to_do_instead(bench: Bench) -> None:
    with pytest.raises(ToolError, match="runs without an editor"):
        await call(bench, ask.TOOL, None, questions=TWO)
    with pytest.raises(ToolError, match="runs without an editor"):
        await call(bench, diagnostics.TOOL, None)


async def test_diagnostics_are_one_line_each_and_capped(bench: Bench) -> None:
    path = str(bench.write("a b.py", "x"))
    one = Diagnostic(path, 3, 7, "warning", "odd\n  thing", "ruff", "E501")
    desk = Desk(found=[one] * (DIAGNOSTICS + 5))
    result = await call(bench, diagnostics.TOOL, desk, path="a b.py", severity="WARN")
    assert desk.heard == [(path, "warning")]
    lines = result.text.split("\n")
    assert lines[0] == "a b.py:3:7: warning: odd thing [ruff E501]"
    assert lines.count(lines[0]) == DIAGNOSTICS
    assert lines[-1] == "[5 more diagnostics. Give path or severity to see them]"


async def test_no_diagnostics_and_a_missing_path_are_said(bench: Bench) -> None:
    result = await call(bench, diagnostics.TOOL, Desk())
    assert result.text == "No diagnostics found"
    with pytest.raises(ToolError, match="Path not found: gone"):
        await call(bench, diagnostics.TOOL, Desk(), path="gone")
