"""Functions of a tool that phrase its question and its outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentchat import Result, ToolError
from agentchat.core.messages import Reply, ToolResult
from agentchat.core.turn.effects import ApprovalRequest, ApprovalResponse
from agentchat.nvim.render.approval import request_table
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls
from tests.tools.custom.making import made, start_pool, tools_of

DONE = Reply("Done.")
LOUD = ApprovalResponse("reject", "too loud")


def a_function(text: str) -> str:
    """Say a text.

    Raises ToolError for an empty one.
    """
    if not text:
        raise ToolError("nothing to say")
    return text * 2


async def outcome(
    folder: Path, answer: ApprovalResponse | str, text: str, **options: Callable[..., Any]
) -> tuple[ToolResult, ApprovalRequest, Scene]:
    """Call the tool, answer its question, and return the result and the question."""
    await start_pool()
    tool = made(folder, a_function, name="say", require_approval_before=True, **options)
    scene = Scene(folder, [calls(a_call("1", "say", f'{{"text": "{text}"}}')), DONE], tool)
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (request,) = scene.screen.questions.values()
    await scene.answer(answer)
    await scene.finished()
    (result,) = (m for m in scene.chat.history.messages if isinstance(m, ToolResult))
    return result, request, scene


@pytest.mark.parametrize(
    ("answer", "text", "option", "function", "expected"),
    [
        ("accept", "a", "on_success", lambda result: f"said {result.text}", "said aa"),
        ("accept", "a", "on_success", lambda text, result: f"{text}: {result.text}", "a: aa"),
        ("accept", "a", "on_success", lambda text: None, "aa"),
        ("accept", "a", "on_error", lambda text: "never", "aa"),
        ("accept", "", "on_error", lambda result: f"no: {result.text}", "no: nothing to say"),
        ("reject", "a", "on_rejected", lambda text, reason: f"not {text}{reason}", "not a"),
        (LOUD, "a", "on_rejected", lambda reason: f"It is {reason}.", "It is too loud."),
        ("cancel", "a", "on_cancelled", lambda text: f"gave up on {text}", "gave up on a"),
    ],
)
async def test_a_function_of_the_outcome_says_what_the_model_and_the_user_read(
    tmp_path: Path,
    answer: ApprovalResponse | str,
    text: str,
    option: str,
    function: Callable[..., Any],
    expected: str,
) -> None:
    result, _, scene = await outcome(tmp_path, answer, text, **{option: function})
    assert result.text == expected
    shown = scene.screen.blocks["1"][-1]
    assert expected in "\n".join(shown.body or [shown.append or ""])


async def test_a_function_of_the_outcome_can_tell_the_user_something_else(tmp_path: Path) -> None:
    def on_success(result: Result) -> Result:
        return Result("for the model", details={"n": 1}, shown="for the user")

    result, *_ = await outcome(tmp_path, "accept", "a", on_success=on_success)
    assert (result.text, result.display_text) == ("for the model", "for the user")
    assert result.details == {"n": 1}


async def test_a_function_of_the_outcome_that_fails_leaves_the_result_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result, *_ = await outcome(tmp_path, "accept", "a", on_success=lambda result: 1 / 0)
    assert result.text == "aa"
    assert "could not format its result" in caplog.text


@pytest.mark.parametrize(
    ("prompt", "title", "shown"),
    [
        (lambda text: f"Say {text} aloud?", "Say a aloud?", '"text": "a"'),
        (lambda text: "Say it?\nIt is loud.", "Say it?", "It is loud."),
        (lambda text: "Say it? " * 10, "say wants to run", "Say it? Say it? Say it?"),
        (lambda text: 1 / 0, "say wants to run", '"text": "a"'),
        (lambda text: None, "say wants to run", '"text": "a"'),
    ],
)
async def test_a_tool_phrases_its_question_above_its_arguments(
    tmp_path: Path, prompt: Callable[..., Any], title: str, shown: str
) -> None:
    _, request, _ = await outcome(tmp_path, "accept", "a", prompt=prompt)
    table = request_table("id", request, str(tmp_path))
    assert table["title"] == title
    document = "\n".join(table["doc"]["lines"])
    assert shown in document
    assert '"text": "a"' in document
    assert (["tool", "say"] in table["facts"]) == (title != "say wants to run")
    assert table["safety"] == 0


SLOW = """
@tool(require_approval_before=False, on_cancelled=lambda n: f"gave up after {n}")
def slow(n: int) -> str:
    'Wait.'
    print('begun')
    time.sleep(60)
    return 'never'
"""


async def test_stopping_a_call_that_runs_is_phrased_in_time(tmp_path: Path) -> None:
    (tool,) = (await tools_of(tmp_path, SLOW)).values()
    scene = Scene(tmp_path, [calls(a_call("1", "slow", '{"n": 3}')), DONE], tool)
    scene.session.send("go")
    blocks = scene.screen.blocks
    await scene.screen.until(lambda: any("begun" in (b.append or "") for b in blocks.get("1", ())))
    scene.session.stop()
    async with asyncio.timeout(2):
        await scene.finished()
    assert scene.results() == {"1": "gave up after 3"}
