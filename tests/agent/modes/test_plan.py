"""Plan mode: nothing but reading, and a plan that the user approves or sends back."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentchat.agent.modes.plan import PLAN_IS_OVER
from agentchat.core.messages import Note, Reply
from agentchat.core.turn.chat import PLANNING
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.preview_stack import NOTHING_PENDING
from agentchat.nvim.render.approval import NO_EFFECT, request_table
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, a_tool

SUBMIT = Reply(
    "1. Look\n2. Change",
    calls=(
        a_call(
            "1",
            "resolve",
            '{"action": "apply", "reason": "ready", "extra": {"title": "Two steps"}}',
        ),
    ),
    finish="tool_calls",
)
DONE = Reply("Done.")
WRITES = a_tool("writes")


def planning(tmp_path: Path, *replies: Reply, before: str = "ask") -> Scene:
    scene = Scene(tmp_path, [*replies], WRITES)
    scene.session.set_mode(before)
    scene.session.set_mode("plan")
    return scene


async def test_the_model_is_told_and_offered_resolve_without_force(tmp_path: Path) -> None:
    scene = planning(tmp_path, DONE)
    await scene.play()
    (request,) = scene.model.requests
    assert [tool.name for tool in request.tools] == ["writes", "resolve"]
    assert request.forbidden == {"writes"}
    assert request.forced is None
    assert request.reminder == PLANNING


async def test_the_user_reads_the_plan_and_a_yes_leaves_the_mode(tmp_path: Path) -> None:
    scene = planning(tmp_path, SUBMIT, DONE, before="edit")
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (question,) = scene.screen.questions.values()
    assert question.staged_preview is not None
    assert question.staged_preview.label == "Plan: Two steps"
    assert question.preview is not None
    assert question.preview.text == "1. Look\n2. Change"
    assert request_table("p", question, "/")["safety"] == NO_EFFECT
    await scene.answer("accept")
    await scene.finished()
    assert scene.results()["1"] == (
        "The user approved the plan. You are in edit mode now: carry it out."
    )
    assert scene.chat.policy.mode == "edit"
    assert scene.chat.previews.standing is None
    assert scene.model.requests[1].reminder is None


async def test_a_no_sends_the_reason_back_and_stays(tmp_path: Path) -> None:
    scene = planning(tmp_path, SUBMIT, DONE)
    await scene.play("go", ApprovalResponse("reject", "smaller steps"))
    assert scene.results()["1"].startswith(
        "User rejected the resolve call. Reason: smaller steps\nStill in plan mode"
    )
    assert scene.chat.policy.mode == "plan"
    assert scene.chat.previews.standing is not None


async def test_leaving_the_mode_takes_the_handler_away(tmp_path: Path) -> None:
    scene = planning(tmp_path, SUBMIT, DONE)
    scene.session.set_mode("ask")
    await scene.play()
    assert scene.results()["1"] == NOTHING_PENDING


async def test_the_model_learns_that_the_user_ended_plan_mode_if_it_saw_it(tmp_path: Path) -> None:
    scene = planning(tmp_path, DONE, DONE, DONE)
    await scene.play("plan it")
    scene.session.set_mode("edit")
    await scene.play("go on")
    scene.session.set_mode("plan")
    scene.session.set_mode("ask")
    await scene.play("and on")
    notes = [m.text for m in scene.chat.history.messages if isinstance(m, Note)]
    assert notes == [PLAN_IS_OVER.format("edit")]
    assert notes[0] in [getattr(m, "text", "") for m in scene.model.requests[1].history.messages]


@pytest.mark.parametrize("mode", ["edit", "yolo"])
async def test_a_plan_asks_whatever_the_mode_was_before(tmp_path: Path, mode: str) -> None:
    scene = planning(tmp_path, SUBMIT, DONE, before=mode)
    await scene.play("go", "cancel")
    assert scene.chat.policy.mode == "plan"


async def test_the_command_answers_the_question_about_a_plan(tmp_path: Path) -> None:
    scene = planning(tmp_path, SUBMIT, DONE)
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    scene.resolve("apply")
    await scene.finished()
    assert scene.chat.policy.mode == "ask"
    scene.resolve("apply")
    assert scene.screen.notes[-1][1].startswith("Nothing to resolve")


async def test_an_effect_is_not_run_while_there_is_only_a_plan(tmp_path: Path) -> None:
    effect = Reply(calls=(a_call("1", "writes"),), finish="tool_calls")
    scene = planning(tmp_path, effect, DONE)
    await scene.play()
    assert scene.results()["1"] == "Not allowed in plan mode: writes."
