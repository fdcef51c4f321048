"""Calls that come from an agent of another program, through a real session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentchat.agent.external.agent import CallAnswer, ExternalAgent
from agentchat.core.messages import Reply
from agentchat.core.tools.tool import Tool, ToolContext
from agentchat.core.turn.effects import ApprovalResponse
from tests.agent.scene import Scene
from tests.agent.test_session import tool


async def works(arguments: Any, context: ToolContext) -> str:
    return "worked"


class Agency:
    """A scene whose model is an agent of another program."""

    def __init__(self, folder: Path, *tools: Tool) -> None:
        self.agent = ExternalAgent("Tester 1.0")
        self.scene = Scene(folder, [], *tools, agent=self.agent)

    def call(
        self, name: str, arguments: Mapping[str, Any] | None = None
    ) -> asyncio.Task[CallAnswer]:
        """Make a call; the task ends with its answer."""
        return asyncio.ensure_future(self.agent.call(name, arguments or {}))


async def test_a_call_is_a_turn_of_its_own(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works))
    assert await agency.call("t", {"a": 1}) == CallAnswer("worked")
    assert await agency.call("t", {"a": 2}) == CallAnswer("worked")
    assert agency.scene.screen.named("AgentTurnFinished") == [{"reason": "stop"}] * 2
    assert [line for line in agency.scene.journal_lines() if line.startswith("turn")] == [
        "turn 1",
        "turn 1 stop",
        "turn 2",
        "turn 2 stop",
    ]


async def test_calls_at_the_same_time_run_one_after_the_other(tmp_path: Path) -> None:
    running: list[str] = []

    async def slow(arguments: Any, context: ToolContext) -> str:
        running.append("begin")
        await asyncio.sleep(0)
        running.append("end")
        return "done"

    agency = Agency(tmp_path, tool(slow))
    await asyncio.gather(agency.call("t"), agency.call("t"))
    assert running == ["begin", "end"] * 2


async def test_an_error_is_an_answer(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works))
    answer = await agency.call("no_such_tool")
    assert answer.is_error
    assert "no_such_tool" in answer.text


async def test_the_reason_of_a_rejection_reaches_the_agent(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works, asks=True))
    call = agency.call("t")
    await agency.scene.answer(ApprovalResponse("reject", reason="too early"))
    answer = await call
    assert answer.is_error
    assert "too early" in answer.text


async def test_a_withdrawn_call_closes_its_question(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works, asks=True))
    first, second = agency.call("t"), agency.call("t")
    await agency.scene.screen.until(lambda: bool(agency.scene.screen.questions))
    (question,) = agency.scene.screen.questions
    first.cancel()
    await agency.scene.screen.until(lambda: question not in agency.scene.screen.questions)
    await agency.scene.answer("accept")
    assert (await second).text == "worked"


async def test_a_call_withdrawn_before_its_turn_never_runs(tmp_path: Path) -> None:
    ran: list[Any] = []

    async def note(arguments: Any, context: ToolContext) -> str:
        ran.append(arguments)
        return "ran"

    agency = Agency(tmp_path, tool(note, asks=True))
    first, second = agency.call("t", {"n": 1}), agency.call("t", {"n": 2})
    await agency.scene.screen.until(lambda: bool(agency.scene.screen.questions))
    second.cancel()
    await agency.scene.answer("accept")
    assert (await first).text == "ran"
    assert len(ran) == 1


async def test_a_stop_by_the_user_answers_all_calls(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works, asks=True))
    calls = [agency.call("t"), agency.call("t")]
    await agency.scene.screen.until(lambda: bool(agency.scene.screen.questions))
    agency.scene.session.stop()
    for call in calls:
        assert await call == CallAnswer("Cancelled by the user.", is_error=True)


async def test_what_the_user_writes_is_in_the_next_answer(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works))
    assert await agency.scene.play("use tabs") == "stop"
    assert agency.scene.screen.said == "|Tester 1.0 gets this with the result of its next call."
    assert (await agency.call("t")).text == "worked\n\nThe user wrote in Neovim: use tabs"
    assert (await agency.call("t")).text == "worked"


async def test_the_plugins_notes_reach_the_agent(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works))
    agency.scene.session.add_note("The user undid turn 1.")
    assert (await agency.call("t")).text == "worked\n\nThe user undid turn 1."


async def test_a_turn_that_cannot_begin_is_an_answer(tmp_path: Path) -> None:
    agency = Agency(tmp_path, tool(works))
    agency.scene.journal.close()
    answer = await agency.call("t")
    assert answer.is_error
    assert "journal" in answer.text


async def test_the_user_goes_on_with_a_model_when_the_agent_has_left(tmp_path: Path) -> None:
    other = Scene(tmp_path, [Reply("Hello.")])
    agent = ExternalAgent("Tester", other.current)
    scene = Scene(tmp_path, [], tool(works), agent=agent)
    assert (await agent.call("t", {})).text == "worked"
    agent.disconnect()
    assert await scene.play("and you?") == "stop"
    assert scene.screen.said.endswith("|Hello.")
