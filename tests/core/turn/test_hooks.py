"""Set-up and exit hooks: once each, in order, whatever becomes of the call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.messages import Reply
from agentchat.core.tools.tool import Hooks, Metadata, Tool
from agentchat.core.turn.effects import RunTool
from agentchat.core.turn.loop import turn
from tests.core.turn.world import World, a_call, a_chat, a_tool, calls

DONE = Reply("Done.")


async def _hook(arguments: Any, context: Any) -> None:
    return None


def hooked(name: str, **about: Any) -> Tool:
    return a_tool(
        name, hooks=Hooks(setup=_hook, exit=_hook, once=about.pop("once", False)), **about
    )


def lives(world: World) -> str:
    return " ".join(f"{'+' if kind == 'SetUp' else '-'}{call}" for kind, call in world.lives)


@pytest.mark.parametrize("answer", ["accept", "reject", "always", "cancel"])
def test_exit_runs_once_whatever_the_answer(answer: str) -> None:
    world = World([calls(a_call("1", "h")), DONE], [answer])
    world.play(turn(a_chat(hooked("h"))))
    assert lives(world) == "+1 -1"


def test_exit_runs_when_the_turn_is_stopped_while_the_call_runs() -> None:
    stopped = World(
        [calls(a_call("1", "h"), a_call("2", "h"))],
        stop_at=lambda effect: isinstance(effect, RunTool),
    )
    stopped.play(turn(a_chat(hooked("h", asks=False))))
    assert lives(stopped) == "+1 -1"


def test_a_failed_set_up_answers_the_call_unasked_and_exit_still_runs() -> None:
    world = World(
        [calls(a_call("1", "h")), DONE], setup_fails={"1": ToolError("h failed: no disk")}
    )
    world.play(turn(a_chat(hooked("h"))))
    assert world.results() == {"1": "h failed: no disk"}
    assert world.questions == []
    assert lives(world) == "+1 -1"


def test_neighbours_of_a_set_up_once_tool_share_one_life_but_not_their_consent() -> None:
    batch = calls(a_call("1", "h"), a_call("2", "h"), a_call("3", "m"), a_call("4", "h"))
    world = World([batch, DONE], ["accept", "accept", "accept"])
    world.play(turn(a_chat(hooked("h", once=True), a_tool("m", asks=False))))
    assert lives(world) == "+1 -1 +4 -4"
    assert len(world.questions) == 3


def test_a_tool_with_hooks_never_runs_beside_others() -> None:
    safe = Metadata(concurrency_safe=True, read_only=True)
    batch = calls(a_call("1", "h"), a_call("2", "h"))
    world = World([batch, DONE])
    world.play(turn(a_chat(hooked("h", metadata=safe))))
    assert world.ran == [("1",), ("2",)]


DEEP = a_tool("deep", asks=False, metadata=Metadata(requires_reverse_thinking=True))


def thoughts(verdict: str) -> str:
    """Return the arguments of a call with what the model thinks of it."""
    thinking = {
        "hidden_assumptions": ["a"], "failure_scenarios": ["b"], "verdict": verdict,
        "verdict_reason": "because",
    }  # fmt: skip
    return json.dumps({"_reverse_thinking": thinking, "x": 1})


def test_second_thoughts_must_be_told_before_a_call_that_needs_them() -> None:
    kept: list[Any] = []
    world = World(
        [calls(a_call("1", "deep"), a_call("2", "deep", thoughts("proceed"))), DONE],
        on_run=lambda call: kept.append((call.raw_arguments, call.reserved)),
    )
    world.play(turn(a_chat(DEEP)))
    assert world.results()["1"].splitlines() == [
        'Validation failed for tool "deep":',
        "  - _reverse_thinking.hidden_assumptions: send a list of sentences",
        "  - _reverse_thinking.failure_scenarios: send a list of sentences",
        "  - _reverse_thinking.verdict: send one of proceed, reconsider, abort",
        "  - _reverse_thinking.verdict_reason: send a sentence that says why",
    ]
    ((given, reserved),) = kept
    assert given == {"x": 1}
    assert reserved["_reverse_thinking"]["verdict"] == "proceed"


def test_a_call_that_the_model_itself_would_abort_is_not_run() -> None:
    world = World([calls(a_call("1", "deep", thoughts("abort"))), DONE])
    world.play(turn(a_chat(DEEP)))
    assert world.results()["1"] == (
        "Not run: the verdict in _reverse_thinking is abort. Reason: because"
    )
    assert world.ran == []
    assert not world.questions


@pytest.mark.parametrize("attended", [True, False])
def test_a_doubtful_call_goes_back_to_the_model_once_and_then_to_the_user(attended: bool) -> None:
    doubtful = [calls(a_call(n, "deep", thoughts("reconsider"))) for n in "12"]
    world = World([*doubtful, DONE], ["accept"])
    chat = a_chat(DEEP)
    chat.policy.mode, chat.policy.attended = "yolo", attended
    world.play(turn(chat))
    assert world.results()["1"].startswith("Not run: the verdict in _reverse_thinking is reconsid")
    reasons = [question.decision.reason_text for question in world.questions]
    assert reasons == ["the model's own verdict is reconsider: because"] * attended
    assert world.ran == [("2",)] * attended
